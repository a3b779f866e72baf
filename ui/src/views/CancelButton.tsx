// Cancelling asks once, in place: what will stop, and the way back. No dialog.
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { post } from "../api/client";
import { Problem } from "../design/Feedback";
import { Icon } from "../design/Icon";

type Props = { path: string; noun: "run" | "backfill"; what: string; testid: string };

export function CancelButton({ path, noun, what, testid }: Props) {
  const [asking, setAsking] = useState(false);
  const client = useQueryClient();
  const cancel = useMutation({
    mutationFn: () => post(path),
    onSuccess: () => {
      setAsking(false);
      return client.invalidateQueries();
    },
  });
  if (!asking)
    return (
      <button type="button" className="btn danger" data-testid={testid} onClick={() => setAsking(true)}>
        <Icon name="stop" size={14} />
        Cancel {noun}
      </button>
    );
  return (
    <span className="row" role="group" aria-label={`Cancel ${noun}?`}>
      <span className="mid">What is published stays.</span>
      <button type="button" className="btn" onClick={() => setAsking(false)}>
        Keep {noun}
      </button>
      <button
        type="button"
        className="btn danger"
        data-testid={`confirm-${testid}`}
        aria-busy={cancel.isPending}
        // biome-ignore lint/a11y/noAutofocus: the question appeared because of a press; focus stays where the hand is
        autoFocus
        onClick={() => cancel.mutate()}
      >
        Cancel {what}
      </button>
      {cancel.error && <Problem error={cancel.error} />}
    </span>
  );
}
