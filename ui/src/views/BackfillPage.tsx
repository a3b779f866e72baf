// One backfill: what it makes, how far each asset is, and the way to stop it.
import { useQuery } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import { backfill as backfillQuery } from "../api/queries";
import type { Backfill } from "../api/types";
import { CopyButton } from "../design/Copy";
import { Loaded, Skeleton } from "../design/Feedback";
import { MiniBar, StateChip, StateCounts } from "../design/StateChip";
import { Elapsed, Time } from "../design/Time";
import { count, duration, plural } from "../lib/format";
import { useStateFavicon } from "../lib/title";
import { totalsOf } from "./Backfills";
import { CancelButton } from "./CancelButton";
import "./lists.css";

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
  return (
    <>
      <header className="page-head">
        <h1>
          Backfill {backfill.id}
          {backfill.name && <span className="mid"> {backfill.name}</span>}
        </h1>
        <span data-testid="backfill-state" data-state={backfill.state}>
          <StateChip state={backfill.state} />
        </span>
        <span className="grow" />
        <Link className="btn" to="/runs/$runId" params={{ runId: String(backfill.run_id) }} data-testid="backfill-run">
          Open run {backfill.run_id}
        </Link>
        <CopyButton text={`partita backfill show ${backfill.id}`} what="Copy as CLI" label />
        {open && (
          <CancelButton
            path={`/backfills/${backfill.id}/cancel`}
            noun="backfill"
            what={plural(Math.max(0, total - done), "open cell")}
            testid="cancel-backfill"
          />
        )}
      </header>
      <div className="page-scroll">
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
                <p className="big-number">{backfill.eta_s === null ? "–" : duration(backfill.eta_s)}</p>
                <p className="quiet">{backfill.eta_s === null ? "no estimate yet" : "left"}</p>
              </div>
            )}
          </div>
          <MiniBar counts={counts} tall />
          <StateCounts counts={counts} label="Cells by state" />
        </section>
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
          </dl>
        </section>
      </div>
    </>
  );
}
