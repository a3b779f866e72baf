// What to know before a launch. It holds nothing back. A limit answers those about too much at once.
import type { Plan } from "../api/types";
import { StateGlyph } from "../design/StateGlyph";

export function Warnings({ plan, limited }: { plan: Plan; limited: boolean }) {
  return plan.warnings
    .filter((one) => !limited || one.queue !== "")
    .map((one) => (
      <div key={`${one.queue}/${one.resource}`} className="plan-warning" role="note" data-testid="plan-warning">
        <StateGlyph state="stale" size={14} />
        <p>
          {one.text}. <span className="mid">{one.fix}.</span>
        </p>
      </div>
    ));
}
