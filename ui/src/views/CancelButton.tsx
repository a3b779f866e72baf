// Cancelling asks once, in place: what will stop, why, and the way back. No dialog.
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { post } from "../api/client";
import { cancelPreview } from "../api/queries";
import { CopyButton } from "../design/Copy";
import { Problem } from "../design/Feedback";
import { Icon } from "../design/Icon";
import { reasonOption } from "../lib/shell";

type Props = { path: string; noun: "run" | "task" | "backfill"; what: string; testid: string; small?: boolean };

export function CancelButton({ path, noun, what, testid, small = false }: Props) {
  const [asking, setAsking] = useState(false);
  const [reason, setReason] = useState("");
  const preview = useQuery({ ...cancelPreview(path), enabled: asking });
  const client = useQueryClient();
  const cancel = useMutation({
    mutationFn: () => post(path, { reason: reason.trim() }),
    onSuccess: () => {
      setAsking(false);
      return client.invalidateQueries();
    },
  });
  const size = small ? "small" : "";
  if (!asking)
    return (
      <button type="button" className={`btn danger ${size}`} data-testid={testid} onClick={() => setAsking(true)}>
        <Icon name="stop" size={14} />
        Cancel {noun}
      </button>
    );
  const cli = preview.data ? `${preview.data.cli}${reasonOption(reason)}` : "";
  return (
    <form
      className="row wrap cancel"
      aria-label={`Cancel ${noun}?`}
      onSubmit={(event) => {
        event.preventDefault();
        if (!cancel.isPending) cancel.mutate();
      }}
    >
      <span className="mid" data-testid="cancel-preview" role="status">
        {preview.data?.sentence ?? "What is published stays."}
      </span>
      <input
        className="field"
        aria-label="Why (may be left out)"
        placeholder="Why (may be left out)"
        maxLength={2000}
        value={reason}
        onChange={(event) => setReason(event.target.value)}
      />
      <button type="button" className={`btn ${size}`} onClick={() => setAsking(false)}>
        Keep {noun}
      </button>
      <button
        type="submit"
        className={`btn danger ${size}`}
        data-testid={`confirm-${testid}`}
        aria-busy={cancel.isPending}
        // biome-ignore lint/a11y/noAutofocus: the question appeared because of a press; focus stays where the hand is
        autoFocus
      >
        Cancel {what}
      </button>
      {cli && <CopyButton text={cli} what="Copy as CLI" />}
      {cancel.error && <Problem error={cancel.error} />}
      {preview.error && <Problem error={preview.error} />}
    </form>
  );
}
