// What is selected, as counts and as text, and the one button. The text follows the drag, and the drag's light follows
// the text; the API alone counts.
import { useQuery } from "@tanstack/react-query";
import { useDeferredValue, useEffect, useState } from "react";
import { resolve } from "../api/queries";
import { Icon } from "../design/Icon";
import { StateCounts } from "../design/StateChip";
import { count } from "../lib/format";
import { usePlanPreview } from "../plan/preview";
import { planSearch } from "../plan/request";

type Props = {
  assetKey: string;
  /** The text shown: of the drag in progress, else of the URL. */
  text: string;
  dragging: boolean;
  partitioned: boolean;
  onText: (text: string) => void;
};

const SETTLE_MS = 250;

export function SelectionBar({ assetKey, text, dragging, partitioned, onText }: Props) {
  const [typed, setTyped] = useState<string | null>(null);
  const shown = typed ?? text;
  const settled = useDeferredValue(text);
  const resolved = useQuery({ ...resolve(assetKey, settled), enabled: partitioned && settled !== "" });
  const refusal = resolved.data?.error ?? (resolved.error ? resolved.error : null);

  useEffect(() => {
    if (typed === null) return;
    if (typed === text) return setTyped(null);
    const timer = window.setTimeout(() => onText(typed), SETTLE_MS);
    return () => window.clearTimeout(timer);
  }, [typed, text, onText]);
  useEffect(() => {
    if (dragging) setTyped(null);
  }, [dragging]);

  const { preview, pending, refused } = usePlanPreview();
  const n = resolved.data && !refusal ? resolved.data.count : null;
  const many = partitioned && (n === null || n > 1);
  const message =
    typeof refusal === "string" ? refusal : refusal && "what" in refusal ? refusal.what : (refusal as Error)?.message;
  const fix = refusal && typeof refusal === "object" && "fix" in refusal ? refusal.fix : null;

  return (
    <section className="selection-bar" data-testid="selection-bar" aria-label="Selection">
      {partitioned ? (
        <>
          <strong data-testid="selection-count" aria-live="polite">
            {refusal ? "Nothing" : n === null ? "…" : count(n)} selected
          </strong>
          <span className="selection-text">
            <input
              className="field mono"
              data-testid="selection-text"
              aria-label="Selection as text"
              aria-invalid={refusal ? true : undefined}
              spellCheck={false}
              value={shown}
              data-tip={"KEY, FROM..TO, all, latest N, several with commas.\nTwo dimensions: time=FROM..TO; origin=KEY"}
              onChange={(event) => setTyped(event.target.value)}
              onBlur={() => typed !== null && onText(typed)}
              onKeyDown={(event) => {
                if (event.key === "Enter" && typed !== null) onText(typed);
                if (event.key === "Escape") onText("");
              }}
            />
          </span>
          {resolved.data && !refusal && <StateCounts counts={resolved.data.counts} label="Selected by state" />}
          {refusal && (
            <span className="refusal" role="alert" data-testid="selection-error">
              <span className="tone-red">{message}</span>
              {fix && <span className="mid">{fix}</span>}
            </span>
          )}
        </>
      ) : (
        <strong>The whole asset</strong>
      )}
      <span className="grow" />
      {partitioned && (
        <button
          type="button"
          className="btn bare icon"
          aria-label="Clear selection"
          data-tip="Clear selection (Esc)"
          onClick={() => onText("")}
        >
          <Icon name="close" />
        </button>
      )}
      <button
        type="button"
        className="btn primary big"
        data-testid="preview-plan"
        aria-busy={pending}
        onClick={() =>
          preview(
            planSearch({
              selection: assetKey,
              partitions: partitioned ? shown : undefined,
              as: many ? "backfill" : "run",
            }),
          )
        }
      >
        Preview plan
      </button>
      {refused}
    </section>
  );
}
