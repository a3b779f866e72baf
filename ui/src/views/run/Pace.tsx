// How many tasks of a run are active at once: said, and changed while it runs. In place, no dialog.
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { post } from "../../api/client";
import type { RunDetail } from "../../api/types";
import { CopyButton } from "../../design/Copy";
import { Problem } from "../../design/Feedback";
import { count } from "../../lib/format";

export function Pace({ run, open }: { run: RunDetail; open: boolean }) {
  const [changing, setChanging] = useState(false);
  if (changing && open) return <Change run={run} onClose={() => setChanging(false)} />;
  const said = run.max_active === null ? null : `At most ${count(run.max_active)} at once`;
  return (
    <span className="row" data-testid="run-pace">
      {said}
      {open && run.backfill_id === null && (
        <button
          type="button"
          className="btn small"
          data-testid="set-run"
          data-tip="How many of its tasks are active at once"
          onClick={() => setChanging(true)}
        >
          Change pace
        </button>
      )}
    </span>
  );
}

function Change({ run, onClose }: { run: RunDetail; onClose: () => void }) {
  const [maxActive, setMaxActive] = useState(run.max_active === null ? "" : String(run.max_active));
  const client = useQueryClient();
  const change = useMutation({
    mutationFn: () => post(`/runs/${run.id}/settings`, { max_active: maxActive ? Number(maxActive) : null }),
    onSuccess: () => {
      onClose();
      return client.invalidateQueries();
    },
  });
  return (
    <form
      className="row wrap"
      aria-label="Change pace"
      onSubmit={(event) => {
        event.preventDefault();
        if (!change.isPending) change.mutate();
      }}
      onKeyDown={(event) => {
        if (event.key === "Escape") onClose();
      }}
    >
      <label className="row" data-tip="What is queued above it goes back in line; what runs goes on.">
        <span className="quiet">Tasks at once</span>
        <input
          className="field run-number"
          inputMode="numeric"
          placeholder="no limit"
          data-testid="set-max-active"
          // biome-ignore lint/a11y/noAutofocus: the field appeared because of a press; focus stays where the hand is
          autoFocus
          value={maxActive}
          onChange={(event) => setMaxActive(event.target.value.replace(/\D/g, ""))}
        />
      </label>
      <button type="button" className="btn small" onClick={onClose}>
        Keep the pace
      </button>
      <button type="submit" className="btn small primary" data-testid="confirm-pace" aria-busy={change.isPending}>
        Change the pace
      </button>
      <CopyButton text={`partita runs set ${run.id} --max-active ${maxActive || "none"}`} what="Copy as CLI" />
      {change.error && <Problem error={change.error} />}
    </form>
  );
}
