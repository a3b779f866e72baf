// What went wrong and needs somebody: the worst first, who was told of it, who knows. Rules and windows below.

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { post } from "../api/client";
import { alert as alertQuery, alerts as alertsQuery } from "../api/queries";
import type { AlertPage, AlertView } from "../api/types";
import { CopyButton } from "../design/Copy";
import { Empty, Loaded, Problem } from "../design/Feedback";
import { FilterChip } from "../design/FilterChip";
import { StateGlyph } from "../design/StateGlyph";
import { Time } from "../design/Time";
import { count, plural } from "../lib/format";
import { AlertRulesList } from "./AlertRules";
import { Maintenance } from "./Maintenance";
import "./automation/automation.css";
import "./lists.css";

const STATES = ["open", "acknowledged", "snoozed", "ended"];
/** The glyph of a state of an alert, in the vocabulary of cells: shape and hue tell it as they do there. */
const GLYPH: Record<string, string> = { critical: "failed", warning: "stale", info: "deferred" };
const KNOWN: Record<string, string> = { acknowledged: "awaiting_input", snoozed: "deferred", ended: "fresh" };

export function Alerts() {
  const search = useSearch({ from: "/alerts" });
  const navigate = useNavigate({ from: "/alerts" });
  const query = useQuery(alertsQuery({ state: search.state, kind: search.kind, owner: search.owner }));
  const narrowed = search.kind ?? search.owner;
  return (
    <div className="page">
      <header className="page-head">
        <h1>Alerts</h1>
        <fieldset className="chips" aria-label="Filter by state">
          {STATES.map((state) => (
            <FilterChip
              key={state}
              picked={search.state === state}
              onPick={() =>
                void navigate({
                  search: (before) => ({ ...before, state: search.state === state ? undefined : state }),
                })
              }
              glyph={KNOWN[state] ?? "failed"}
            >
              {state}
            </FilterChip>
          ))}
        </fieldset>
        <span className="grow" />
        {narrowed && (
          <button type="button" className="btn small" onClick={() => void navigate({ search: {} })}>
            Show all alerts
          </button>
        )}
        <CopyButton
          text={[
            "partita alerts list",
            search.state && `--state ${search.state}`,
            search.kind && `--kind ${search.kind}`,
          ]
            .filter(Boolean)
            .join(" ")}
          what="Copy as CLI"
          label
        />
      </header>
      <div className="page-scroll">
        <Loaded query={query}>{(page) => <List page={page} filtered={Object.keys(search).length > 0} />}</Loaded>
        <AlertRulesList />
        <Maintenance />
      </div>
    </div>
  );
}

function List({ page, filtered }: { page: AlertPage; filtered: boolean }) {
  const search = useSearch({ from: "/alerts" });
  const navigate = useNavigate({ from: "/alerts" });
  if (page.alerts.length === 0)
    return filtered ? (
      <Empty title="No such alert">Choose the chip again to see all whose cause is not over.</Empty>
    ) : (
      <Empty title="Nothing needs anybody" command="partita alerts rules">
        What fails for good, comes too late or waits for too long is listed here, and told to its owner.
      </Empty>
    );
  return (
    <section className="section alerts">
      <table className="table" data-testid="alerts">
        <thead>
          <tr>
            <th style={{ width: "44%" }}>What</th>
            <th>Since</th>
            <th className="num">Times</th>
            <th>Owner</th>
            <th>Told</th>
            <th>State</th>
          </tr>
        </thead>
        <tbody>
          {page.alerts.map((one) => {
            const open = search.open === String(one.id);
            return (
              <Row
                key={one.id}
                one={one}
                open={open}
                onToggle={() =>
                  void navigate({ search: (before) => ({ ...before, open: open ? undefined : String(one.id) }) })
                }
              />
            );
          })}
        </tbody>
      </table>
      {page.total > page.alerts.length && (
        <p className="quiet">
          {plural(page.total - page.alerts.length, "more alert")}: narrow the list by state, or use the command.
        </p>
      )}
    </section>
  );
}

function Row({ one, open, onToggle }: { one: AlertView; open: boolean; onToggle: () => void }) {
  return (
    <>
      <tr data-testid="alert" data-state={one.state} data-kind={one.kind}>
        <td>
          <button type="button" className="link row alert-row" aria-expanded={open} onClick={onToggle}>
            <StateGlyph state={GLYPH[one.severity] ?? "failed"} />
            <span className="quiet">{one.severity}</span>
            <span className="wrap-anywhere">{one.text}</span>
          </button>
        </td>
        <td>
          <Time at={one.first_at} />
        </td>
        <td className="num">{count(one.times)}</td>
        <td>{one.owners.join(", ") || <span className="quiet">–</span>}</td>
        <td>
          {one.undelivered > 0 ? (
            <span className="tone-red">{plural(one.undelivered, "message")} undelivered</span>
          ) : one.told > 0 ? (
            plural(one.told, "message")
          ) : (
            <span className="quiet">nobody</span>
          )}
        </td>
        <td>
          <Known one={one} />
        </td>
      </tr>
      {open && (
        <tr className="opened">
          <td colSpan={6}>
            <Detail one={one} />
          </td>
        </tr>
      )}
    </>
  );
}

function Known({ one }: { one: AlertView }) {
  if (one.state === "acknowledged") return <span>acknowledged by {one.acked_by}</span>;
  if (one.state === "snoozed")
    return (
      <span>
        snoozed by {one.snoozed_by}, <Time at={one.snoozed_until} />
      </span>
    );
  if (one.state === "ended")
    return (
      <span className="quiet">
        over, <Time at={one.ended_at} />
      </span>
    );
  return <strong>open</strong>;
}

function Detail({ one }: { one: AlertView }) {
  const detail = useQuery(alertQuery(one.id));
  return (
    <div className="opened-body">
      <span className="row wrap">
        {one.asset && (
          <Link className="link mono" to="/asset" search={{ key: one.asset, cell: one.partition ?? undefined }}>
            {one.asset} {one.partition}
          </Link>
        )}
        {one.run_id !== null && (
          <Link className="link mono" to="/runs/$runId" params={{ runId: String(one.run_id) }}>
            run #{one.run_id}
          </Link>
        )}
        {one.runbook && (
          <a className="link" href={one.runbook} rel="noreferrer noopener" target="_blank">
            Open the runbook
          </a>
        )}
        <span className="quiet">
          {one.kind.replaceAll("_", " ")}, by rule {one.rules.join(", ")}; last <Time at={one.last_at} />
        </span>
        {one.note && <span>Note: {one.note}</span>}
      </span>
      {one.state !== "ended" && <Act one={one} />}
      <Loaded query={detail}>
        {({ notices }) =>
          notices.length === 0 ? (
            <span className="quiet">No message tells of it: its rules name no target that is told.</span>
          ) : (
            <ul className="plain">
              {notices.map((notice) => (
                <li key={notice.id} className="row wrap">
                  <StateGlyph
                    state={notice.state === "sent" ? "fresh" : notice.state === "failed" ? "failed" : "scheduled"}
                  />
                  <span>
                    {notice.kind} to <span className="mono">{notice.target}</span>
                    {notice.scheme && ` (${notice.scheme})`}: {notice.state}
                  </span>
                  <Time at={notice.ended_at ?? notice.due_at} />
                  {notice.error && <span className="quiet wrap-anywhere">{notice.error}</span>}
                </li>
              ))}
            </ul>
          )
        }
      </Loaded>
    </div>
  );
}

const SNOOZES = { "1 h": 1, "4 h": 4, "1 day": 24, "7 days": 168 };

/** One alert at a time, each in one step: the way back is in the same place. */
function Act({ one }: { one: AlertView }) {
  const [note, setNote] = useState("");
  const [hours, setHours] = useState(4);
  const client = useQueryClient();
  const change = useMutation({
    mutationFn: (path: "ack" | "snooze" | "reopen") =>
      post(`/alerts/${path}`, {
        ids: [one.id],
        ...(path === "reopen" ? {} : { note: note.trim() }),
        ...(path === "snooze" ? { for_s: hours * 3600 } : {}),
      }),
    onSuccess: () => client.invalidateQueries(),
  });
  const go = (path: "ack" | "snooze" | "reopen") => !change.isPending && change.mutate(path);
  const known = one.state === "acknowledged" || one.state === "snoozed";
  return (
    <form
      className="row wrap"
      aria-label={`Alert ${one.id}`}
      onSubmit={(event) => {
        event.preventDefault();
        go("ack");
      }}
    >
      {known && (
        <button
          type="button"
          className="btn small"
          data-testid="reopen"
          data-tip="Nobody knows of it after all: it is told once more"
          onClick={() => go("reopen")}
        >
          Reopen alert
        </button>
      )}
      {one.state !== "acknowledged" && (
        <>
          <input
            className="field grow alert-note"
            aria-label="What you know"
            placeholder="What you know: everybody reads it"
            maxLength={2000}
            value={note}
            onChange={(event) => setNote(event.target.value)}
          />
          <button type="submit" className="btn small primary" data-testid="acknowledge">
            Acknowledge alert
          </button>
          <span className="row">
            <button type="button" className="btn small" data-testid="snooze" onClick={() => go("snooze")}>
              Snooze alert for
            </button>
            <select
              className="field"
              aria-label="How long it is snoozed"
              value={hours}
              onChange={(event) => setHours(Number(event.target.value))}
            >
              {Object.entries(SNOOZES).map(([label, value]) => (
                <option key={label} value={value}>
                  {label}
                </option>
              ))}
            </select>
          </span>
        </>
      )}
      <CopyButton text={`partita alerts ${known ? "reopen" : "ack"} ${one.id}`} what="Copy as CLI" />
      {change.isError && <Problem error={change.error} />}
    </form>
  );
}
