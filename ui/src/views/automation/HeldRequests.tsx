// Automatic requests above the limit: each opens to its preview as of now; approving repeats its count, rejecting says why.
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { post } from "../../api/client";
import { request as requestQuery } from "../../api/queries";
import type { HeldRequest, HeldRequestDetail, RequestDecision } from "../../api/types";
import { CopyButton } from "../../design/Copy";
import { Loaded, Problem, Skeleton } from "../../design/Feedback";
import { Icon } from "../../design/Icon";
import { StateGlyph } from "../../design/StateGlyph";
import { Time } from "../../design/Time";
import { count, plural } from "../../lib/format";
import { reasonLook, reasonsOf } from "../../plan/reasons";
import "./requests.css";

type Props = { list: HeldRequest[]; chosen: number | null; onOpen: (id: number | null) => void };

export function HeldRequests({ list, chosen, onOpen }: Props) {
  const shown = chosen === null || list.some((one) => one.id === chosen) ? list : null;
  if (list.length === 0 && chosen === null) return null;
  return (
    <section className="section" data-testid="held-requests">
      <header>
        <h2>Waiting for you</h2>
        <span className="quiet">
          Automation asks for more cells than the limit. Nothing runs until somebody approves.
        </span>
      </header>
      {list.map((one) => (
        <Request key={one.id} request={one} open={one.id === chosen} onOpen={onOpen} />
      ))}
      {shown === null && chosen !== null && <Ended id={chosen} />}
    </section>
  );
}

function Request({ request, open, onOpen }: { request: HeldRequest; open: boolean; onOpen: Props["onOpen"] }) {
  return (
    <article className="held" data-testid="held-request" data-request={request.id} data-open={open || undefined}>
      <button type="button" className="held-head" aria-expanded={open} onClick={() => onOpen(open ? null : request.id)}>
        <Icon name={open ? "down" : "right"} size={14} />
        <StateGlyph state="awaiting_input" size={14} />
        <strong>{request.sentence}</strong>
        <span className="grow" />
        <span className="quiet">
          limit {count(request.cell_limit)}, asked <Time at={request.updated_at} />
        </span>
      </button>
      {open && <Preview id={request.id} />}
    </article>
  );
}

function Ended({ id }: { id: number }) {
  const query = useQuery(requestQuery(id));
  return (
    <Loaded query={query} skeleton={<Skeleton rows={2} />}>
      {(request) => (
        <p className="row" data-testid="request-ended">
          <StateGlyph state={request.state === "approved" ? "success" : "cancelled"} />
          Request {request.id} was {request.state}
          {request.ended_by && ` by ${request.ended_by}`}
          {request.end_reason && `: ${request.end_reason}`}
          {request.run_id !== null && (
            <Link className="link mono" to="/runs/$runId" params={{ runId: String(request.run_id) }}>
              #{request.run_id}
            </Link>
          )}
        </p>
      )}
    </Loaded>
  );
}

function Preview({ id }: { id: number }) {
  const query = useQuery(requestQuery(id));
  return (
    <Loaded query={query} skeleton={<Skeleton rows={5} />}>
      {(request) => (
        <div className="held-body">
          <p className="mid">
            Because {request.cause}
            {request.before > 0 && `; with ${plural(request.before, "cell")} asked for before because of the same run`}
            {request.merged > 1 && `; ${plural(request.merged, "request")} in one`}. Expires{" "}
            <Time at={request.expires_at} /> unless it changes.
          </p>
          <div className="chips">
            {reasonsOf(request.by_reason).map(([code, n]) => (
              <span key={code} className="chip boxed">
                <StateGlyph state={reasonLook(code).state} />
                <span className="n">{count(n)}</span>
                {reasonLook(code).word}
              </span>
            ))}
          </div>
          <Cells request={request} />
          {request.changed && (
            <p className="row held-changed" data-testid="request-changed">
              <StateGlyph state="stale" />
              Since it was asked: {request.changed}. Approving shows the new content first.
            </p>
          )}
          <Actions key={request.revision} request={request} />
        </div>
      )}
    </Loaded>
  );
}

function Cells({ request }: { request: HeldRequestDetail }) {
  return (
    <table className="table">
      <thead>
        <tr>
          <th>Asset</th>
          <th className="num">Cells</th>
          <th>Because</th>
          <th style={{ width: "44%" }}>Partitions</th>
        </tr>
      </thead>
      <tbody>
        {request.assets.map((asset) => (
          <tr key={asset.key} data-testid="request-asset" data-key={asset.key}>
            <td>
              <Link className="link key" to="/asset" search={{ key: asset.key }}>
                {asset.key}
              </Link>
            </td>
            <td className="num">{count(asset.cells)}</td>
            <td className="mid">
              {reasonsOf(asset.by_reason)
                .map(([code, n]) => `${count(n)} ${reasonLook(code).word}`)
                .join(", ")}
            </td>
            <td className="mono">{asset.partitions || "all"}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Actions({ request }: { request: HeldRequestDetail }) {
  const [rejecting, setRejecting] = useState(false);
  const [reason, setReason] = useState("");
  const client = useQueryClient();
  const navigate = useNavigate();
  const again = () => client.invalidateQueries();
  const approve = useMutation({
    mutationFn: () =>
      post<RequestDecision>(`/requests/${request.id}/approve`, {
        revision: request.revision,
        confirm_cells: request.cells,
      }),
    onSuccess: async (done) => {
      await again();
      if (done.run_id !== null) void navigate({ to: "/runs/$runId", params: { runId: String(done.run_id) } });
    },
    onError: again, // it has the new content now
  });
  const reject = useMutation({
    mutationFn: () =>
      post<RequestDecision>(`/requests/${request.id}/reject`, { revision: request.revision, reason: reason.trim() }),
    onSuccess: again,
  });
  return (
    <>
      {approve.error && <Problem error={approve.error} />}
      {reject.error && <Problem error={reject.error} />}
      {rejecting ? (
        <form
          className="row wrap"
          onSubmit={(event) => {
            event.preventDefault();
            if (reason.trim()) reject.mutate();
          }}
        >
          <label className="row grow">
            Why not?
            <input
              className="field grow"
              data-testid="reject-reason"
              value={reason}
              maxLength={2000}
              placeholder="Read when somebody asks why nothing was made"
              // biome-ignore lint/a11y/noAutofocus: the field appeared because of a press; focus stays where the hand is
              autoFocus
              onChange={(event) => setReason(event.target.value)}
            />
          </label>
          <button type="button" className="btn" onClick={() => setRejecting(false)}>
            Keep request
          </button>
          <button
            type="submit"
            className="btn danger"
            data-testid="confirm-reject"
            disabled={!reason.trim()}
            data-tip={reason.trim() ? "The same state is not asked for again; new data is" : "Say why first"}
            aria-busy={reject.isPending}
          >
            Reject {plural(request.cells, "cell")}
          </button>
        </form>
      ) : (
        <p className="row wrap">
          <button
            type="button"
            className="btn primary"
            data-testid="approve-request"
            aria-busy={approve.isPending}
            onClick={() => approve.mutate()}
          >
            Approve and materialize {plural(request.cells, "cell")}
          </button>
          <button type="button" className="btn" data-testid="reject-request" onClick={() => setRejecting(true)}>
            Reject request
          </button>
          <span className="grow" />
          <CopyButton text={`partita requests approve ${request.id}`} what="Copy as CLI" label />
        </p>
      )}
    </>
  );
}
