// One observer, schedule or sensor: its cursor and next ticks, what people may do, its evaluations with their logs, its requests.
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { evaluator as evaluatorQuery } from "../../api/queries";
import type { Evaluation, EvaluatorAsked, EvaluatorDetail } from "../../api/types";
import { CopyButton } from "../../design/Copy";
import { Loaded, Skeleton } from "../../design/Feedback";
import { Icon } from "../../design/Icon";
import { StateGlyph } from "../../design/StateGlyph";
import { Time } from "../../design/Time";
import { between, count, duration } from "../../lib/format";
import { EvaluatorActions } from "./EvaluatorActions";
import { Ticks } from "./Ticks";
import { evaluatorCommand } from "./words";

const SHOWN = 10;
const OUTCOMES: Record<string, string> = {
  asked: "success",
  skipped: "skipped",
  nothing: "unchanged",
  failed: "failed",
};
const ASKED: Record<string, string> = {
  open: "queued",
  launched: "success",
  nothing: "unchanged",
  refused: "failed",
};

export function EvaluatorPanel({ id }: { id: number }) {
  const query = useQuery(evaluatorQuery(id));
  return (
    <Loaded query={query} skeleton={<Skeleton rows={4} />}>
      {(found) => (
        <div className="opened-body" data-testid="evaluator-panel">
          <EvaluatorActions one={found.evaluator} />
          <Facts found={found} />
          <Evaluations list={found.evaluations} />
          {found.asked.length > 0 && <Asked list={found.asked} />}
        </div>
      )}
    </Loaded>
  );
}

function Facts({ found }: { found: EvaluatorDetail }) {
  const one = found.evaluator;
  return (
    <div className="opened-cols">
      <dl className="facts">
        <dt>What</dt>
        <dd>{one.about || one.description || "–"}</dd>
        {one.about && one.description && (
          <>
            <dt>Says</dt>
            <dd>{one.description}</dd>
          </>
        )}
        <dt>Owner</dt>
        <dd>{one.owner ?? "–"}</dd>
        <dt>Cursor</dt>
        <dd className="mono" data-testid="evaluator-cursor">
          {one.cursor === null ? <span className="quiet">none</span> : JSON.stringify(one.cursor)}
        </dd>
        {one.last_ms !== null && (
          <>
            <dt>Last took</dt>
            <dd>{duration(one.last_ms / 1000)}</dd>
          </>
        )}
        <dt>As CLI</dt>
        <dd>
          <span className="row">
            <code>{evaluatorCommand(one, "show")}</code>
            <CopyButton text={evaluatorCommand(one, "show")} what="Copy as CLI" />
          </span>
        </dd>
      </dl>
      {one.kind === "schedule" && (
        <div>
          <h3>Next ticks</h3>
          <Ticks ticks={one.ticks} changes={one.clock_changes} tz={one.tz} />
        </div>
      )}
    </div>
  );
}

function Evaluations({ list }: { list: Evaluation[] }) {
  const [all, setAll] = useState(false);
  const [opened, setOpened] = useState<number | null>(null);
  if (list.length === 0) return <p className="quiet">No evaluation asked for anything yet, said why not, or failed.</p>;
  return (
    <section>
      <h3>Evaluations that came to something</h3>
      <table className="table" data-testid="evaluations">
        <thead>
          <tr>
            <th>Evaluation</th>
            <th>Tick</th>
            <th>Ended</th>
            <th className="num">Took</th>
            <th style={{ width: "55%" }}>Came to</th>
          </tr>
        </thead>
        <tbody>
          {list.slice(0, all ? list.length : SHOWN).map((one) => (
            <EvaluationRow
              key={one.number}
              one={one}
              open={opened === one.number}
              onToggle={() => setOpened(opened === one.number ? null : one.number)}
            />
          ))}
        </tbody>
      </table>
      {list.length > SHOWN && !all && (
        <button type="button" className="btn small" onClick={() => setAll(true)}>
          Show all {count(list.length)} that are kept
        </button>
      )}
    </section>
  );
}

function EvaluationRow({ one, open, onToggle }: { one: Evaluation; open: boolean; onToggle: () => void }) {
  const more = Boolean(one.traceback || one.log);
  const took = one.started_at === null ? null : between(one.started_at, one.ended_at, 0);
  return (
    <>
      <tr data-testid="evaluation-row" data-outcome={one.outcome}>
        <td>
          {more ? (
            <button
              type="button"
              className="row-toggle"
              aria-expanded={open}
              aria-label={`Evaluation ${one.number}: what it printed`}
              onClick={onToggle}
            >
              <Icon name={open ? "down" : "right"} size={14} />
              <code>{one.number}</code>
            </button>
          ) : (
            <code style={{ paddingLeft: 20 }}>{one.number}</code>
          )}
        </td>
        <td>
          <Time at={one.tick_at} none="–" />
        </td>
        <td>
          <Time at={one.ended_at} />
        </td>
        <td className="num">{took === null ? "–" : duration(took)}</td>
        <td>
          <span className={`row ${one.outcome === "failed" ? "tone-red" : ""}`}>
            <StateGlyph state={OUTCOMES[one.outcome] ?? "missing"} />
            <span className="clamp" data-tip={one.text}>
              {one.text}
            </span>
          </span>
        </td>
      </tr>
      {open && (
        <tr>
          <td colSpan={5}>
            <div className="evaluation-more" data-testid="evaluation-more">
              {one.traceback && <Printed title="Error" text={one.traceback} />}
              {one.log && <Printed title="The end of what it printed" text={one.log} />}
            </div>
          </td>
        </tr>
      )}
    </>
  );
}

function Printed({ title, text }: { title: string; text: string }) {
  return (
    <div>
      <h3 className="row">
        <span className="grow">{title}</span>
        <CopyButton text={text} what="Copy text" label />
      </h3>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable without a mouse */}
      <pre className="trace wrapped" tabIndex={0}>
        {text}
      </pre>
    </div>
  );
}

function Asked({ list }: { list: EvaluatorAsked[] }) {
  return (
    <section>
      <h3>What it asked for</h3>
      <table className="table" data-testid="evaluator-asked">
        <thead>
          <tr>
            <th>When</th>
            <th>Evaluation</th>
            <th>Assets</th>
            <th>Partitions</th>
            <th>Key</th>
            <th style={{ width: "34%" }}>Became</th>
          </tr>
        </thead>
        <tbody>
          {list.slice(0, SHOWN).map((one) => (
            <tr key={one.id} data-state={one.state}>
              <td>
                <Time at={one.asked_at} />
              </td>
              <td>
                <code>{one.evaluation}</code>
              </td>
              <td className="key">{one.selection}</td>
              <td className="mono">
                <span className="clamp" data-tip={one.partitions ?? undefined}>
                  {one.partitions ?? "all"}
                </span>
              </td>
              <td className="mono">
                {one.key === null ? (
                  <span className="quiet">–</span>
                ) : (
                  <span className="clamp" data-tip={one.key}>
                    {one.key}
                  </span>
                )}
              </td>
              <td>
                <span className="row">
                  <StateGlyph state={ASKED[one.state] ?? "missing"} />
                  {one.run_id !== null ? (
                    <Link className="link mono" to="/runs/$runId" params={{ runId: String(one.run_id) }}>
                      #{one.run_id}
                    </Link>
                  ) : (
                    <span className="clamp" data-tip={one.text}>
                      {one.text}
                    </span>
                  )}
                </span>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
