// Days as calendar months, one element a day.
import { useMemo } from "react";
import type { Bucket } from "../api/types";
import { covers, type Interval } from "./axis";
import { Cell } from "./Cell";
import { monthName, monthsOf } from "./calendar";
import { type Drag, type Spot, useCells } from "./useCells";

type Props = {
  buckets: Bucket[];
  picked: readonly Interval[];
  openKey: string | null;
  onDraft: (drag: Drag | null) => void;
  onCommit: (drag: Drag, moved: boolean) => void;
  onOpen: (spot: Spot) => void;
  onClear: () => void;
};

const STEPS: Record<string, number> = {
  ArrowLeft: -1,
  ArrowRight: 1,
  ArrowUp: -7,
  ArrowDown: 7,
  PageUp: -28,
  PageDown: 28,
};

export function Calendar({ buckets, picked, openKey, ...on }: Props) {
  const months = useMemo(() => monthsOf(buckets), [buckets]);
  const last = buckets.length - 1;
  const { root, focus, handlers } = useCells({
    ...on,
    move: (key, from) => {
      if (key === "Home") return { col: 0, row: 0 };
      if (key === "End") return { col: last, row: 0 };
      const step = STEPS[key];
      return step ? { col: Math.max(0, Math.min(last, from.col + step)), row: 0 } : null;
    },
  });
  const years = new Set(months.map((month) => month.year)).size;
  return (
    <div
      ref={root}
      className={`calendar${picked.length > 0 ? " picking" : ""}`}
      role="listbox"
      aria-multiselectable="true"
      aria-label="Partitions by day"
      {...handlers}
    >
      {months.map((month) => (
        <div key={month.id} className="month" role="group" aria-label={`${monthName(month.month)} ${month.year}`}>
          <p className="month-name" aria-hidden="true">
            {monthName(month.month)}
            {(years > 1 || month.month === 1 || month === months[0]) && <span className="quiet"> {month.year}</span>}
          </p>
          <div className="month-grid" role="presentation">
            {month.days.map((day) => {
              const bucket = buckets[day.index];
              return (
                <Cell
                  key={day.key}
                  counts={bucket.counts}
                  partition={day.key}
                  label={day.key}
                  col={day.index}
                  row={0}
                  picked={covers(picked, bucket.lo, bucket.hi) !== "none"}
                  tabbable={focus.col === day.index}
                  open={openKey === day.key}
                  style={{ gridColumn: day.column + 1, gridRow: day.row + 1 }}
                  mark
                />
              );
            })}
          </div>
        </div>
      ))}
    </div>
  );
}
