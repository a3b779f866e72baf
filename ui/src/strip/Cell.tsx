// One drawn cell: a partition, or a bucket of many with its counts as a stacked fill. Memoised; hundreds are on a page.
import { type CSSProperties, memo } from "react";
import type { CellState, Counts } from "../api/types";
import { CellMark } from "../design/StateGlyph";
import { BAR_ORDER, dominant, entries, LOOKS, totalOf } from "../design/states";

const FILL: Record<CellState, string> = {
  fresh: "var(--green)",
  unchanged: "var(--green-pale)",
  running: "var(--blue)",
  queued: "var(--violet)",
  scheduled: "var(--violet-pale)",
  deferred: "var(--teal)",
  awaiting_input: "var(--teal)",
  up_for_retry: "var(--orange)",
  stale: "var(--amber)",
  upstream_stale: "var(--amber-pale)",
  failed: "var(--red)",
  upstream_failed: "var(--red-pale)",
  missing: "transparent",
  skipped: "var(--grey)",
  cancelled: "var(--grey)",
  removed: "transparent",
};

/** Counts as hard stops from the bottom up; one state alone keeps its own pattern from the style sheet. */
function stacked(counts: Counts): string | undefined {
  const parts = entries(counts, BAR_ORDER);
  if (parts.length < 2) return undefined;
  const total = totalOf(counts);
  let at = 0;
  const stops = parts.map(([state, n]) => {
    const from = at;
    // Never thinner than an eighth: one failed hour among a thousand good ones must be seen.
    at += Math.max(n / total, 0.125);
    return [FILL[state], from, at] as const;
  });
  const scale = 100 / at;
  return `linear-gradient(to top, ${stops.map(([fill, a, b]) => `${fill} ${(a * scale).toFixed(1)}% ${(b * scale).toFixed(1)}%`).join(", ")})`;
}

type Props = {
  counts: Counts;
  partition: string;
  label: string;
  col: number;
  row: number;
  picked: boolean;
  tabbable: boolean;
  open?: boolean;
  style?: CSSProperties;
  mark?: boolean;
};

export const Cell = memo(function Cell({
  counts,
  partition,
  label,
  col,
  row,
  picked,
  tabbable,
  open,
  style,
  mark,
}: Props) {
  const state = dominant(counts);
  const fill = stacked(counts);
  return (
    <div
      role="option"
      tabIndex={tabbable ? 0 : -1}
      aria-selected={picked}
      aria-label={`${label}, ${LOOKS[state].word}`}
      className="cell strip-cell"
      data-testid="strip-cell"
      data-key={partition}
      data-state={state}
      data-mixed={fill ? "" : undefined}
      data-open={open ? "" : undefined}
      data-col={col}
      data-row={row}
      style={fill ? { ...style, background: fill } : style}
    >
      {mark && <CellMark state={state} />}
    </div>
  );
});
