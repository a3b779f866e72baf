// Marking and wiping on a person's word: what it changes, why, and a button that repeats the count. In place, no dialog.
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { post } from "../../api/client";
import type { ByHandDone, ByHandPreview } from "../../api/types";
import { Problem } from "../../design/Feedback";
import { plural } from "../../lib/format";
import { Confirm } from "../Confirm";

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
          label={DO[asked.verb](plural(preview.data.cells, "cell"))}
          sentence={preview.data.sentence}
          keep="Leave it as it is"
          danger={asked.verb !== "materialized"}
          reason="must"
          nothing={preview.data.cells === 0}
          cli={preview.data.cli}
          testid="by-hand"
          onAgain={() => preview.mutate(asked)}
          onDo={async (reason) =>
            setDone(await post<ByHandDone>("/by-hand", { ...asked, reason, confirm_cells: preview.data.cells }))
          }
          onClose={() => setAsked(null)}
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
