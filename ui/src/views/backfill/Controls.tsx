// What people do with a backfill while it runs: pause, resume, retry what failed. In place, no dialog.
import { useMutation, useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { post } from "../../api/client";
import { cancelPreview } from "../../api/queries";
import type { Backfill, Plan } from "../../api/types";
import { Problem } from "../../design/Feedback";
import { Icon } from "../../design/Icon";
import { count, plural } from "../../lib/format";
import { totalsOf } from "../Backfills";
import { Confirm } from "../Confirm";

type Props = { backfill: Backfill };

/** Pausing tells what it meets; going on tells at which pace. */
export function Controls({ backfill }: Props) {
  const [asking, setAsking] = useState(false);
  const close = () => setAsking(false);
  if (asking)
    return backfill.paused_by ? (
      <Resume backfill={backfill} onClose={close} />
    ) : (
      <Pause backfill={backfill} onClose={close} />
    );
  if (backfill.paused_by)
    return (
      <button type="button" className="btn primary" data-testid="resume-backfill" onClick={() => setAsking(true)}>
        <Icon name="runs" size={14} />
        Resume backfill
      </button>
    );
  if (!backfill.pausable) return null;
  return (
    <button type="button" className="btn" data-testid="pause-backfill" onClick={() => setAsking(true)}>
      <Icon name="pause" size={14} />
      Pause backfill
    </button>
  );
}

type Asked = Props & { onClose: () => void };

function Pause({ backfill, onClose }: Asked) {
  const path = `/backfills/${backfill.id}/pause`;
  const preview = useQuery(cancelPreview(path));
  return (
    <Confirm
      label="Pause backfill"
      sentence={preview.data?.sentence ?? null}
      keep="Keep it going"
      cli={preview.data?.cli}
      testid="pause-backfill"
      error={preview.error}
      onAgain={() => void preview.refetch()}
      onDo={(reason) => post(path, { reason })}
      onClose={onClose}
    />
  );
}

function Resume({ backfill, onClose }: Asked) {
  const { total, done } = totalsOf(backfill);
  const pace =
    backfill.max_active === null
      ? "as many at once as the pools admit"
      : `at most ${count(backfill.max_active)} at once`;
  return (
    <Confirm
      label="Resume backfill"
      sentence={`${plural(Math.max(0, total - done), "open cell")} may be made: ${pace}, at priority ${backfill.priority}.`}
      keep="Keep it paused"
      cli={`partita backfill resume ${backfill.id}`}
      testid="resume-backfill"
      onDo={(reason) => post(`/backfills/${backfill.id}/resume`, { reason })}
      onClose={onClose}
    />
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
