// Marking and wiping on a person's word: what it changes, why, and a button that repeats the count. In place, no dialog.
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { post } from "../../api/client";
import type { ByHandDone, ByHandPreview } from "../../api/types";
import { CopyButton } from "../../design/Copy";
import { Problem } from "../../design/Feedback";
import { plural } from "../../lib/format";
import { reasonOption } from "../../lib/shell";

type Verb = ByHandPreview["verb"];
type Asked = { verb: Verb; selection: string; partitions: string };
type Props = { selection: string; partitions: string; published: boolean };

const LABEL: Record<Verb, string> = {
  materialized: "Mark as materialized…",
  failed: "Mark as failed…",
  wipe: "Wipe…",
};
const DO: Record<Verb, (cells: string) => string> = {
  materialized: (cells) => `Mark ${cells} as materialized`,
  failed: (cells) => `Mark ${cells} as failed`,
  wipe: (cells) => `Wipe ${cells}`,
};

export function ByHand({ selection, partitions, published }: Props) {
  const [asked, setAsked] = useState<Asked | null>(null);
  const [done, setDone] = useState<ByHandDone | null>(null);
  const client = useQueryClient();
  const preview = useMutation({
    mutationFn: (request: Asked) => post<ByHandPreview>("/by-hand/preview", request),
    onSuccess: (_, request) => setAsked(request),
  });
  const refresh = () => client.invalidateQueries();
  const verbs: Verb[] = published ? ["materialized", "failed", "wipe"] : ["materialized", "failed"];
  return (
    <section data-testid="by-hand">
      <h3>By hand</h3>
      {done ? (
        <Undo
          done={done}
          onDone={() => {
            setDone(null);
            void refresh();
          }}
        />
      ) : asked && preview.data ? (
        <Confirm
          asked={asked}
          shown={preview.data}
          onAgain={() => preview.mutate(asked)}
          onClose={() => setAsked(null)}
          onDone={(made) => {
            setAsked(null);
            setDone(made);
            void refresh();
          }}
        />
      ) : (
        <p className="row wrap">
          {verbs.map((verb) => (
            <button
              key={verb}
              type="button"
              className="btn small"
              data-testid={`by-hand-${verb}`}
              aria-busy={preview.isPending}
              onClick={() => !preview.isPending && preview.mutate({ verb, selection, partitions })}
            >
              {LABEL[verb]}
            </button>
          ))}
        </p>
      )}
      {preview.error && <Problem error={preview.error} />}
    </section>
  );
}

function Undo({ done, onDone }: { done: ByHandDone; onDone: () => void }) {
  const undo = useMutation({ mutationFn: () => post<ByHandDone>(`/audit/${done.entry}/undo`), onSuccess: onDone });
  return (
    <>
      <p className="row wrap" role="status">
        <span className="grow">Done for {plural(done.cells, "cell")}.</span>
        <button
          type="button"
          className="btn small"
          data-testid="undo-by-hand"
          aria-busy={undo.isPending}
          onClick={() => !undo.isPending && undo.mutate()}
        >
          Take it back
        </button>
      </p>
      {undo.error && <Problem error={undo.error} />}
    </>
  );
}

type ConfirmProps = {
  asked: Asked;
  shown: ByHandPreview;
  onAgain: () => void;
  onClose: () => void;
  onDone: (done: ByHandDone) => void;
};

function Confirm({ asked, shown, onAgain, onClose, onDone }: ConfirmProps) {
  const [reason, setReason] = useState("");
  const change = useMutation({
    mutationFn: () => post<ByHandDone>("/by-hand", { ...asked, reason: reason.trim(), confirm_cells: shown.cells }),
    onSuccess: onDone,
  });
  const ready = reason.trim() !== "" && shown.cells > 0;
  return (
    <form
      className="stack"
      aria-label={LABEL[asked.verb]}
      onSubmit={(event) => {
        event.preventDefault();
        if (ready && !change.isPending) change.mutate();
      }}
    >
      <p data-testid="by-hand-preview">{shown.sentence}</p>
      <label className="row">
        <span className="quiet">Why</span>
        <input
          className="field grow"
          data-testid="by-hand-reason"
          value={reason}
          maxLength={2000}
          placeholder="repaired in the source"
          // biome-ignore lint/a11y/noAutofocus: the field appeared because of a press; focus stays where the hand is
          autoFocus
          onChange={(event) => setReason(event.target.value)}
        />
      </label>
      <p className="row wrap">
        <button
          type="submit"
          className={`btn small ${asked.verb === "materialized" ? "primary" : "danger"}`}
          data-testid="confirm-by-hand"
          disabled={!ready}
          data-tip={ready ? undefined : "Say why first: it is read later"}
          aria-busy={change.isPending}
        >
          {DO[asked.verb](plural(shown.cells, "cell"))}
        </button>
        <button type="button" className="btn small" onClick={onClose}>
          Leave it as it is
        </button>
        <span className="grow" />
        <CopyButton text={`${shown.cli}${reasonOption(reason.trim() || "why")}`} what="Copy as CLI" />
      </p>
      {change.error && (
        <Problem error={change.error}>
          <button type="button" className="btn small" onClick={onAgain}>
            Look again
          </button>
        </Problem>
      )}
    </form>
  );
}
