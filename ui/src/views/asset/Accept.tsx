// Accepting changed code instead of rebuilding: preview, reason, a button that repeats the count, and undo. In place, no dialog.
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { post } from "../../api/client";
import type { Accepted, AcceptPreview } from "../../api/types";
import { Problem } from "../../design/Feedback";
import { plural } from "../../lib/format";
import { shellQuoted } from "../../lib/shell";
import { Confirm } from "../Confirm";
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
        label={`Accept ${plural(preview.data.cells, "cell")}`}
        sentence={preview.data.sentence}
        keep={`Leave ${preview.data.cells > 0 ? "them stale" : "it"}`}
        reason="must"
        hint="Why nothing needs to be rebuilt"
        nothing={preview.data.cells === 0}
        cli={`partita accept ${shellQuoted(asked.selection)} --partitions ${shellQuoted(asked.partitions)}`}
        testid="accept"
        onAgain={() => preview.mutate(asked)}
        onDo={async (reason) =>
          setDone(await post<Accepted>("/acceptances", { ...asked, reason, confirm_cells: preview.data.cells }))
        }
        onClose={() => setAsked(null)}
      >
        {preview.data.assets.map((one) => (
          <div key={one.key} className="panel-item">
            <p className="row wrap">
              <span className="mono">{one.key}</span>
              <span className="quiet">{one.partitions}</span>
            </p>
            {one.change && <CodeChanges change={one.change} />}
            {one.dependencies > 0 && <p className="quiet">What its inputs hold now counts as consumed.</p>}
          </div>
        ))}
      </Confirm>
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
