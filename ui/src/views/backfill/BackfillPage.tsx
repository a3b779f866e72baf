// One backfill: how far it is, cell by cell, and what people do with it while it runs.
import { useQuery } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import { backfill as backfillQuery, pauses as pausesQuery } from "../../api/queries";
import type { Backfill } from "../../api/types";
import { CopyButton } from "../../design/Copy";
import { Loaded, Skeleton } from "../../design/Feedback";
import { MiniBar, StateChip, StateCounts } from "../../design/StateChip";
import { StateGlyph } from "../../design/StateGlyph";
import { Elapsed, Time } from "../../design/Time";
import { count, duration, plural } from "../../lib/format";
import { useStateFavicon } from "../../lib/title";
import { Paused, totalsOf } from "../Backfills";
import { CancelButton } from "../CancelButton";
import { PaceButton } from "../Pace";
import { Controls, Retry } from "./Controls";
import { Matrix } from "./Matrix";
import "../lists.css";
import "./backfill.css";

export function BackfillPage() {
  const { backfillId } = useParams({ from: "/backfills/$backfillId" });
  const query = useQuery(backfillQuery(Number(backfillId)));
  return (
    <div className="page">
      <Loaded
        query={query}
        skeleton={
          <div className="page-scroll" style={{ paddingTop: 24 }}>
            <Skeleton />
          </div>
        }
      >
        {(backfill) => <Body backfill={backfill} />}
      </Loaded>
    </div>
  );
}

function Body({ backfill }: { backfill: Backfill }) {
  useStateFavicon(backfill.state);
  const { counts, total, done } = totalsOf(backfill);
  const open = backfill.finished_at === null;
  const { data: pauses } = useQuery(pausesQuery());
  const still = backfill.paused_by ? "paused" : pauses?.everything ? "everything is paused" : null;
  return (
    <>
      <header className="page-head">
        <h1>
          Backfill {backfill.id}
          {backfill.name && <span className="mid"> {backfill.name}</span>}
        </h1>
        <span data-testid="backfill-state" data-state={backfill.state}>
          {backfill.paused_by ? <Paused /> : <StateChip state={backfill.state} />}
        </span>
        {backfill.cancelling && <span className="quiet">is being cancelled</span>}
        <span className="grow" />
        {backfill.run_id !== null && (
          <Link
            className="btn"
            to="/runs/$runId"
            params={{ runId: String(backfill.run_id) }}
            data-testid="backfill-run"
            data-tip={backfill.run_ids.length > 1 ? `Runs ${backfill.run_ids.join(", ")}: one for each try` : undefined}
          >
            Open run {backfill.run_id}
          </Link>
        )}
        <CopyButton text={`partita backfill show ${backfill.id}`} what="Copy as CLI" label />
        {backfill.unmade > 0 && <Retry backfill={backfill} />}
        {open && !backfill.cancelling && <Controls backfill={backfill} />}
        {open && !backfill.cancelling && (
          <CancelButton
            path={`/backfills/${backfill.id}/cancel`}
            noun="backfill"
            what={plural(Math.max(0, total - done), "open cell")}
            testid="cancel-backfill"
          />
        )}
      </header>
      <div className="page-scroll">
        {backfill.paused_by && (
          <p className="row bf-paused" role="status" data-testid="backfill-paused">
            <StateGlyph state="deferred" />
            <span>
              Paused by {backfill.paused_by}, <Time at={backfill.paused_at} />: nothing of it starts, and it holds no
              slot but of what runs.
            </span>
          </p>
        )}
        <section
          className="stack"
          data-testid="backfill-progress"
          data-done={done}
          data-total={total}
          style={{ paddingBottom: 16 }}
        >
          <div className="stats">
            <div>
              <p className="big-number">{total === 0 ? "0" : Math.floor((done / total) * 100)} %</p>
              <p className="quiet">
                {count(done)} of {plural(total, "cell")}
              </p>
            </div>
            <div>
              <p className="big-number">
                <Elapsed from={backfill.created_at} to={backfill.finished_at} />
              </p>
              <p className="quiet">{open ? "so far" : "in all"}</p>
            </div>
            {open && (
              <div>
                <p className="big-number">{still || backfill.eta_s === null ? "–" : duration(backfill.eta_s)}</p>
                <p className="quiet">{still ?? (backfill.eta_s === null ? "no estimate yet" : "left")}</p>
              </div>
            )}
            {backfill.cells_per_s !== null && (
              <div>
                <p className="big-number" data-testid="backfill-rate">
                  {rate(backfill.cells_per_s)}
                </p>
                <p className="quiet">of the last ten minutes</p>
              </div>
            )}
          </div>
          <MiniBar counts={counts} tall />
          <StateCounts counts={counts} label="Cells by state" />
        </section>
        <Matrix backfill={backfill} counts={counts} />
        <section className="section">
          <header>
            <h2>By asset</h2>
          </header>
          {backfill.progress.map((each) => {
            const made = (each.counts.fresh ?? 0) + (each.counts.unchanged ?? 0) + (each.counts.skipped ?? 0);
            return (
              <div
                key={each.asset}
                className="bf-row"
                data-testid="backfill-asset"
                data-key={each.asset}
                data-done={made}
                data-total={each.total}
              >
                <Link className="link key" to="/asset" search={{ key: each.asset }} data-tip={each.asset}>
                  {each.asset}
                </Link>
                <MiniBar counts={each.counts} />
                <span className="num">
                  {count(made)} / {count(each.total)}
                  {(each.counts.failed ?? 0) > 0 && (
                    <span className="tone-red"> {count(each.counts.failed ?? 0)} failed</span>
                  )}
                </span>
              </div>
            );
          })}
        </section>
        <section className="section">
          <header>
            <h2>Request</h2>
            <span className="grow" />
            {open && !backfill.cancelling && (
              <PaceButton
                of="backfills"
                id={backfill.id}
                maxActive={backfill.max_active}
                priority={backfill.priority}
                small
              />
            )}
          </header>
          <dl className="facts">
            <dt>Selection</dt>
            <dd className="mono">{backfill.selection}</dd>
            <dt>Partitions</dt>
            <dd className="mono">{backfill.partitions_text}</dd>
            <dt>Created</dt>
            <dd>
              <Time at={backfill.created_at} />
              {backfill.created_by && ` by ${backfill.created_by}`}
            </dd>
            <dt>Tasks at once</dt>
            <dd>{backfill.max_active === null ? "as many as the pools admit" : count(backfill.max_active)}</dd>
            <dt>Priority</dt>
            <dd>{backfill.priority}</dd>
            <dt>Order</dt>
            <dd>{backfill.order} partitions first</dd>
          </dl>
        </section>
      </div>
    </>
  );
}

/** Cells in the largest unit that keeps a whole number in front. */
function rate(cellsPerSecond: number): string {
  const told = (per: number, unit: string) =>
    `${plural(Math.max(1, Math.round(cellsPerSecond * per)), "cell")}/${unit}`;
  if (cellsPerSecond >= 1) return told(1, "s");
  return cellsPerSecond * 60 >= 1 ? told(60, "min") : told(3600, "h");
}
