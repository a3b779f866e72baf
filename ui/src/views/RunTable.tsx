// Runs as rows: state, what for, how far, how long. Shared by Home, Runs and the palette's targets.
import { Link, useNavigate } from "@tanstack/react-router";
import type { Counts, RunSummary } from "../api/types";
import { MiniBar, StateChip } from "../design/StateChip";
import { lookKey } from "../design/states";
import { Elapsed, Time } from "../design/Time";
import { count } from "../lib/format";

/** Task tallies in the cells' vocabulary, so that one bar serves both. */
export function barOf(tallies: Record<string, number>): Counts {
  const counts: Counts = {};
  for (const [state, n] of Object.entries(tallies)) counts[lookKey(state)] = (counts[lookKey(state)] ?? 0) + n;
  return counts;
}

export function assetsText(keys: string[]): string {
  if (keys.length <= 2) return keys.join(", ");
  return `${keys.slice(0, 2).join(", ")} and ${keys.length - 2} more`;
}

/** What people say a run is for; each finds the others. */
export function RunTags({ tags }: { tags: Record<string, string> }) {
  const all = Object.entries(tags).map(([name, value]) => `${name}=${value}`);
  if (all.length === 0) return null;
  return (
    <span className="row wrap">
      {all.map((tag) => (
        <Link key={tag} className="tag" to="/runs" search={{ tag }} onClick={(event) => event.stopPropagation()}>
          {tag}
        </Link>
      ))}
    </span>
  );
}

export function RunTable({ runs, brief = false }: { runs: RunSummary[]; brief?: boolean }) {
  const navigate = useNavigate();
  return (
    <table className="table">
      <thead>
        <tr>
          <th>Run</th>
          <th>State</th>
          <th style={{ width: "40%" }}>What for</th>
          <th>Tasks</th>
          {!brief && <th className="num">Cells</th>}
          <th>Started</th>
          <th className="num">Took</th>
        </tr>
      </thead>
      <tbody>
        {runs.map((run) => (
          <tr
            key={run.id}
            className="go"
            data-testid="run-row"
            data-run={run.id}
            data-state={run.state}
            onClick={() => void navigate({ to: "/runs/$runId", params: { runId: String(run.id) } })}
          >
            <td>
              <Link
                to="/runs/$runId"
                params={{ runId: String(run.id) }}
                className="mono"
                onClick={(event) => event.stopPropagation()}
              >
                #{run.id}
              </Link>
            </td>
            <td>
              <StateChip state={run.state} />
            </td>
            <td style={{ maxWidth: 0 }}>
              <span className="cause" data-tip={run.cause.text}>
                {run.cause.text}
              </span>
              {!brief && (
                <span className="quiet cause" data-tip={run.asset_keys.join("\n")}>
                  {assetsText(run.asset_keys)}
                  {run.cause.by && `, by ${run.cause.by}`}
                </span>
              )}
              {!brief && <RunTags tags={run.tags} />}
            </td>
            <td>
              <span className="run-cells">
                <MiniBar counts={barOf(run.tallies)} />
              </span>
            </td>
            {!brief && (
              <td className="num">
                {count(run.cells.published + run.cells.unchanged + run.cells.skipped)} / {count(run.cells.total)}
                {run.cells.failed > 0 && <span className="tone-red"> {count(run.cells.failed)} failed</span>}
              </td>
            )}
            <td>
              <Time at={run.started_at ?? run.created_at} />
            </td>
            <td className="num">
              <Elapsed from={run.started_at} to={run.finished_at} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
