// How long a plan may take: with the slots that are there, with others, and what is the floor.
import type { Plan } from "../api/types";
import { duration, plural } from "../lib/format";
import { shownSlots } from "./slots";

export function Estimate({ plan }: { plan: Plan }) {
  if (plan.nothing_to_do) return null;
  const estimate = plan.estimate;
  if (!estimate)
    return (
      <section data-testid="plan-estimate">
        <h3>Estimate</h3>
        <p className="quiet">None yet: these steps have no finished attempts to learn from.</p>
      </section>
    );
  const here = Math.max(1, estimate.slots);
  const mine = estimate.by_slots.findLast((one) => one.slots <= here)?.slots;
  const slowest = Math.max(...estimate.by_slots.map((one) => one.makespan_s), Number.MIN_VALUE);
  return (
    <section data-testid="plan-estimate">
      <h3>Estimate</h3>
      <p className="row">
        <strong className="estimate-time">{duration(estimate.makespan_s)}</strong>
        <span className="quiet">with {plural(here, "slot")}</span>
      </p>
      {estimate.by_slots.length > 1 && (
        <table className="slots" aria-label="Time by number of slots">
          <tbody>
            {shownSlots(estimate.by_slots, mine).map((one) => (
              <tr key={one.slots} aria-current={one.slots === mine || undefined}>
                <th scope="row" className="num">
                  {plural(one.slots, "slot")}
                </th>
                <td aria-hidden="true">
                  <span className="meter">
                    <span style={{ width: `${Math.max(1, (one.makespan_s / slowest) * 100)}%` }} />
                  </span>
                </td>
                <td className="num">{duration(one.makespan_s)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      <p className="mid">
        Never under {duration(estimate.bound_pool ? floor(estimate.by_slots) : estimate.critical_s)}:{" "}
        {estimate.bound_pool ? (
          <>
            pool <span className="key">{estimate.bound_pool}</span> is the limit
          </>
        ) : (
          "the critical path"
        )}
        .
      </p>
      <p className="quiet">{sentenceCase(estimate.basis)}.</p>
    </section>
  );
}

function floor(times: { makespan_s: number }[]): number {
  return Math.min(...times.map((one) => one.makespan_s));
}

function sentenceCase(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
