// A state as glyph and word, alone, with a count, or as a filter; and the stacked mini bar of counts.

import type { CellState, Counts } from "../api/types";
import { count } from "../lib/format";
import { FilterChip } from "./FilterChip";
import { StateGlyph } from "./StateGlyph";
import { BAR_ORDER, entries, LOOKS, lookKey, totalOf, wordOf } from "./states";

export function StateChip({ state, n }: { state: string; n?: number }) {
  const look = LOOKS[lookKey(state)];
  return (
    <span className="chip" data-testid="state-chip" data-state={state}>
      <StateGlyph state={state} />
      {n !== undefined && <span className="n">{count(n)}</span>}
      <span className={`tone-${look.tone}`}>{wordOf(state)}</span>
    </span>
  );
}

type FilterProps = {
  counts: Counts;
  active?: string | null;
  onPick?: (state: CellState | null) => void;
  label: string;
};

export function StateCounts({ counts, active, onPick, label }: FilterProps) {
  return (
    <fieldset className="chips" aria-label={label}>
      {entries(counts).map(([state, n]) =>
        onPick ? (
          <FilterChip
            key={state}
            picked={active === state}
            onPick={() => onPick(active === state ? null : state)}
            glyph={state}
            n={n}
            tip={LOOKS[state].means}
            data-state={state}
          >
            {LOOKS[state].word}
          </FilterChip>
        ) : (
          <span key={state} className="chip boxed" data-state={state} data-tip={LOOKS[state].means}>
            <StateGlyph state={state} />
            <span className="n">{count(n)}</span>
            {LOOKS[state].word}
          </span>
        ),
      )}
    </fieldset>
  );
}

export function describeCounts(counts: Counts): string {
  return entries(counts)
    .map(([state, n]) => `${count(n)} ${LOOKS[state].word}`)
    .join(", ");
}

export function MiniBar({ counts, tall = false }: { counts: Counts; tall?: boolean }) {
  const total = totalOf(counts);
  const className = `minibar${tall ? " tall" : ""}${total === 0 ? " empty" : ""}`;
  const text = total === 0 ? "no partitions" : describeCounts(counts);
  return (
    <span className={className} role="img" aria-label={text} data-tip={text}>
      {entries(counts, BAR_ORDER).map(([state, n]) => (
        <span key={state} className="cell seg" data-state={state} style={{ flexGrow: n, flexBasis: 0 }} />
      ))}
    </span>
  );
}
