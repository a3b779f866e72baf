// Accepting changed code instead of rebuilding: preview, reason, a button that repeats the count, and undo. In place, no dialog.
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { post } from "../../api/client";
import type { Accepted, AcceptPreview } from "../../api/types";
import { CopyButton } from "../../design/Copy";
import { Problem } from "../../design/Feedback";
import { plural } from "../../lib/format";
import { reasonOption } from "../../lib/shell";
import { CodeChanges } from "./CodeChanges";

type Asked = { selection: string; partitions: string };

type Props = Asked & { label: string; offered: boolean };

/** Mounted also when there is nothing to accept (`offered` false): the way to take the last acceptance back stays. */
export function Accept({ selection, partitions, label, offered }: Props) {
  const [asked, setAsked] = useState<Asked | null>(null);
  const [done, setDone] = useState<Accepted | null>(null);
  const client = useQueryClient();
  const preview = useMutation({
    mutationFn: (request: Asked) => post<AcceptPreview>("/acceptances/preview", request),
    onSuccess: (_, request) => setAsked(request),
  });
  const refresh = () => client.invalidateQueries();
  const undo = useMutation({
    mutationFn: (id: number) => post<Accepted>(`/acceptances/${id}/undo`),
    onSuccess: () => {
      setDone(null);
      void refresh();
    },
  });
  if (done)
    return (
      <div className="accept" data-testid="accepted" role="status">
        <p className="row wrap">
          <span className="grow">
            Accepted {plural(done.cells, "cell")}
            {done.passed_over > 0 && `; ${done.passed_over} had been made again meanwhile`}.
          </span>
          <button
            type="button"
            className="btn small"
            aria-busy={undo.isPending}
            onClick={() => !undo.isPending && undo.mutate(done.id)}
          >
            Undo acceptance {done.id}
          </button>
        </p>
        {undo.error && <Problem error={undo.error} />}
      </div>
    );
  if (asked && preview.data)
    return (
      <Confirm
        asked={asked}
        shown={preview.data}
        onAgain={() => preview.mutate(asked)}
        onClose={() => setAsked(null)}
        onDone={(accepted) => {
          setAsked(null);
          setDone(accepted);
          void refresh();
        }}
      />
    );
  if (!offered) return null;
  return (
    <>
      <button
        type="button"
        className="btn small"
        aria-busy={preview.isPending}
        data-tip="Record the present code as equivalent, so that nothing is made again for it"
        onClick={() => !preview.isPending && preview.mutate({ selection, partitions })}
      >
        {label}
      </button>
      {preview.error && <Problem error={preview.error} />}
    </>
  );
}

type ConfirmProps = {
  asked: Asked;
  shown: AcceptPreview;
  onAgain: () => void;
  onClose: () => void;
  onDone: (accepted: Accepted) => void;
};

function Confirm({ asked, shown, onAgain, onClose, onDone }: ConfirmProps) {
  const [reason, setReason] = useState("");
  const accept = useMutation({
    mutationFn: () => post<Accepted>("/acceptances", { ...asked, reason: reason.trim(), confirm_cells: shown.cells }),
    onSuccess: onDone,
  });
  const ready = reason.trim() !== "";
  const cli = `partita accept '${asked.selection}' --partitions '${asked.partitions}'${reasonOption(reason.trim() || "why")}`;
  return (
    <form
      className="accept"
      data-testid="accept-preview"
      aria-label="Accept changed code"
      onSubmit={(event) => {
        event.preventDefault();
        if (ready && !accept.isPending) accept.mutate();
      }}
    >
      <p>{shown.sentence}</p>
      {shown.assets.map((one) => (
        <div key={one.key} className="panel-item">
          <p className="row wrap">
            <span className="mono">{one.key}</span>
            <span className="quiet">{one.partitions}</span>
          </p>
          {one.change && <CodeChanges change={one.change} />}
          {one.dependencies > 0 && <p className="quiet">What its inputs hold now counts as consumed.</p>}
        </div>
      ))}
      {shown.cells > 0 && (
        <label>
          <span className="quiet">Why nothing needs to be rebuilt</span>
          <input
            className="field"
            value={reason}
            placeholder="only a log line changed"
            onChange={(event) => setReason(event.target.value)}
          />
        </label>
      )}
      <p className="row wrap">
        {shown.cells > 0 && (
          <button type="submit" className="btn primary" disabled={!ready} aria-busy={accept.isPending}>
            Accept {plural(shown.cells, "cell")}
          </button>
        )}
        <button type="button" className="btn" onClick={onClose}>
          Leave {shown.cells > 0 ? "them stale" : "it"}
        </button>
        {shown.cells > 0 && !ready && <span className="quiet">Say why first: it is read later.</span>}
        <span className="grow" />
        {shown.cells > 0 && <CopyButton text={cli} what="Copy as CLI" label />}
      </p>
      {accept.error && (
        <Problem error={accept.error}>
          <button type="button" className="btn small" onClick={onAgain}>
            Look again
          </button>
        </Problem>
      )}
    </form>
  );
}
