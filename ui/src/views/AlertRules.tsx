// Which rules there are and whom they tell. An address itself is shown nowhere.
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { post } from "../api/client";
import { alertActionPreview, alertRules } from "../api/queries";
import type { AlertRules } from "../api/types";
import { Loaded } from "../design/Feedback";
import { Confirm } from "./Confirm";

export function AlertRulesList() {
  const query = useQuery(alertRules());
  return <Loaded query={query}>{(found) => <Rules found={found} />}</Loaded>;
}

function Rules({ found }: { found: AlertRules }) {
  const [asking, setAsking] = useState<string | null>(null);
  const [sent, setSent] = useState<string | null>(null);
  return (
    <section className="section">
      <header>
        <h2>Rules</h2>
        <span className="quiet">as partita.toml says</span>
        {asking !== null && (
          <Asked key={asking} rule={asking} onSent={() => setSent(asking)} onClose={() => setAsking(null)} />
        )}
      </header>
      <table className="table" data-testid="alert-rules">
        <thead>
          <tr>
            <th>Rule</th>
            <th>Severity</th>
            <th style={{ width: "32%" }}>On</th>
            <th>Assets</th>
            <th>Tells</th>
            <th>Test</th>
          </tr>
        </thead>
        <tbody>
          {found.rules.map((rule) => (
            <tr key={rule.name}>
              <td>{rule.name}</td>
              <td>{rule.severity}</td>
              <td>{rule.on.map((kind) => kind.replaceAll("_", " ")).join(", ")}</td>
              <td className="mono">{rule.owner ? `${rule.assets} of ${rule.owner}` : rule.assets}</td>
              <td>
                {rule.targets.map((target) => target.scheme).join(", ") || "the owners"}
                {rule.error && <div className="tone-red wrap-anywhere">{rule.error}</div>}
              </td>
              <td>
                <button
                  type="button"
                  className="btn small"
                  data-testid="test-rule"
                  onClick={() => setAsking(rule.name)}
                  aria-label={`Send a test message of ${rule.name}`}
                >
                  {sent === rule.name ? "Test message is on its way" : "Send test message…"}
                </button>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {found.owners.length > 0 && (
        <p className="quiet">
          Owners that are told:{" "}
          {found.owners
            .map((owner) => `${owner.name} (${owner.targets.map((target) => target.scheme).join(", ") || "nobody"})`)
            .join("; ")}
        </p>
      )}
    </section>
  );
}

type AskedProps = { rule: string; onSent: () => void; onClose: () => void };

function Asked({ rule, onSent, onClose }: AskedProps) {
  const preview = useQuery(alertActionPreview("/alerts/test", { rule }));
  return (
    <Confirm
      label="Send test message"
      sentence={preview.data?.sentence ?? null}
      keep="Send none"
      reason={null}
      cli={preview.data?.cli}
      testid="test-rule"
      error={preview.error}
      onDo={async () => {
        await post("/alerts/test", { rule });
        onSent();
      }}
      onClose={onClose}
    />
  );
}
