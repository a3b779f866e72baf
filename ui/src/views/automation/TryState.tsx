// What automation would decide about an asset's partitions, were what it reads in another state. Asks for nothing.
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { automationTest } from "../../api/queries";
import type { GivenState } from "../../api/types";
import { ConditionTree } from "../../design/ConditionTree";
import { CopyButton } from "../../design/Copy";
import { Problem } from "../../design/Feedback";
import { shellQuoted } from "../../lib/shell";

const STATES: Record<GivenState, string> = {
  missing: "missing",
  made: "made",
  updated: "updated just now",
  failed: "failed",
  in_progress: "being made",
};

type Given = Record<string, GivenState>;

export function TryState({ assetKey, upstream }: { assetKey: string; upstream: string[] }) {
  const [partitions, setPartitions] = useState("");
  const [given, setGiven] = useState<Given>({});
  const query = useQuery(automationTest(assetKey, partitions.trim() || undefined, given));
  const set = (key: string, state: string) => {
    const { [key]: _, ...rest } = given;
    setGiven(state ? { ...rest, [key]: state as GivenState } : rest);
  };
  return (
    <div className="opened-cols" data-testid="try-state">
      <div className="opened-body">
        {query.error && <Problem error={query.error} />}
        {query.data?.cells.length === 0 && <p className="quiet">No partition of it exists yet.</p>}
        {query.data?.cells.map((cell) => (
          <details key={cell.partition} open={query.data.cells.length === 1} data-testid="tried-cell">
            <summary>{cell.sentence}</summary>
            <ConditionTree part={cell.tree} />
          </details>
        ))}
      </div>
      <form className="try-form" onSubmit={(event) => event.preventDefault()}>
        <h3>Try another state</h3>
        <label className="try-given">
          <span>Partitions</span>
          <input
            className="field"
            value={partitions}
            placeholder="latest"
            onChange={(event) => setPartitions(event.target.value)}
          />
        </label>
        {[...upstream.filter((key) => key !== assetKey), assetKey].map((key) => (
          <label key={key} className="try-given">
            <span className="key">{key}</span>
            <select
              className="field"
              value={given[key] ?? ""}
              data-key={key}
              onChange={(event) => set(key, event.target.value)}
            >
              <option value="">as it is</option>
              {(Object.keys(STATES) as GivenState[]).map((state) => (
                <option key={state} value={state}>
                  {STATES[state]}
                </option>
              ))}
            </select>
          </label>
        ))}
        <p className="row wrap">
          <span className="quiet">Nothing is asked for and nothing is changed.</span>
          <CopyButton text={command(assetKey, partitions.trim(), given)} what="Copy as CLI" />
        </p>
      </form>
    </div>
  );
}

function command(assetKey: string, partitions: string, given: Given): string {
  const options = Object.entries(given).map(([key, state]) => ` --given ${shellQuoted(`${key}=${state}`)}`);
  const chosen = partitions ? ` --partitions ${shellQuoted(partitions)}` : "";
  return `partita automation test ${shellQuoted(assetKey)}${chosen}${options.join("")}`;
}
