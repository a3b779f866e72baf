// What automation would decide about one cell, with the tree of what holds of its condition.
import { useQuery } from "@tanstack/react-query";
import { automationDecision } from "../../api/queries";
import { ConditionTree } from "../../design/ConditionTree";
import { Time } from "../../design/Time";

export function Condition({ assetKey, partitions }: { assetKey: string; partitions: string | undefined }) {
  const query = useQuery(automationDecision(assetKey, partitions));
  const told = query.data;
  const cell = told?.cells[0];
  if (!told?.condition || !cell) return null;
  const next = told.next_looks[0];
  return (
    <section data-testid="condition">
      <h3>Automation</h3>
      <p>{cell.sentence[0].toUpperCase() + cell.sentence.slice(1)}.</p>
      <details>
        <summary className="quiet">What of it holds</summary>
        <ConditionTree part={cell.tree} />
      </details>
      {next && (
        <p className="quiet">
          Time is heeded next <Time at={next.at} />
          {next.clock_changes && ", after the clocks have changed"}.
        </p>
      )}
    </section>
  );
}
