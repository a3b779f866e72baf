// Functions of user code that are evaluated on a clock: when, what came of it, what is wrong. Each opens to its history.
import { useQuery } from "@tanstack/react-query";
import { evaluators } from "../../api/queries";
import type { Evaluator } from "../../api/types";
import { Empty, Loaded } from "../../design/Feedback";
import { Icon } from "../../design/Icon";
import { StateGlyph } from "../../design/StateGlyph";
import { Time } from "../../design/Time";
import { EvaluatorPanel } from "./EvaluatorPanel";
import { ClockChange } from "./Ticks";
import { EVALUATOR_KINDS } from "./words";
import "./automation.css";

/** Their states in the vocabulary of cells: shape and hue tell them as they do there. */
const GLYPHS: Record<string, string> = {
  ok: "fresh",
  failing: "failed",
  running: "running",
  paused: "deferred",
  waiting: "queued",
  retired: "removed",
};
const TONES: Record<string, string> = { failing: "tone-red", waiting: "tone-amber" };

type Props = { chosen: number | null; onOpen: (id: number | null) => void };

export function Evaluators({ chosen, onOpen }: Props) {
  const query = useQuery(evaluators());
  return (
    <Loaded query={query}>
      {({ evaluators: list }) =>
        list.length === 0 ? (
          <Empty title="No observer, schedule or sensor is declared" command="partita sensors list">
            A function of yours that is evaluated on a clock: @observe says what an external asset holds, @schedule what
            is to be made at a tick, @sensor what it found.
          </Empty>
        ) : (
          <section className="section" data-testid="evaluators">
            <header>
              <h2>Observers, schedules and sensors</h2>
              <span className="quiet">Functions of yours, evaluated on a clock in their code location.</span>
            </header>
            <table className="table">
              <thead>
                <tr>
                  <th>Name</th>
                  <th>Location</th>
                  <th>When</th>
                  <th>State</th>
                  <th>Last</th>
                  <th>Next</th>
                  <th style={{ width: "34%" }}>Came to</th>
                </tr>
              </thead>
              <tbody>
                {list.map((one) => (
                  <Row
                    key={one.id}
                    one={one}
                    open={one.id === chosen}
                    onToggle={() => onOpen(one.id === chosen ? null : one.id)}
                  />
                ))}
              </tbody>
            </table>
          </section>
        )
      }
    </Loaded>
  );
}

function Row({ one, open, onToggle }: { one: Evaluator; open: boolean; onToggle: () => void }) {
  return (
    <>
      <tr data-testid="evaluator-row" data-name={one.name} data-state={one.state}>
        <td>
          <button type="button" className="row-toggle" aria-expanded={open} onClick={onToggle}>
            <Icon name={open ? "down" : "right"} size={14} />
            <code data-tip={one.about || one.description || undefined}>{one.name}</code>
            <span className="tag">{EVALUATOR_KINDS[one.kind].one}</span>
          </button>
        </td>
        <td className="mid">{one.location}</td>
        <td>
          <code>{one.timing}</code>
        </td>
        <td>
          <span className={`row ${TONES[one.state] ?? "mid"}`}>
            <StateGlyph state={GLYPHS[one.state] ?? "missing"} />
            {one.state}
          </span>
        </td>
        <td>
          <Time at={one.last_at} />
        </td>
        <td>
          <span className="row">
            <Time at={one.next_at} none="–" />
            {one.clock_changes[0] !== undefined && one.clock_changes[0] === one.next_at && <ClockChange />}
          </span>
        </td>
        <td className="mid">
          <span className="clamp" data-tip={one.text || one.last}>
            {one.text || one.last}
          </span>
        </td>
      </tr>
      {open && (
        <tr className="opened">
          <td colSpan={7}>
            <EvaluatorPanel id={one.id} />
          </td>
        </tr>
      )}
    </>
  );
}
