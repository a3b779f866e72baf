// Asking once, in place, before something is done: what it meets, why, and a button that says it. No dialog.
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { flushSync } from "react-dom";
import { CopyButton } from "../design/Copy";
import { Problem } from "../design/Feedback";
import { reasonOption } from "../lib/shell";

type Props = {
  /** The verb with its object, on the button. */
  label: string;
  /** What it meets; null while that is looked up. */
  sentence: ReactNode;
  /** The way back, on the other button. */
  keep: string;
  danger?: boolean;
  /** Whether a reason has to be given; `null`: none is asked for. */
  reason?: "may" | "must" | null;
  /** What stands in the empty field of the reason. */
  hint?: string;
  /** There is nothing to do: the way back alone is offered. */
  nothing?: boolean;
  /** Without the reason, which is added. */
  cli?: string;
  testid: string;
  /** Why what it meets cannot be told: nothing is done then. */
  error?: unknown;
  /** Looks again what it meets, after a refusal. */
  onAgain?: () => void;
  onDo: (reason: string) => Promise<unknown>;
  onClose: () => void;
  /** Choices that belong to it. */
  children?: ReactNode;
};

const HINTS = { may: "Why (may be left out)", must: "Why: it is read later" };

export function Confirm({
  label,
  sentence,
  keep,
  danger,
  reason = "may",
  hint,
  nothing = false,
  cli,
  testid,
  error,
  onAgain,
  onDo,
  onClose,
  children,
}: Props) {
  const [why, setWhy] = useState("");
  const client = useQueryClient();
  const doing = useMutation({
    mutationFn: () => onDo(why.trim()),
    onSuccess: () => {
      flushSync(onClose); // what it meets is not asked again for what is done
      return client.invalidateQueries();
    },
  });
  const missing = reason === "must" && !why.trim();
  const ready = sentence !== null && !missing && !nothing;
  return (
    <form
      className="confirm"
      aria-label={`${label}?`}
      data-testid={`${testid}-form`}
      onSubmit={(event) => {
        event.preventDefault();
        if (ready && !doing.isPending) doing.mutate();
      }}
      onKeyDown={(event) => {
        if (event.key === "Escape") onClose();
      }}
    >
      {error ? (
        <Problem error={error} onRetry={onAgain} />
      ) : (
        <div className="confirm-says" role="status" data-testid={`${testid}-preview`}>
          {sentence ?? "Looking what it meets."}
        </div>
      )}
      {children}
      <p className="row wrap">
        {reason !== null && !nothing && (
          <input
            className="field grow confirm-why"
            aria-label={reason === "must" ? "Why" : HINTS.may}
            placeholder={hint ?? HINTS[reason]}
            data-testid={`${testid}-reason`}
            maxLength={2000}
            value={why}
            // biome-ignore lint/a11y/noAutofocus: the question appeared because of a press; focus stays where the hand is
            autoFocus={reason === "must"}
            onChange={(event) => setWhy(event.target.value)}
          />
        )}
        <button type="button" className="btn small" onClick={onClose}>
          {keep}
        </button>
        {!nothing && (
          <button
            type="submit"
            className={`btn small ${danger ? "danger" : "primary"}`}
            data-testid={`confirm-${testid}`}
            aria-busy={doing.isPending || (sentence === null && !error)}
            aria-disabled={sentence === null} // what is done is what was shown
            disabled={missing}
            data-tip={missing ? "Say why first: it is read later" : undefined}
            // biome-ignore lint/a11y/noAutofocus: the question appeared because of a press; focus stays where the hand is
            autoFocus={reason !== "must"}
          >
            {label}
          </button>
        )}
        {cli && <CopyButton text={`${cli}${reasonOption(why)}`} what="Copy as CLI" />}
      </p>
      {doing.error && (
        <Problem error={doing.error}>
          {onAgain && (
            <button
              type="button"
              className="btn small"
              onClick={() => {
                doing.reset();
                onAgain();
              }}
            >
              Look again
            </button>
          )}
        </Problem>
      )}
    </form>
  );
}
