// One run: what for, how far, its tasks on a time axis, and below them the log of the chosen task.

import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { useCallback, useEffect, useState } from "react";
import { run as runQuery, runTasks } from "../../api/queries";
import type { RunDetail } from "../../api/types";
import { CopyButton } from "../../design/Copy";
import { Loaded, Skeleton } from "../../design/Feedback";
import { FilterChip } from "../../design/FilterChip";
import { Pager } from "../../design/Pager";
import { StateChip } from "../../design/StateChip";
import { StateGlyph } from "../../design/StateGlyph";
import { ranked, wordOf } from "../../design/states";
import { Elapsed, Time } from "../../design/Time";
import { count, plural, shortHash } from "../../lib/format";
import { useStateFavicon } from "../../lib/title";
import { CancelButton } from "../CancelButton";
import { PaceButton } from "../Pace";
import { RunTags } from "../RunTable";
import { TaskGrid } from "./TaskGrid";
import { TaskList } from "./TaskList";
import { TaskPanel } from "./TaskPanel";
import "./run.css";

const PAGE = 500;
const DONE = new Set(["success", "failed", "cancelled", "canceled", "succeeded"]);

export function Run() {
  const { runId } = useParams({ from: "/runs/$runId" });
  const query = useQuery(runQuery(Number(runId)));
  return (
    <div className="page">
      <Loaded
        query={query}
        skeleton={
          <div className="page-scroll" style={{ paddingTop: 24 }}>
            <Skeleton rows={10} />
          </div>
        }
      >
        {(run) => <Page key={run.id} run={run} />}
      </Loaded>
    </div>
  );
}

function openTasks(run: RunDetail): number {
  return Object.entries(run.tallies)
    .filter(([state]) => !["success", "failed", "cancelled", "skipped", "upstream_failed", "removed"].includes(state))
    .reduce((sum, [, n]) => sum + n, 0);
}

function Header({ run }: { run: RunDetail }) {
  useStateFavicon(run.state);
  const open = !DONE.has(run.state);
  return (
    <>
      <header className="page-head">
        <h1>Run {run.id}</h1>
        <span data-testid="run-state" data-state={run.state}>
          <StateChip state={run.state} />
        </span>
        {run.backfill_id !== null && (
          <Link className="link" to="/backfills/$backfillId" params={{ backfillId: String(run.backfill_id) }}>
            Backfill {run.backfill_id}
          </Link>
        )}
        <span className="grow" />
        <CopyButton text={`partita runs show ${run.id}`} what="Copy as CLI" label />
        {open && run.backfill_id === null && <PaceButton of="runs" id={run.id} maxActive={run.max_active} />}
        {open && (
          <CancelButton
            path={`/runs/${run.id}/cancel`}
            noun="run"
            what={plural(openTasks(run), "open task")}
            testid="cancel-run"
          />
        )}
      </header>
      <div className="run-facts">
        <p className="run-cause" data-tip={run.cause.text.length > 160 ? run.cause.text : undefined}>
          {run.cause.text}
        </p>
        <RunTags tags={run.tags} />
        {Object.keys(run.params).length > 0 && (
          <p className="row wrap" data-testid="run-params">
            <span className="quiet">Params</span>
            {Object.entries(run.params).map(([name, value]) => (
              <code key={name}>
                {name}={JSON.stringify(value)}
              </code>
            ))}
          </p>
        )}
        <p className="row wrap wide quiet">
          <span>
            {run.cause.by ? `By ${run.cause.by}` : run.cause.kind}, <Time at={run.created_at} />
          </span>
          <span>
            Took <Elapsed from={run.started_at} to={run.finished_at} />
          </span>
          {run.timed_out_at ? (
            <span className="tone-red">
              Timed out <Time at={run.timed_out_at} />
            </span>
          ) : (
            run.times_out_at && (
              <span>
                Stopped at <Time at={run.times_out_at} /> at the latest
              </span>
            )
          )}
          <span data-testid="run-cells">
            {count(run.cells.published)} published
            {run.cells.unchanged > 0 && `, ${count(run.cells.unchanged)} unchanged`}
            {run.cells.skipped > 0 && `, ${count(run.cells.skipped)} skipped`}
            {run.cells.failed > 0 && <span className="tone-red">, {count(run.cells.failed)} failed</span>} of{" "}
            {plural(run.cells.total, "cell")}
          </span>
          {run.max_active !== null && <span data-testid="run-pace">At most {count(run.max_active)} at once</span>}
          <span data-tip={`Trace ${run.trace_id}`}>
            Trace <span className="mono">{run.trace_id.slice(0, 8)}</span>
            <CopyButton text={run.trace_id} what="Copy trace id" />
          </span>
          {run.snapshots.map((snapshot) => (
            <span key={snapshot.location} data-tip={snapshot.version}>
              {snapshot.location} <span className="mono">{shortHash(snapshot.version)}</span>
            </span>
          ))}
        </p>
        {run.waits.length > 0 && (
          <ul className="run-waits" data-testid="run-waits">
            {run.waits.map((wait) => (
              <li key={`${wait.state}${wait.code}${wait.run}`} data-side={wait.side}>
                <StateGlyph state={wait.state === "in_progress" ? "running" : wait.state} />
                <span className="quiet run-wait-side">{SIDES[wait.side]}</span>
                <span>{wait.text}</span>
                {wait.task !== null && (
                  <Link
                    className="link"
                    to="/runs/$runId"
                    params={{ runId: String(run.id) }}
                    search={{ task: String(wait.task) }}
                  >
                    Look at one
                  </Link>
                )}
                {wait.run !== null && (
                  <Link className="link" to="/runs/$runId" params={{ runId: String(wait.run) }}>
                    Run {wait.run}
                  </Link>
                )}
              </li>
            ))}
          </ul>
        )}
      </div>
    </>
  );
}

// Stuck in scheduled means limits, stuck in queued means workers.
const SIDES: Record<RunDetail["waits"][number]["side"], string> = {
  limits: "limits",
  workers: "workers",
  upstream: "upstream",
  time: "time",
  outside: "outside",
  person: "a person",
};

function Page({ run }: { run: RunDetail }) {
  const search = useSearch({ from: "/runs/$runId" });
  const navigate = useNavigate({ from: "/runs/$runId" });
  const [page, setPage] = useState(0);
  const patch = useCallback(
    (change: Partial<typeof search>) =>
      void navigate({ search: (before) => ({ ...before, ...change }), replace: true }),
    [navigate],
  );
  const query = useQuery({
    ...runTasks(run.id, { state: search.state, asset: search.asset, offset: page * PAGE, limit: PAGE }),
    placeholderData: keepPreviousData,
  });
  const tasks = query.data?.tasks ?? [];
  const chosen = search.task ? Number(search.task) : null;
  const select = useCallback(
    (task: number | null, attempt?: number | null) =>
      patch({
        task: task === null ? undefined : String(task),
        attempt: attempt ? String(attempt) : undefined,
        line: undefined,
      }),
    [patch],
  );
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new filter starts at its first page
  useEffect(() => setPage(0), [search.state, search.asset]);

  return (
    <>
      <Header run={run} />
      <div className="run-filters">
        <fieldset className="chips" aria-label="Filter tasks by state">
          {ranked(run.tallies).map(([state, n]) => (
            <FilterChip
              key={state}
              picked={search.state === state}
              onPick={() => patch({ state: search.state === state ? undefined : state })}
              glyph={state}
              n={n}
            >
              {wordOf(state)}
            </FilterChip>
          ))}
        </fieldset>
        {run.asset_keys.length > 1 && (
          <select
            className="field"
            aria-label="Filter tasks by asset"
            value={search.asset ?? ""}
            onChange={(event) => patch({ asset: event.target.value || undefined })}
          >
            <option value="">All assets</option>
            {run.asset_keys.map((key) => (
              <option key={key}>{key}</option>
            ))}
          </select>
        )}
      </div>
      <div className="run-split">
        <div className="run-tasks">
          <TaskGrid tasks={tasks} chosen={chosen} onSelect={select} />
          <Loaded query={query}>
            {(found) => (
              <>
                <TaskList run={run} tasks={found.tasks} chosen={chosen} onSelect={select} />
                {found.total > PAGE && (
                  <div style={{ padding: "0 24px" }}>
                    <Pager page={page} size={PAGE} total={found.total} onPage={setPage} what="tasks" />
                  </div>
                )}
              </>
            )}
          </Loaded>
        </div>
        {chosen !== null && (
          <TaskPanel key={chosen} taskId={chosen} search={search} onPatch={patch} onClose={() => select(null)} />
        )}
      </div>
    </>
  );
}
