// Who did what, when and why, newest first; what can be taken back says how.
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { post } from "../api/client";
import { audit as auditQuery } from "../api/queries";
import type { AuditEntry, AuditPage } from "../api/types";
import { CopyButton } from "../design/Copy";
import { Empty, Loaded, Problem } from "../design/Feedback";
import { Time } from "../design/Time";
import "./lists.css";

export function Audit() {
  const search = useSearch({ from: "/audit" });
  const navigate = useNavigate({ from: "/audit" });
  const query = useQuery(auditQuery({ who: search.who, action: search.action, before: search.before }));
  const narrowed = Object.values(search).some((value) => value !== undefined);
  return (
    <div className="page">
      <header className="page-head">
        <h1>Audit</h1>
        <span className="quiet">What people, and automation in their place, did by hand.</span>
        <span className="grow" />
        {narrowed && (
          <button type="button" className="btn small" onClick={() => void navigate({ search: {} })}>
            Show all entries
          </button>
        )}
        <CopyButton
          text={["partita audit", search.who && `--who '${search.who}'`, search.action && `--action ${search.action}`]
            .filter(Boolean)
            .join(" ")}
          what="Copy as CLI"
          label
        />
      </header>
      <div className="page-scroll">
        <Loaded query={query}>{(page) => <Entries page={page} />}</Loaded>
      </div>
    </div>
  );
}

function Entries({ page }: { page: AuditPage }) {
  if (page.entries.length === 0)
    return (
      <Empty title="Nobody did anything here yet" command="partita audit">
        Launches, cancellations, marks, pauses and their reasons are listed here.
      </Empty>
    );
  return (
    <>
      <table className="table" data-testid="audit">
        <thead>
          <tr>
            <th>When</th>
            <th>Who</th>
            <th style={{ width: "40%" }}>What</th>
            <th style={{ width: "24%" }}>Why</th>
            <th>Undo</th>
          </tr>
        </thead>
        <tbody>
          {page.entries.map((entry) => (
            <tr key={entry.id} data-testid="audit-entry" data-action={entry.action}>
              <td>
                <Time at={entry.at} />
              </td>
              <td>
                <Link className="link" to="/audit" search={{ who: entry.who }}>
                  {entry.who}
                </Link>
              </td>
              <td>
                <What entry={entry} />
              </td>
              <td className={entry.reason ? "" : "quiet"}>{entry.reason || "–"}</td>
              <td>
                <Undo entry={entry} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {page.before !== null && (
        <p style={{ padding: "12px 0" }}>
          <Link
            className="btn small"
            to="/audit"
            search={(before) => ({ ...before, before: String(page.before) })}
            data-testid="older"
          >
            Show older entries
          </Link>
        </p>
      )}
    </>
  );
}

function What({ entry }: { entry: AuditEntry }) {
  const { run } = entry.detail;
  return (
    <span className="wrap-anywhere">
      {entry.text}{" "}
      {typeof run === "number" && (
        <Link className="link mono" to="/runs/$runId" params={{ runId: String(run) }}>
          #{run}
        </Link>
      )}
    </span>
  );
}

function TakeBack({ entry }: { entry: AuditEntry }) {
  const client = useQueryClient();
  const undo = useMutation({
    mutationFn: () => post(`/audit/${entry.id}/undo`),
    onSuccess: () => client.invalidateQueries(),
  });
  return (
    <>
      <span className="row">
        <button
          type="button"
          className="btn small"
          data-testid="take-back"
          data-tip="Its cells hold what they held before; those attempted since stay as they are"
          aria-busy={undo.isPending}
          onClick={() => !undo.isPending && undo.mutate()}
        >
          Take entry {entry.id} back
        </button>
        {entry.undo && <CopyButton text={entry.undo} what="Copy as CLI" />}
      </span>
      {undo.error && <Problem error={undo.error} />}
    </>
  );
}

function Undo({ entry }: { entry: AuditEntry }) {
  if (entry.undone_at !== null)
    return (
      <span className="quiet">
        by {entry.undone_by}, <Time at={entry.undone_at} />
      </span>
    );
  if (entry.action === "mark" || entry.action === "wipe") return <TakeBack entry={entry} />;
  if (entry.undo === null) return <span className="quiet">–</span>;
  return (
    <span className="row">
      <code className="mono">{entry.undo}</code>
      <CopyButton text={entry.undo} what="Copy command" />
    </span>
  );
}
