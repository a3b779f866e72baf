// A linear axis in lanes: one lane is the strip, several are the matrix of two dimensions. At most 800 elements are drawn:
// the caller asks for as few buckets as that takes, and long lists of rows draw only what is on screen.
import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useMemo, useRef, type WheelEvent } from "react";
import type { Bucket, Counts } from "../api/types";
import { bucketLabel, covers, type Interval } from "./axis";
import { Cell } from "./Cell";
import { ticks } from "./calendar";
import { type Drag, type Spot, useCells } from "./useCells";

export type Lane = { key: string | null; counts: Counts[] };

type Props = {
  buckets: Bucket[];
  width: number; // of the axis, in pixels
  lanes: Lane[];
  picked: readonly Interval[];
  pickedRows: ReadonlySet<string> | null;
  partitionOf: (bucket: Bucket, row: string | null) => string;
  openKey: string | null;
  onZoom?: (factor: number, at: number) => void;
  onPan?: (share: number) => void;
  onDraft: (drag: Drag | null) => void;
  onCommit: (drag: Drag, moved: boolean) => void;
  onOpen: (spot: Spot) => void;
  onClear: () => void;
};

export const VISIBLE_LANES = 20;
const LANE_PX = 22;

function nextSpot(key: string, from: Spot, cols: number, rows: number): Spot | null {
  const col = (n: number) => Math.max(0, Math.min(cols - 1, n));
  const row = (n: number) => Math.max(0, Math.min(rows - 1, n));
  switch (key) {
    case "ArrowLeft":
      return { ...from, col: col(from.col - 1) };
    case "ArrowRight":
      return { ...from, col: col(from.col + 1) };
    case "ArrowUp":
      return { ...from, row: row(from.row - 1) };
    case "ArrowDown":
      return { ...from, row: row(from.row + 1) };
    case "Home":
      return { ...from, col: 0 };
    case "End":
      return { ...from, col: cols - 1 };
    default:
      return null;
  }
}

/** The picked buckets as runs of positions, for the frames drawn around them. */
function pickedRuns(buckets: Bucket[], picked: readonly Interval[]): [number, number][] {
  const runs: [number, number][] = [];
  buckets.forEach((bucket, i) => {
    if (covers(picked, bucket.lo, bucket.hi) === "none") return;
    const last = runs.at(-1);
    if (last && last[1] === i - 1) last[1] = i;
    else runs.push([i, i]);
  });
  return runs;
}

export function Lanes(props: Props) {
  const { buckets, width, lanes, picked, pickedRows, partitionOf, openKey, onZoom, onPan, ...on } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const single = lanes.length === 1 && lanes[0].key === null;
  const { root, focus, handlers } = useCells({
    ...on,
    move: (key, from) => nextSpot(key, from, buckets.length, lanes.length),
  });
  const virtual = useVirtualizer({
    count: lanes.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => (single ? 36 : LANE_PX),
    overscan: 2,
    initialRect: { width: 0, height: VISIBLE_LANES * LANE_PX },
  });
  useEffect(() => {
    virtual.scrollToIndex(focus.row, { align: "auto" });
  }, [focus.row, virtual]);

  const onWheel = (event: WheelEvent<HTMLDivElement>) => {
    // Plain vertical wheel stays the page's; sideways pans, Ctrl or Cmd zooms around the pointer.
    const box = event.currentTarget.getBoundingClientRect();
    if (event.ctrlKey || event.metaKey)
      onZoom?.(event.deltaY > 0 ? 1.4 : 1 / 1.4, (event.clientX - box.left) / box.width);
    else if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) onPan?.(event.deltaX / box.width);
  };
  useEffect(() => {
    // React's wheel listener is passive, so the browser's own page zoom has to be stopped here.
    const element = scroller.current;
    const stop = (event: globalThis.WheelEvent) => {
      if (event.ctrlKey || event.metaKey) event.preventDefault();
    };
    element?.addEventListener("wheel", stop, { passive: false });
    return () => element?.removeEventListener("wheel", stop);
  }, []);

  const runs = useMemo(() => pickedRuns(buckets, picked), [buckets, picked]);
  const columns = { gridTemplateColumns: `repeat(${buckets.length}, minmax(0, 1fr))` };
  const maxWidth = buckets.length * 36;
  const labels = Math.max(2, Math.min(14, Math.floor(Math.min(width, maxWidth) / 68)));
  return (
    <div className={`lanes${single ? " single" : ""}${picked.length > 0 ? " picking" : ""}`}>
      <div className="lane-axis" aria-hidden="true">
        <div className="lane-ticks" style={{ maxWidth }}>
          {ticks(buckets, labels).map((tick) => (
            <span key={tick.index} style={{ left: `${(tick.index / buckets.length) * 100}%` }}>
              {tick.text}
            </span>
          ))}
        </div>
      </div>
      <div ref={scroller} className="lane-scroll" style={{ maxHeight: VISIBLE_LANES * LANE_PX }} onWheel={onWheel}>
        <div
          ref={root}
          role="listbox"
          aria-multiselectable="true"
          aria-label={single ? "Partitions" : "Partitions by two dimensions"}
          style={{ height: virtual.getTotalSize(), position: "relative" }}
          {...handlers}
        >
          {virtual.getVirtualItems().map((item) => {
            const lane = lanes[item.index];
            const rowPicked = pickedRows === null || lane.key === null || pickedRows.has(lane.key);
            return (
              <div
                key={lane.key ?? ""}
                className="lane"
                style={{ height: item.size, transform: `translateY(${item.start}px)` }}
              >
                {lane.key !== null && (
                  <span className="lane-key key" data-tip={lane.key}>
                    {lane.key}
                  </span>
                )}
                <div className="lane-cells" style={{ ...columns, maxWidth }}>
                  {buckets.map((bucket, col) => {
                    const partition = partitionOf(bucket, lane.key);
                    return (
                      <Cell
                        key={bucket.lo}
                        counts={lane.counts[col] ?? {}}
                        partition={partition}
                        label={lane.key === null ? bucketLabel(bucket) : `${bucketLabel(bucket)}, ${lane.key}`}
                        col={col}
                        row={item.index}
                        picked={rowPicked && covers(picked, bucket.lo, bucket.hi) !== "none"}
                        tabbable={focus.col === col && focus.row === item.index}
                        open={openKey === partition}
                        mark={buckets.length <= 60}
                      />
                    );
                  })}
                  {rowPicked &&
                    runs.map(([first, last]) => (
                      <i
                        key={first}
                        className="lane-picked"
                        style={{
                          left: `${(first / buckets.length) * 100}%`,
                          width: `${((last - first + 1) / buckets.length) * 100}%`,
                        }}
                      />
                    ))}
                </div>
              </div>
            );
          })}
        </div>
      </div>
    </div>
  );
}
