// From a drag to text and back to what is lit: the one place where both forms of a selection meet.
import type { Strip } from "../api/types";
import { dragText, type Interval, intervalsOf, rowsOf } from "./axis";
import { parseSelection, productText, quoteKey } from "./text";
import type { Drag } from "./useCells";

export type Dims = { column: string | null; row: string | null };
export type Lit = { intervals: readonly Interval[]; rows: ReadonlySet<string> | null };

export function litBy(text: string, strip: Strip, dims: Dims): Lit {
  const parsed = parseSelection(text);
  return {
    intervals: intervalsOf(parsed, dims.column, strip.buckets, strip.size),
    rows: dims.row === null ? null : rowsOf(parsed, dims.row, strip.rows?.map((row) => row.dim_key) ?? []),
  };
}

export function textOf(drag: Drag, strip: Strip, dims: Dims, before: string): string {
  const columns = dragText(strip.buckets, drag.anchor.col, drag.head.col);
  if (dims.row === null || dims.column === null || strip.rows === null) {
    return drag.additive && before && before !== "all" ? `${before}, ${columns}` : columns;
  }
  const [a, b] = [drag.anchor.row, drag.head.row].sort((x, y) => x - y);
  const chosen = strip.rows.slice(a, b + 1).map((row) => quoteKey(row.dim_key));
  const allRows = chosen.length === strip.rows.length;
  const whole = [drag.anchor.col, drag.head.col].sort((x, y) => x - y);
  const allColumns = strip.buckets[whole[0]].lo === 0 && strip.buckets[whole[1]].hi === strip.size;
  return productText([
    { dim: dims.column, text: allColumns ? null : columns },
    { dim: dims.row, text: allRows ? null : chosen.join(", ") },
  ]);
}
