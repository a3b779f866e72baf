// Which rules there are, whom they tell, and what holds messages back. An address itself is shown nowhere.
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { post } from "../api/client";
import { alertRules } from "../api/queries";
import type { AlertRules } from "../api/types";
import { Loaded, Problem } from "../design/Feedback";
import { Time } from "../design/Time";

export function AlertRulesList() {
  const query = useQuery(alertRules());
  return (
    <Loaded query={query}>
      {(found) => (
        <>
          <Rules found={found} />
          <Windows found={found} />
        </>
      )}
    </Loaded>
  );
}

function Rules({ found }: { found: AlertRules }) {
  const client = useQueryClient();
  const test = useMutation({
    mutationFn: (rule: string) => post("/alerts/test", { rule }),
    onSuccess: () => client.invalidateQueries({ queryKey: ["alerts"] }),
  });
  return (
    <section className="section">
      <header>
        <h2>Rules</h2>
        <span className="quiet">as partita.toml says</span>
      </header>
      {test.isError && <Problem error={test.error} />}
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
                  onClick={() => test.mutate(rule.name)}
                  aria-label={`Send a test message of ${rule.name}`}
                >
                  {test.isSuccess && test.variables === rule.name ? "Test message is on its way" : "Send test message"}
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

function Windows({ found }: { found: AlertRules }) {
  const client = useQueryClient();
  const end = useMutation({
    mutationFn: (id: number) => post(`/alerts/maintenance/${id}/end`),
    onSuccess: () => client.invalidateQueries({ queryKey: ["alerts"] }),
  });
  if (found.maintenance.length === 0) return null;
  return (
    <section className="section">
      <header>
        <h2>Maintenance</h2>
        <span className="quiet">Messages about these assets wait.</span>
      </header>
      {end.isError && <Problem error={end.error} />}
      <table className="table" data-testid="maintenance">
        <thead>
          <tr>
            <th>Window</th>
            <th>Assets</th>
            <th>Until</th>
            <th>By</th>
            <th>Why</th>
            <th>End</th>
          </tr>
        </thead>
        <tbody>
          {found.maintenance.map((window) => (
            <tr key={window.name}>
              <td>{window.name}</td>
              <td className="mono">{window.selection}</td>
              <td>
                <Time at={window.ends_at} none="not open now" />
              </td>
              <td>{window.by ?? "partita.toml"}</td>
              <td className={window.reason ? "" : "quiet"}>{window.reason || "–"}</td>
              <td>
                {window.id === null ? (
                  <span className="quiet">by the file</span>
                ) : (
                  <button type="button" className="btn small" onClick={() => end.mutate(window.id as number)}>
                    End {window.name}
                  </button>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
