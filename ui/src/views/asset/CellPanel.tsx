// One cell: state and why, what is published, its attempts, the inputs it read, the checks it passed.
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { cell as cellQuery } from "../../api/queries";
import type { CellDetail } from "../../api/types";
import { CopyButton } from "../../design/Copy";
import { Loaded, Skeleton } from "../../design/Feedback";
import { Icon } from "../../design/Icon";
import { StateChip } from "../../design/StateChip";
import { StateGlyph } from "../../design/StateGlyph";
import { Elapsed, Time } from "../../design/Time";
import { useZone } from "../../lib/clock";
import { count, recordText, shortHash, wall } from "../../lib/format";
import { usePlanPreview } from "../../plan/preview";
import { planSearch } from "../../plan/request";
import { productText, quoteKey } from "../../strip/text";
import { Answer } from "../run/Answer";
import { Accept } from "./Accept";
import { ByHand } from "./ByHand";
import { CodeChanges } from "./CodeChanges";
import { Condition } from "./Condition";

const ACCEPTABLE = new Set(["stale_code", "stale_dependencies"]);

type Props = { assetKey: string; partition: string; onClose?: () => void; external: boolean };

export function CellPanel({ assetKey, partition, onClose, external }: Props) {
  const query = useQuery(cellQuery(assetKey, partition));
  return (
    <aside
      className="side-panel"
      data-testid="cell-panel"
      aria-label={`Partition ${partition || "of the whole asset"}`}
    >
      <header>
        <span className="key grow" data-tip={partition || undefined}>
          {partition === "" ? "The whole asset" : label(query.data, partition)}
        </span>
        {partition !== "" && <CopyButton text={partition} what="Copy partition key" />}
        {onClose && (
          <button type="button" className="btn bare icon small" aria-label="Close partition" onClick={onClose}>
            <Icon name="close" />
          </button>
        )}
      </header>
      <Loaded query={query} skeleton={<Skeleton rows={6} />}>
        {(cell) => <Detail cell={cell} external={external} />}
      </Loaded>
    </aside>
  );
}

function label(cell: CellDetail | undefined, partition: string): string {
  const values = Object.values(cell?.dimensions ?? {});
  return values.length > 1 ? values.join(" × ") : partition;
}

function Detail({ cell, external }: { cell: CellDetail; external: boolean }) {
  return (
    <div className="stack wide">
      <div className="row">
        <StateChip state={cell.state} />
        <span className="grow" />
        {!external && cell.state !== "removed" && <PlanOne cell={cell} />}
      </div>
      {cell.open_task && (
        <p>
          Task of{" "}
          <Link
            className="link"
            to="/runs/$runId"
            params={{ runId: String(cell.open_task.run_id) }}
            search={{ task: String(cell.open_task.id) }}
          >
            run {cell.open_task.run_id}
          </Link>{" "}
          is {cell.open_task.state.replaceAll("_", " ")}
          {cell.open_task.reason && cell.open_task.state !== "awaiting_input" && `: ${cell.open_task.reason.text}`}.
        </p>
      )}
      {cell.open_task?.state === "awaiting_input" && <Answer taskId={cell.open_task.id} />}
      {cell.reasons.length > 0 && (
        <ul className="reasons">
          {cell.reasons.map((reason) => (
            <li key={`${reason.code}${reason.text}`}>
              {reason.code === "stale_code" && cell.code_change ? (
                <>
                  its code changed
                  <CodeChanges change={cell.code_change} />
                </>
              ) : (
                reason.text
              )}
              {typeof reason.evidence?.request === "number" && (
                <Link className="link" to="/automation" search={{ request: String(reason.evidence.request) }}>
                  {" "}
                  Look at request {reason.evidence.request}
                </Link>
              )}
              {reason.upstream && (
                <Link
                  className="link"
                  to="/asset"
                  search={{ key: reason.upstream.key, cell: reason.upstream.partition }}
                >
                  {" "}
                  See {reason.upstream.key}
                </Link>
              )}
            </li>
          ))}
        </ul>
      )}
      <Accept
        key={`${cell.key} ${cell.partition}`}
        selection={`"${cell.key}"`}
        partitions={selectionOfCell(cell) ?? "all"}
        label="Accept this partition as it is…"
        offered={cell.reasons.some((reason) => ACCEPTABLE.has(reason.code))}
      />
      <Window cell={cell} />
      <Published cell={cell} />
      {!external && <Condition assetKey={cell.key} partitions={selectionOfCell(cell)} />}
      <Attempts cell={cell} />
      <Inputs cell={cell} />
      {cell.checks.length > 0 && (
        <section>
          <h3>Checks</h3>
          {cell.checks.map((check) => (
            <div key={check.name} className="panel-item">
              <p className="row">
                <StateGlyph state={check.passed ? "fresh" : "failed"} />
                <span className="mono">{check.name}</span>
              </p>
              {Object.keys(check.detail).length > 0 && <p className="quiet">{recordText(check.detail)}</p>}
            </div>
          ))}
        </section>
      )}
      {!external && cell.state !== "removed" && (
        <ByHand
          key={`by hand ${cell.key} ${cell.partition}`}
          selection={`"${cell.key}"`}
          partitions={selectionOfCell(cell) ?? "all"}
          published={cell.published !== null}
        />
      )}
    </div>
  );
}

export function selectionOfCell(cell: Pick<CellDetail, "partition" | "dimensions">): string | undefined {
  if (cell.partition === "") return undefined;
  const dims = Object.entries(cell.dimensions ?? {});
  if (dims.length > 1) return productText(dims.map(([dim, key]) => ({ dim, text: quoteKey(key) })));
  return quoteKey(cell.partition);
}

function PlanOne({ cell }: { cell: CellDetail }) {
  const { preview, refused } = usePlanPreview();
  const done = cell.state === "fresh" || cell.state === "unchanged";
  return (
    <>
      <button
        type="button"
        className="btn small"
        onClick={() =>
          preview(
            planSearch({
              selection: cell.key,
              partitions: selectionOfCell(cell),
              as: "run",
              mode: done ? ["all"] : undefined,
            }),
          )
        }
      >
        {done ? "Plan to make it again" : "Plan this partition"}
      </button>
      {refused}
    </>
  );
}

function Window({ cell }: { cell: CellDetail }) {
  const zone = useZone();
  if (!cell.window_start || !cell.window_end) return null;
  return (
    <dl className="facts">
      <dt>Covers</dt>
      <dd>{wall(cell.window_start, zone)}</dd>
      <dt>to</dt>
      <dd>{wall(cell.window_end, zone)}</dd>
      {cell.due_at && (
        <>
          <dt>Due at</dt>
          <dd>{wall(cell.due_at, zone)}</dd>
        </>
      )}
    </dl>
  );
}

function Published({ cell }: { cell: CellDetail }) {
  const p = cell.published;
  if (!p) return <p className="quiet">Nothing is published here yet.</p>;
  return (
    <section>
      <h3>Published</h3>
      <dl className="facts">
        <dt>Version</dt>
        <dd className="mono">{shortHash(p.data_version)}</dd>
        <dt>When</dt>
        <dd>
          <Time at={p.at} />
          {p.run_id !== null && (
            <>
              {" by "}
              <Link className="link" to="/runs/$runId" params={{ runId: String(p.run_id) }}>
                run {p.run_id}
              </Link>
            </>
          )}
        </dd>
        {p.rows !== null && (
          <>
            <dt>Rows</dt>
            <dd>{count(p.rows)}</dd>
          </>
        )}
        {p.location && (
          <>
            <dt>Where</dt>
            <dd className="mono">{p.location}</dd>
          </>
        )}
        <dt>Code</dt>
        <dd className="mono">{shortHash(p.code_fingerprint)}</dd>
        {Object.entries(p.metadata ?? {})
          .filter(([name]) => name !== "rows" || p.rows === null)
          .map(([name, value]) => (
            <FactRow key={name} name={name} value={shown(value)} />
          ))}
      </dl>
    </section>
  );
}

function shown(value: unknown): string {
  if (typeof value === "number") return count(value);
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

function FactRow({ name, value }: { name: string; value: string }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </>
  );
}

function Attempts({ cell }: { cell: CellDetail }) {
  if (cell.attempts.length === 0) return null;
  return (
    <section>
      <h3>Attempts</h3>
      {cell.attempts.map((attempt, i) => (
        <div key={attempt.id} className="attempt">
          <p className="row">
            <StateGlyph state={attempt.state} />
            <span>#{attempt.number}</span>
            <Elapsed from={attempt.started_at} to={attempt.finished_at} />
            <span className="quiet grow">
              <Time at={attempt.started_at} none="not started" />
            </span>
          </p>
          {attempt.error && attempt.error !== cell.attempts[i - 1]?.error && (
            <p className="tone-red">{attempt.error}</p>
          )}
        </div>
      ))}
    </section>
  );
}

function Inputs({ cell }: { cell: CellDetail }) {
  if (cell.inputs.length === 0) return null;
  return (
    <section>
      <h3>Inputs</h3>
      {cell.inputs.map((input) => (
        <div key={input.name} className="panel-item">
          <p className="row">
            <Link className="link key" to="/asset" search={{ key: input.upstream }} data-tip={input.upstream}>
              {input.upstream}
            </Link>
            {input.moved.length > 0 && <span className="tone-amber">{count(input.moved.length)} moved since</span>}
          </p>
          <p className="quiet mono">{input.cells}</p>
        </div>
      ))}
    </section>
  );
}
