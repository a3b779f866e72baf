// What to know before a large launch. It holds nothing back.
import type { Plan } from "../api/types";
import { StateGlyph } from "../design/StateGlyph";

export function Warnings({ plan }: { plan: Plan }) {
  return plan.warnings.map((one) => (
    <div key={one.resource} className="plan-warning" role="note" data-testid="plan-warning">
      <StateGlyph state="stale" size={14} />
      <p>
        {one.text}. <span className="mid">To limit them {one.fix}.</span>
      </p>
    </div>
  ));
}
