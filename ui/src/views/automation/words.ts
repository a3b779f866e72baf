// The kinds of functions that are evaluated on a clock: in words, and the command of their list.
import type { Evaluator } from "../../api/types";

export const EVALUATOR_KINDS: Record<Evaluator["kind"], { one: string; command: string }> = {
  observe: { one: "observer", command: "observers" },
  schedule: { one: "schedule", command: "schedules" },
  sensor: { one: "sensor", command: "sensors" },
};

/** As the command takes it: with its location, since two may have one name. */
export function evaluatorCommand(one: Evaluator, verb: string): string {
  return `partita ${EVALUATOR_KINDS[one.kind].command} ${verb} ${one.location}/${one.name}`;
}
