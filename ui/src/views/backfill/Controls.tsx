// What people do with a backfill while it runs: pause, resume, retry what failed, another pace. In place, no dialog.
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { post } from "../../api/client";
import { cancelPreview } from "../../api/queries";
import type { Backfill, Plan } from "../../api/types";
import { CopyButton } from "../../design/Copy";
import { Problem } from "../../design/Feedback";
import { Icon } from "../../design/Icon";
import { plural } from "../../lib/format";
import { reasonOption } from "../../lib/shell";

type Props = { backfill: Backfill };

/** Pausing asks once what it meets and why; going on needs no question. */
export function Controls({ backfill }: Props) {
  const [asking, setAsking] = useState(false);
  const client = useQueryClient();
  const resume = useMutation({
    mutationFn: () => post(`/backfills/${backfill.id}/resume`, {}),
    onSuccess: () => client.invalidateQueries(),
  });
  if (backfill.paused_by)
    return (
      <>
        <button
          type="button"
          className="btn primary"
          data-testid="resume-backfill"
          aria-busy={resume.isPending}
          onClick={() => !resume.isPending && resume.mutate()}
        >
          <Icon name="runs" size={14} />
          Resume backfill
        </button>
        {resume.error && <Problem error={resume.error} />}
      </>
    );
  if (asking) return <ConfirmPause backfill={backfill} onClose={() => setAsking(false)} />;
  if (!backfill.pausable) return null;
  return (
    <button type="button" className="btn" data-testid="pause-backfill" onClick={() => setAsking(true)}>
      <Icon name="pause" size={14} />
      Pause backfill
    </button>
  );
}

function ConfirmPause({ backfill, onClose }: Props & { onClose: () => void }) {
  const [reason, setReason] = useState("");
  const path = `/backfills/${backfill.id}/pause`;
  const preview = useQuery(cancelPreview(path));
  const client = useQueryClient();
  const pause = useMutation({
    mutationFn: () => post(path, { reason: reason.trim() }),
    onSuccess: () => {
      onClose();
      return client.invalidateQueries();
    },
  });
  const cli = preview.data ? `${preview.data.cli}${reasonOption(reason)}` : "";
  return (
    <form
      className="row wrap"
      aria-label="Pause backfill?"
      onSubmit={(event) => {
        event.preventDefault();
        if (!pause.isPending) pause.mutate();
      }}
    >
      <span className="mid" role="status" data-testid="pause-preview">
        {preview.data?.sentence ?? "Looking what it meets."}
      </span>
      <input
        className="field"
        aria-label="Why (may be left out)"
        placeholder="Why (may be left out)"
        maxLength={2000}
        value={reason}
        onChange={(event) => setReason(event.target.value)}
      />
      <button type="button" className="btn" onClick={onClose}>
        Keep it going
      </button>
      <button
        type="submit"
        className="btn primary"
        data-testid="confirm-pause-backfill"
        aria-busy={pause.isPending}
        // biome-ignore lint/a11y/noAutofocus: the question appeared because of a press; focus stays where the hand is
        autoFocus
      >
        Pause backfill
      </button>
      {cli && <CopyButton text={cli} what="Copy as CLI" />}
      {preview.error && <Problem error={preview.error} />}
      {pause.error && <Problem error={pause.error} />}
    </form>
  );
}

/** Leads to the plan of what is not made, as every launch does. */
export function Retry({ backfill }: Props) {
  const navigate = useNavigate();
  const preview = useMutation({
    mutationFn: () => post<Plan>(`/backfills/${backfill.id}/retry`, {}),
    onSuccess: (plan) => navigate({ to: "/plan", search: { id: String(plan.id), as: "retry" } }),
  });
  return (
    <>
      <button
        type="button"
        className="btn"
        data-testid="retry-backfill"
        aria-busy={preview.isPending}
        onClick={() => !preview.isPending && preview.mutate()}
      >
        <Icon name="reload" size={14} />
        Preview retry of {plural(backfill.unmade, "cell")}
      </button>
      {preview.error && <Problem error={preview.error} />}
    </>
  );
}

/** Tasks at once and priority, changed while it runs. */
export function Settings({ backfill }: Props) {
  const [open, setOpen] = useState(false);
  const [maxActive, setMaxActive] = useState(backfill.max_active === null ? "" : String(backfill.max_active));
  const [priority, setPriority] = useState(String(backfill.priority));
  const client = useQueryClient();
  const change = useMutation({
    mutationFn: () =>
      post(`/backfills/${backfill.id}/settings`, {
        max_active: maxActive ? Number(maxActive) : null,
        priority: Number(priority) || 0,
      }),
    onSuccess: () => {
      setOpen(false);
      return client.invalidateQueries();
    },
  });
  if (!open)
    return (
      <button type="button" className="btn small" data-testid="set-backfill" onClick={() => setOpen(true)}>
        Change pace
      </button>
    );
  return (
    <form
      className="row wrap"
      aria-label="Change pace"
      onSubmit={(event) => {
        event.preventDefault();
        if (!change.isPending) change.mutate();
      }}
    >
      <label className="row">
        <span className="quiet">Tasks at once</span>
        <input
          className="field bf-number"
          inputMode="numeric"
          placeholder="no limit"
          data-testid="set-max-active"
          value={maxActive}
          onChange={(event) => setMaxActive(event.target.value.replace(/\D/g, ""))}
        />
      </label>
      <label className="row">
        <span className="quiet">Priority</span>
        <input
          className="field bf-number"
          inputMode="numeric"
          value={priority}
          onChange={(event) => setPriority(event.target.value.replace(/[^\d-]/g, ""))}
        />
      </label>
      <button type="button" className="btn small" onClick={() => setOpen(false)}>
        Keep the pace
      </button>
      <button type="submit" className="btn small primary" data-testid="confirm-set" aria-busy={change.isPending}>
        Change pace
      </button>
      {change.error && <Problem error={change.error} />}
    </form>
  );
}
