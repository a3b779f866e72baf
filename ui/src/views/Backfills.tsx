// All backfills, newest first, with how far each is.
import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { backfills } from "../api/queries";
import type { Backfill, Counts } from "../api/types";
import { Empty, Loaded } from "../design/Feedback";
import { MiniBar, StateChip } from "../design/StateChip";
import { StateGlyph } from "../design/StateGlyph";
import { addCounts } from "../design/states";
import { Elapsed, Time } from "../design/Time";
import { count, duration } from "../lib/format";
import "./lists.css";

export function totalsOf(backfill: Backfill): { counts: Counts; total: number; done: number } {
  const counts = backfill.progress.reduce<Counts>((sum, each) => addCounts(sum, each.counts), {});
  const total = backfill.progress.reduce((sum, each) => sum + each.total, 0);
  const done = (counts.fresh ?? 0) + (counts.unchanged ?? 0) + (counts.skipped ?? 0);
  return { counts, total, done };
}

/** A paused backfill waits outside of every slot. */
export function Paused() {
  return (
    <span className="chip" data-state="paused">
      <StateGlyph state="deferred" />
      paused
    </span>
  );
}

export function Backfills() {
  const query = useQuery(backfills());
  return (
    <div className="page">
      <header className="page-head">
        <h1>Backfills</h1>
      </header>
      <div className="page-scroll">
        <Loaded query={query}>
          {(list) =>
            list.length > 0 ? (
              <Table list={list} />
            ) : (
              <Empty title="No backfills yet" command="partita backfill create '*' --from 2013-01-01 --to 2013-01-31">
                A backfill makes many partitions at a pace. Drag a range on an asset’s partitions and preview a plan, or
                use the command.
              </Empty>
            )
          }
        </Loaded>
      </div>
    </div>
  );
}

function Table({ list }: { list: Backfill[] }) {
  const navigate = useNavigate();
  return (
    <table className="table">
      <thead>
        <tr>
          <th>Backfill</th>
          <th>State</th>
          <th>Selection</th>
          <th style={{ width: "28%" }}>Progress</th>
          <th className="num">Cells</th>
          <th>Created</th>
          <th className="num">Took</th>
          <th className="num">Left</th>
        </tr>
      </thead>
      <tbody>
        {list.map((backfill) => {
          const { counts, total, done } = totalsOf(backfill);
          const params = { backfillId: String(backfill.id) };
          return (
            <tr
              key={backfill.id}
              className="go"
              data-testid="backfill-row"
              data-backfill={backfill.id}
              data-state={backfill.state}
              onClick={() => void navigate({ to: "/backfills/$backfillId", params })}
            >
              <td>
                <Link to="/backfills/$backfillId" params={params} onClick={(event) => event.stopPropagation()}>
                  <span className="mono">#{backfill.id}</span> {backfill.name}
                </Link>
              </td>
              <td>{backfill.paused_by ? <Paused /> : <StateChip state={backfill.state} />}</td>
              <td style={{ maxWidth: 260 }}>
                <span className="cause mono" data-tip={`${backfill.selection}\n${backfill.partitions_text}`}>
                  {backfill.selection} {backfill.partitions_text}
                </span>
              </td>
              <td>
                <MiniBar counts={counts} />
              </td>
              <td className="num">
                {count(done)} / {count(total)}
              </td>
              <td>
                <Time at={backfill.created_at} />
              </td>
              <td className="num">
                <Elapsed from={backfill.created_at} to={backfill.finished_at} />
              </td>
              <td className="num">
                {backfill.eta_s === null || backfill.finished_at ? "–" : duration(backfill.eta_s)}
              </td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}
