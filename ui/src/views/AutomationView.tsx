// Who follows whom: what waits for a person, what cannot be decided, the consumers, and what they asked for lately.
import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { Fragment, useState } from "react";
import { automation, pauses as pausesQuery } from "../api/queries";
import type { Automation } from "../api/types";
import { ConditionTree } from "../design/ConditionTree";
import { Empty, Loaded } from "../design/Feedback";
import { StateGlyph } from "../design/StateGlyph";
import { Time } from "../design/Time";
import { plural } from "../lib/format";
import { Evaluators } from "./automation/Evaluators";
import { HeldRequests } from "./automation/HeldRequests";
import { Jobs } from "./automation/Jobs";
import { TryState } from "./automation/TryState";
import "./automation/automation.css";
import "./lists.css";

const TABS = [
  ["assets", "Assets"],
  ["jobs", "Named jobs"],
  ["functions", "Functions"],
] as const;

export function AutomationView() {
  const search = useSearch({ from: "/automation" });
  const navigate = useNavigate({ from: "/automation" });
  const show = search.show ?? (search.job ? "jobs" : search.evaluator ? "functions" : "assets");
  return (
    <div className="page">
      <header className="page-head">
        <h1>Automation</h1>
        <span className="segmented" role="tablist" aria-label="What is shown">
          {TABS.map(([name, label]) => (
            <button
              key={name}
              type="button"
              role="tab"
              aria-selected={show === name}
              data-testid={`show-${name}`}
              onClick={() => void navigate({ search: { show: name === "assets" ? undefined : name } })}
            >
              {label}
            </button>
          ))}
        </span>
      </header>
      <div className="page-scroll">
        {show === "jobs" ? (
          <Jobs
            chosen={search.job ?? null}
            onOpen={(job) => void navigate({ search: { show, job: job ?? undefined }, replace: true })}
          />
        ) : show === "functions" ? (
          <Evaluators
            chosen={search.evaluator ? Number(search.evaluator) : null}
            onOpen={(id) =>
              void navigate({ search: { show, evaluator: id === null ? undefined : String(id) }, replace: true })
            }
          />
        ) : (
          <Assets />
        )}
      </div>
    </div>
  );
}

function Assets() {
  const query = useQuery(automation());
  const search = useSearch({ from: "/automation" });
  const navigate = useNavigate({ from: "/automation" });
  const open = (id: number | null) =>
    void navigate({ search: { request: id === null ? undefined : String(id) }, replace: true });
  return (
    <Loaded query={query}>
      {(value) =>
        value.consumers.length === 0 && value.waiting.length === 0 && value.faults.length === 0 ? (
          <Empty title="No asset is automated" command="@asset(automation=eager())">
            An eager asset is materialized within a second of any of its upstreams, one with on_close() when its window
            has closed. Say so in the asset’s decorator.
          </Empty>
        ) : (
          <>
            <HeldRequests list={value.waiting} chosen={search.request ? Number(search.request) : null} onOpen={open} />
            <Faults list={value.faults} />
            <Consumers list={value.consumers} />
            <Requests list={value.requests} />
          </>
        )
      }
    </Loaded>
  );
}

function AssetLink({ assetKey }: { assetKey: string }) {
  return (
    <Link className="link key" to="/asset" search={{ key: assetKey }}>
      {assetKey}
    </Link>
  );
}

function Consumers({ list }: { list: Automation["consumers"] }) {
  const pauses = useQuery(pausesQuery());
  const [tried, setTried] = useState<string | null>(null);
  const paused = new Map(pauses.data?.assets.map((one) => [one.key, one.text]));
  return (
    <section className="section">
      <header>
        <h2>Automated assets</h2>
      </header>
      <table className="table">
        <thead>
          <tr>
            <th>Asset</th>
            <th style={{ width: "24%" }}>When</th>
            <th>Follows</th>
            <th>Next look</th>
            <th>Limit</th>
            <th>Last asked</th>
            <th style={{ width: "26%" }}>Because</th>
          </tr>
        </thead>
        <tbody>
          {list.map((consumer) => (
            <Fragment key={consumer.key}>
              <tr data-testid="consumer-row" data-key={consumer.key}>
                <td>
                  <span className="row wrap">
                    <AssetLink assetKey={consumer.key} />
                    {paused.has(consumer.key) && (
                      <span className="tag" data-tip={paused.get(consumer.key)}>
                        paused
                      </span>
                    )}
                  </span>
                </td>
                <td>
                  <span className="row">
                    {consumer.condition !== null && (
                      <button
                        type="button"
                        className="row-toggle"
                        aria-expanded={tried === consumer.key}
                        data-tip={`${consumer.condition}: what of it holds now, or would`}
                        data-testid="try-toggle"
                        onClick={() => setTried(tried === consumer.key ? null : consumer.key)}
                      >
                        <code className="clamp">{consumer.condition}</code>
                      </button>
                    )}
                    {consumer.on_code_change === "rebuild" && (
                      <span className="tag" data-tip="Its history is made again when its code or dependencies change">
                        rebuild
                      </span>
                    )}
                  </span>
                </td>
                <td>
                  <span className="row wrap">
                    {consumer.upstream.map((key) => (
                      <AssetLink key={key} assetKey={key} />
                    ))}
                  </span>
                </td>
                <td>
                  {consumer.next_look_at === null ? (
                    <span className="quiet" data-tip="Nothing but a publication makes a difference">
                      –
                    </span>
                  ) : (
                    <Time at={consumer.next_look_at} />
                  )}
                </td>
                <td className={consumer.limit === null ? "quiet" : "mid"}>{consumer.limit ?? "default"}</td>
                <td>
                  <Time at={consumer.last_requested_at} />
                </td>
                <td className="mid">
                  <span className="clamp" data-tip={consumer.last_reason ?? undefined}>
                    {consumer.last_reason ?? "–"}
                  </span>
                </td>
              </tr>
              {tried === consumer.key && (
                <tr className="opened">
                  <td colSpan={7}>
                    <TryState assetKey={consumer.key} upstream={consumer.upstream} />
                  </td>
                </tr>
              )}
            </Fragment>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function Faults({ list }: { list: Automation["faults"] }) {
  if (list.length === 0) return null;
  return (
    <section className="section" data-testid="faults">
      <header>
        <h2>Set aside</h2>
        <span className="quiet">
          Their events wait; everything else goes on. Loading the location again retries at once.
        </span>
      </header>
      <table className="table">
        <thead>
          <tr>
            <th>Cannot be decided</th>
            <th style={{ width: "44%" }}>Error</th>
            <th>Since</th>
            <th>Tried</th>
            <th>Next</th>
          </tr>
        </thead>
        <tbody>
          {list.map((fault) => (
            <tr key={fault.subject} data-testid="fault-row">
              <td>
                <span className="row">
                  <StateGlyph state="failed" />
                  {fault.asset ? <AssetLink assetKey={fault.asset} /> : fault.subject}
                </span>
              </td>
              <td className="tone-red">
                <span className="clamp" data-tip={fault.error}>
                  {fault.error}
                </span>
              </td>
              <td>
                <Time at={fault.since} />
              </td>
              <td>{plural(fault.tries, "time")}</td>
              <td>
                <Time at={fault.next_at} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function Requests({ list }: { list: Automation["requests"] }) {
  return (
    <section className="section">
      <header>
        <h2>Recent requests</h2>
      </header>
      {list.length === 0 ? (
        <p className="quiet">None yet. The first publication of an upstream will show here.</p>
      ) : (
        <table className="table">
          <thead>
            <tr>
              <th>When</th>
              <th>Asset</th>
              <th>Partition</th>
              <th style={{ width: "40%" }}>Cause</th>
              <th>Run</th>
            </tr>
          </thead>
          <tbody>
            {list.map((request) => (
              <tr key={`${request.at}${request.consumer}${request.partition}`}>
                <td>
                  <Time at={request.at} />
                </td>
                <td>
                  <AssetLink assetKey={request.consumer} />
                </td>
                <td>
                  <Link className="link mono" to="/asset" search={{ key: request.consumer, cell: request.partition }}>
                    {request.partition}
                  </Link>
                </td>
                <td className="mid">
                  {request.tree === null ? (
                    <span className="clamp" data-tip={request.cause}>
                      {request.cause}
                    </span>
                  ) : (
                    <details data-testid="request-tree">
                      <summary data-tip="What of its condition held when it asked">{request.cause}</summary>
                      <ConditionTree part={request.tree} />
                    </details>
                  )}
                </td>
                <td>
                  {request.run_id === null ? (
                    <span className="quiet">joined open work</span>
                  ) : (
                    <Link className="link mono" to="/runs/$runId" params={{ runId: String(request.run_id) }}>
                      #{request.run_id}
                    </Link>
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
