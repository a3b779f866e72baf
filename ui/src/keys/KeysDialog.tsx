// Adding and removing keys: what would happen is shown before the button that repeats it, and nothing happens before that.
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useDeferredValue, useId, useState } from "react";
import { del, post } from "../api/client";
import { previewKeys } from "../api/queries";
import type { KeysDone, KeysPreview } from "../api/types";
import { Dialog } from "../app/Dialog";
import { CopyButton } from "../design/Copy";
import { Problem } from "../design/Feedback";
import { describeCounts } from "../design/StateChip";
import { Time } from "../design/Time";
import { count, plural } from "../lib/format";
import { keysOf, metadataOf, secondsOf, UNITS, type Unit } from "./text";

type Props = { verb: "add" | "remove"; scheme: string; keys: string[]; onClose: () => void; onDone: () => void };

export function KeysDialog({ verb, scheme, keys, onClose, onDone }: Props) {
  const [text, setText] = useState("");
  const [ttl, setTtl] = useState("");
  const [unit, setUnit] = useState<Unit>("days");
  const [noted, setNoted] = useState("");
  const client = useQueryClient();
  const adding = verb === "add";
  const wanted = adding ? keysOf(text) : keys;
  const ttl_s = secondsOf(ttl, unit);
  const metadata = metadataOf(noted);
  const now = JSON.stringify({ verb, scheme, keys: wanted, ttl_s: adding ? ttl_s : null });
  const asked = useDeferredValue(now);
  const preview = useQuery({ ...previewKeys(asked), enabled: wanted.length > 0 && asked === now });
  const current = preview.data !== undefined && !preview.isPlaceholderData && asked === now;
  const change = useMutation({
    mutationFn: (shown: KeysPreview) =>
      adding
        ? post<KeysDone>("/dynamic/keys", { scheme, keys: wanted, ttl_s, metadata, confirm_new: shown.new })
        : del<KeysDone>("/dynamic/keys", { scheme, keys: wanted }),
    onSuccess: () => {
      // The dialog first: its preview of what is done now would be refused.
      onDone();
      client.removeQueries({ queryKey: ["keys-preview"] });
      return client.invalidateQueries();
    },
    onError: () => void client.invalidateQueries({ queryKey: ["keys-preview"] }),
  });
  const title = adding ? `Add keys to ${scheme}` : `Remove keys from ${scheme}`;
  return (
    <Dialog label={title} onClose={onClose} className="keys-dialog">
      <h2>{title}</h2>
      {adding ? (
        <Fields {...{ text, setText, ttl, setTtl, unit, setUnit, noted, setNoted }} bad={metadata === null} />
      ) : (
        <p className="keys-list key">{wanted.join(", ")}</p>
      )}
      <div className="keys-preview" aria-live="polite">
        {wanted.length === 0 ? (
          <p className="quiet">What would be added is shown here. Nothing happens before you confirm it.</p>
        ) : preview.error ? (
          <Problem error={preview.error} />
        ) : preview.data ? (
          <Shown shown={preview.data} />
        ) : (
          <div className="skeleton" style={{ height: 72 }} />
        )}
        {change.error && <Problem error={change.error} />}
      </div>
      <footer className="row">
        {preview.data && wanted.length > 0 && <CopyButton text={preview.data.cli} what="Copy as CLI" label />}
        <span className="grow" />
        <button type="button" className="btn" onClick={onClose}>
          Keep keys as they are
        </button>
        {current && !preview.error && metadata !== null && (
          <button
            type="button"
            className={adding ? "btn primary" : "btn danger"}
            data-testid="confirm-keys"
            aria-busy={change.isPending}
            onClick={() => {
              if (!change.isPending) change.mutate(preview.data);
            }}
          >
            {wordOf(preview.data)}
          </button>
        )}
      </footer>
    </Dialog>
  );
}

function wordOf(shown: KeysPreview): string {
  if (shown.verb === "remove") return `Remove ${plural(shown.new, "key")}`;
  return shown.new > 0 ? `Add ${plural(shown.new, "key")}` : `Prolong ${plural(shown.known, "key")}`;
}

type FieldsProps = {
  text: string;
  setText: (text: string) => void;
  ttl: string;
  setTtl: (text: string) => void;
  unit: Unit;
  setUnit: (unit: Unit) => void;
  noted: string;
  setNoted: (text: string) => void;
  bad: boolean;
};

function Fields({ text, setText, ttl, setTtl, unit, setUnit, noted, setNoted, bad }: FieldsProps) {
  const id = useId();
  return (
    <div className="keys-fields">
      <label className="wide" htmlFor={`${id}-keys`}>
        <span className="quiet">Keys, one a line, taken as they stand</span>
        <textarea
          id={`${id}-keys`}
          className="field mono"
          rows={5}
          spellCheck={false}
          value={text}
          data-testid="keys-text"
          // biome-ignore lint/a11y/noAutofocus: the dialog was opened to type here
          autoFocus
          onChange={(event) => setText(event.target.value)}
        />
      </label>
      <label htmlFor={`${id}-ttl`}>
        <span className="quiet">Time to live</span>
        <span className="row">
          <input
            id={`${id}-ttl`}
            className="field"
            inputMode="decimal"
            placeholder="as the scheme says"
            value={ttl}
            onChange={(event) => setTtl(event.target.value.replace(/[^\d.]/g, ""))}
          />
          <select
            className="field"
            aria-label="Unit"
            value={unit}
            onChange={(event) => setUnit(event.target.value as Unit)}
          >
            {Object.keys(UNITS).map((each) => (
              <option key={each}>{each}</option>
            ))}
          </select>
        </span>
      </label>
      <label htmlFor={`${id}-metadata`}>
        <span className="quiet">Metadata</span>
        <input
          id={`${id}-metadata`}
          className="field mono"
          placeholder="name=value, name=value"
          aria-invalid={bad}
          value={noted}
          onChange={(event) => setNoted(event.target.value)}
        />
        {bad && <span className="tone-red">Each is name=value.</span>}
      </label>
    </div>
  );
}

function Shown({ shown }: { shown: KeysPreview }) {
  return (
    <>
      <p>{shown.sentence}.</p>
      <p className="mid">
        {shown.scheme.name} would have {count(shown.present_after)} of at most {plural(shown.scheme.cap, "key")}
        {shown.expires_at && (
          <>
            ; these expire <Time at={shown.expires_at} />
          </>
        )}
        .
      </p>
      <table className="table keys-impacts">
        <tbody>
          {shown.impacts.map((one) => (
            <tr key={one.asset}>
              <td className="key">{one.asset}</td>
              <td>{plural(one.cells, "cell")}</td>
              <td className="mid">
                {describeCounts(one.counts)}
                {one.follows && one.cells > 0 ? ", automation asks for them" : ""}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
}
