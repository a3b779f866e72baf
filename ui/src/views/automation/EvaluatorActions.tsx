// What people do to an observer, a schedule or a sensor: evaluate it now, pause, resume with what was missed, set its cursor.
import { useState } from "react";
import { post } from "../../api/client";
import type { Evaluator } from "../../api/types";
import { Icon } from "../../design/Icon";
import { plural } from "../../lib/format";
import { shellQuoted } from "../../lib/shell";
import { Confirm } from "../Confirm";
import { EVALUATOR_KINDS, evaluatorCommand } from "./words";

type Verb = "run" | "pause" | "resume" | "cursor";
type CatchUp = "default" | "none" | "latest" | "all" | "paced";

const PACE = 4;
const CATCH_UP: Record<CatchUp, { label: string; asks: { catch_up: string | null; pace?: number }; cli: string }> = {
  default: { label: "As it is declared", asks: { catch_up: null }, cli: "" },
  none: { label: "Evaluate none", asks: { catch_up: "none" }, cli: " --catch-up none" },
  latest: { label: "Evaluate the latest", asks: { catch_up: "latest" }, cli: " --catch-up latest" },
  all: { label: "Evaluate each in turn", asks: { catch_up: "all" }, cli: " --catch-up all" },
  paced: {
    label: `Each in turn, ${PACE} of its runs at a time`,
    asks: { catch_up: "all", pace: PACE },
    cli: ` --pace ${PACE}`,
  },
};

/** A schedule is evaluated at its ticks alone: there is something to hasten only while one of them failed or waits. */
function canRun(one: Evaluator): boolean {
  if (one.state === "paused" || one.state === "retired" || one.state === "running") return false;
  return one.kind !== "schedule" || one.state === "failing" || one.state === "waiting";
}

export function EvaluatorActions({ one }: { one: Evaluator }) {
  const [asking, setAsking] = useState<Verb | null>(null);
  const close = () => setAsking(null);
  const what = EVALUATOR_KINDS[one.kind].one;
  if (asking === "run") return <Run one={one} onClose={close} />;
  if (asking === "pause") return <Pause one={one} onClose={close} />;
  if (asking === "resume") return <Resume one={one} onClose={close} />;
  if (asking === "cursor") return <Cursor one={one} onClose={close} />;
  if (one.state === "retired") return <p className="mid">No active version defines it: its cursor is kept.</p>;
  return (
    <p className="row wrap">
      {canRun(one) && (
        <button type="button" className="btn small" data-testid="run-evaluator" onClick={() => setAsking("run")}>
          <Icon name="runs" size={14} />
          Evaluate {what} now
        </button>
      )}
      {one.state === "paused" ? (
        <button
          type="button"
          className="btn small primary"
          data-testid="resume-evaluator"
          onClick={() => setAsking("resume")}
        >
          <Icon name="runs" size={14} />
          Resume {what}
        </button>
      ) : (
        <button type="button" className="btn small" data-testid="pause-evaluator" onClick={() => setAsking("pause")}>
          <Icon name="pause" size={14} />
          Pause {what}
        </button>
      )}
      <button type="button" className="btn small" data-testid="reset-evaluator" onClick={() => setAsking("cursor")}>
        <Icon name="reload" size={14} />
        Reset cursor
      </button>
    </p>
  );
}

type Props = { one: Evaluator; onClose: () => void };

function Run({ one, onClose }: Props) {
  return (
    <Confirm
      label={`Evaluate ${one.name} now`}
      sentence={`It is due at once, ${one.cursor === null ? "without a cursor" : `with the cursor ${JSON.stringify(one.cursor)}`}; what it asks for is planned and launched.`}
      keep="Leave it to its clock"
      reason={null}
      cli={evaluatorCommand(one, "run")}
      testid="run-evaluator"
      onDo={() => post(`/evaluators/${one.id}/run`)}
      onClose={onClose}
    />
  );
}

function Pause({ one, onClose }: Props) {
  return (
    <Confirm
      label={`Pause ${one.name}`}
      sentence={`Nobody evaluates it until it is resumed${one.state === "running" ? "; the evaluation that runs ends and counts" : ""}. ${
        one.kind === "schedule"
          ? "Ticks that pass meanwhile are counted."
          : "What it would find meanwhile it finds afterwards."
      }`}
      keep="Keep it going"
      danger
      cli={evaluatorCommand(one, "pause")}
      testid="pause-evaluator"
      onDo={(reason) => post(`/evaluators/${one.id}/pause`, { reason })}
      onClose={onClose}
    />
  );
}

function Resume({ one, onClose }: Props) {
  const [catchUp, setCatchUp] = useState<CatchUp>("default");
  const missed =
    one.missed > 0
      ? `${plural(one.missed, "tick")} passed since it was paused.`
      : one.kind === "schedule"
        ? "No tick passed since it was paused."
        : "It is due at once and goes on from its cursor.";
  return (
    <Confirm
      label={`Resume ${one.name}`}
      sentence={missed}
      keep="Keep it paused"
      cli={`${evaluatorCommand(one, "resume")}${CATCH_UP[catchUp].cli}`}
      testid="resume-evaluator"
      onDo={(reason) => post(`/evaluators/${one.id}/resume`, { ...CATCH_UP[catchUp].asks, reason })}
      onClose={onClose}
    >
      {one.missed > 0 && (
        <fieldset className="row wrap" data-testid="missed-ticks">
          <legend className="visually-hidden">Which of the ticks that passed are evaluated</legend>
          {(Object.keys(CATCH_UP) as CatchUp[]).map((choice) => (
            <label key={choice} className="check">
              <input
                type="radio"
                name={`catch-up-${one.id}`}
                checked={catchUp === choice}
                onChange={() => setCatchUp(choice)}
              />
              {CATCH_UP[choice].label}
            </label>
          ))}
        </fieldset>
      )}
    </Confirm>
  );
}

function Cursor({ one, onClose }: Props) {
  const [cursor, setCursor] = useState(one.cursor ?? "");
  const is = one.cursor === null ? "It has no cursor now" : `Its cursor is ${JSON.stringify(one.cursor)} now`;
  const next = cursor === "" ? "none, as at first" : JSON.stringify(cursor);
  return (
    <Confirm
      label={cursor === "" ? `Forget the cursor of ${one.name}` : `Set the cursor of ${one.name}`}
      sentence={`${is}; it becomes ${next}. An evaluation that runs counts for nothing. Requests with a key that it made before are passed over.`}
      keep="Keep the cursor"
      danger
      cli={`${evaluatorCommand(one, "reset")}${cursor === "" ? "" : ` --cursor ${shellQuoted(cursor)}`}`}
      testid="reset-evaluator"
      onDo={(reason) => post(`/evaluators/${one.id}/cursor`, { cursor: cursor === "" ? null : cursor, reason })}
      onClose={onClose}
    >
      <label className="row">
        <span className="quiet">Go on from</span>
        <input
          className="field mono grow"
          data-testid="cursor-field"
          placeholder="empty: as at first"
          value={cursor}
          onChange={(event) => setCursor(event.target.value)}
        />
      </label>
    </Confirm>
  );
}
