// The parts of partita itself: each with its last sign of life and, when sick, its symptom in words.
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { system } from "../api/queries";
import type { SystemStatus } from "../api/types";
import { Loaded } from "../design/Feedback";
import { StateGlyph } from "../design/StateGlyph";
import { Time } from "../design/Time";
import { duration, plural } from "../lib/format";
import "./lists.css";

export function System() {
  const query = useQuery(system());
  return (
    <div className="page">
      <header className="page-head">
        <h1>System</h1>
        {query.data && (
          <span className="quiet">
            partita {query.data.version}, database pulse <Time at={query.data.db_pulse_at} />
          </span>
        )}
        <span className="grow" />
        <Link className="btn small" to="/audit">
          Show the audit
        </Link>
      </header>
      <div className="page-scroll">
        <Loaded query={query}>
          {(value) => (
            <>
              <Components list={value.components} />
              <Workers list={value.workers} />
              <Duties list={value.duties} />
            </>
          )}
        </Loaded>
      </div>
    </div>
  );
}

function lookOf(state: string): string {
  if (/^(ok|alive|up|serving|active|running|ready|healthy)$/.test(state)) return "fresh";
  if (/^(late|draining|loading|starting|degraded|slow)$/.test(state)) return "stale";
  return "failed";
}

function Components({ list }: { list: SystemStatus["components"] }) {
  return (
    <section className="section">
      <header>
        <h2>Processes</h2>
      </header>
      <table className="table">
        <thead>
          <tr>
            <th>Kind</th>
            <th>Name</th>
            <th>State</th>
            <th>Last seen</th>
            <th style={{ width: "44%" }}>Symptom</th>
          </tr>
        </thead>
        <tbody>
          {list.map((component) => (
            <tr
              key={`${component.kind}${component.name}`}
              data-testid="component-row"
              data-kind={component.kind}
              data-state={component.state}
            >
              <td className="mid">{component.kind}</td>
              <td className="mono">{component.name}</td>
              <td>
                <span className="chip">
                  <StateGlyph state={lookOf(component.state)} />
                  {component.state}
                </span>
              </td>
              <td>
                <Time at={component.last_seen_at} none="–" />
              </td>
              <td className={component.symptom ? "" : "quiet"}>{component.symptom ?? "none"}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function Workers({ list }: { list: SystemStatus["workers"] }) {
  return (
    <section className="section">
      <header>
        <h2>Workers</h2>
        <span className="quiet">Each runs the tasks of its queues; a queue that none of them serves waits.</span>
      </header>
      {list.length === 0 ? (
        <p className="quiet">No worker is alive. Is `partita worker` running?</p>
      ) : (
        <table className="table">
          <thead>
            <tr>
              <th>Worker</th>
              <th>Queues</th>
              <th>State</th>
              <th className="num">Places taken</th>
              <th>Since</th>
              <th>Heard of</th>
              <th>Version</th>
            </tr>
          </thead>
          <tbody>
            {list.map((worker) => (
              <tr key={worker.id} data-testid="worker-row">
                <td className="mono">{worker.id}</td>
                <td>{worker.queues.map((queue) => (queue === "*" ? "all" : queue)).join(", ")}</td>
                <td>
                  <span className="chip">
                    <StateGlyph state={lookOf(worker.live ? "alive" : "down")} />
                    {worker.live ? "alive" : "gone"}
                  </span>
                </td>
                <td className="num">
                  {worker.running} of {worker.capacity}
                </td>
                <td>
                  <Time at={worker.started_at} />
                </td>
                <td>{worker.renewed_at === null ? "–" : <Time at={worker.renewed_at} />}</td>
                <td className="mono">{worker.version ?? "–"}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}

function Duties({ list }: { list: SystemStatus["duties"] }) {
  return (
    <section className="section">
      <header>
        <h2>Duties</h2>
        <span className="quiet">Work that any scheduler may hold; another takes it over when its holder dies.</span>
      </header>
      {list.length === 0 ? (
        <p className="quiet">No duty has run yet. Is a scheduler running?</p>
      ) : (
        <table className="table">
          <thead>
            <tr>
              <th>Duty</th>
              <th>Holder</th>
              <th>Last ran</th>
              <th className="num">Took</th>
              <th style={{ width: "34%" }}>Error</th>
            </tr>
          </thead>
          <tbody>
            {list.map((duty) => (
              <tr key={duty.name}>
                <td>{duty.name}</td>
                <td className="mono">{duty.holder ?? "–"}</td>
                <td>
                  <Time at={duty.last_ran_at} />
                </td>
                <td className="num">{duty.last_ms === null ? "–" : duration(duty.last_ms / 1000)}</td>
                <td className={duty.failures > 0 ? "tone-red" : "quiet"}>
                  {duty.failures > 0 ? (
                    <span className="row">
                      <StateGlyph state="failed" />
                      <span className="clamp" data-tip={duty.last_error ?? undefined}>
                        failed {plural(duty.failures, "time")} in a row: {duty.last_error}
                      </span>
                    </span>
                  ) : (
                    "none"
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}
