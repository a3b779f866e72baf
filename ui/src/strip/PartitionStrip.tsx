// The partitions of one asset, drawn by what they are: a calendar, a zoomable strip, a matrix, tiles, or the one cell.
// Owns the window on the axis and the hover; the selection's text belongs to the caller (and the URL).
import { useQuery } from "@tanstack/react-query";
import { type PointerEvent, useEffect, useMemo, useRef, useState } from "react";
import { strip as stripQuery } from "../api/queries";
import type { AssetDetail, Bucket, Strip } from "../api/types";
import { Loaded } from "../design/Feedback";
import { Icon } from "../design/Icon";
import { MiniBar } from "../design/StateChip";
import { entries, LOOKS } from "../design/states";
import { count } from "../lib/format";
import { bucketLabel } from "./axis";
import { Calendar } from "./Calendar";
import { CellTip, type Hovered } from "./CellTip";
import { isCalendar, yearWindow } from "./calendar";
import { Lanes, VISIBLE_LANES } from "./Lanes";
import { type Dims, litBy, textOf } from "./selection";
import { Tiles } from "./Tiles";
import type { Drag, Spot } from "./useCells";
import { bucketCount, MAX_CELLS, pan, type Window, zoomAt } from "./zoom";
import "./strip.css";

type Props = {
  asset: AssetDetail;
  /** What is lit: the drag in progress, else the committed selection. */
  text: string;
  /** What an additive drag adds to. */
  committed: string;
  window: Window | null;
  year: number | null;
  openKey: string | null;
  onText: (text: string) => void;
  onDraft: (text: string | null) => void;
  onOpen: (partition: string | null) => void;
  onWindow: (window: Window | null) => void;
  onYear: (year: number) => void;
};

export function dimsOf(asset: AssetDetail): Dims {
  const dims = asset.partitions.dims;
  if (asset.partitions_kind !== "multi" || dims.length < 2) return { column: null, row: null };
  const column = dims.find((dim) => dim.kind === "time") ?? dims[0];
  const row = dims.find((dim) => dim !== column) ?? null;
  return { column: column.name, row: row?.name ?? null };
}

function useWidth() {
  const ref = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  useEffect(() => {
    if (!ref.current) return;
    const observer = new ResizeObserver(([entry]) => setWidth(Math.round(entry.contentRect.width)));
    observer.observe(ref.current);
    return () => observer.disconnect();
  }, []);
  return { ref, width };
}

function yearsOf(overview: Strip): number[] {
  const first = Number(overview.buckets.at(0)?.first_key.slice(0, 4));
  const last = Number(overview.buckets.at(-1)?.last_key.slice(0, 4));
  return Number.isFinite(first) && Number.isFinite(last)
    ? Array.from({ length: last - first + 1 }, (_, i) => first + i)
    : [];
}

export function PartitionStrip(props: Props) {
  const { asset } = props;
  const { ref, width } = useWidth();
  const overview = useQuery(stripQuery(asset.key, { buckets: asset.partitions_kind === "multi" ? 1 : MAX_CELLS }));
  return (
    <div ref={ref} data-testid="partition-strip">
      <Loaded query={overview} skeleton={<div className="skeleton" style={{ height: 160 }} />}>
        {(value) => (width > 0 ? <Drawn {...props} overview={value} width={width} /> : null)}
      </Loaded>
    </div>
  );
}

function Drawn(props: Props & { overview: Strip; width: number }) {
  const { asset, overview, width } = props;
  const daily = overview.cadence === "day" && overview.row_dim === null && overview.rows === null;
  const years = daily && overview.size > MAX_CELLS ? yearsOf(overview) : [];
  const year = props.year ?? years.at(-1) ?? null;
  const rows = Math.min(overview.rows?.length ?? 1, VISIBLE_LANES);
  const window: Window =
    years.length > 0 && year !== null
      ? yearWindow(overview.buckets[0].first_key, year, overview.size)
      : (props.window ?? { lo: 0, hi: overview.size });
  const span = window.hi - window.lo;
  const axisWidth = width - (overview.rows ? 112 : 0);
  const wanted = daily ? Math.min(span, MAX_CELLS) : bucketCount(span, rows, axisWidth);
  const whole = span === overview.size && wanted >= overview.buckets.length && overview.rows === null;
  const detail = useQuery({
    ...stripQuery(asset.key, { lo: window.lo, hi: window.hi, buckets: wanted }),
    enabled: !whole,
  });
  const drawn = whole ? overview : detail.data;
  if (!drawn) return <Loaded query={detail}>{() => null}</Loaded>;
  return (
    <>
      {years.length > 0 && (
        <div className="strip-tools">
          {years.map((each) => (
            <button
              key={each}
              type="button"
              className="btn small"
              aria-pressed={each === year}
              onClick={() => props.onYear(each)}
            >
              {each}
            </button>
          ))}
        </div>
      )}
      <Body {...props} strip={drawn} axisWidth={axisWidth} window={window} zoomable={!daily && overview.size > 60} />
    </>
  );
}

type BodyProps = Props & { strip: Strip; axisWidth: number; window: Window; zoomable: boolean; overview: Strip };

function Body(props: BodyProps) {
  const { asset, strip, axisWidth, text, window, zoomable, overview, onText, onDraft, onOpen, onWindow } = props;
  const [hovered, setHovered] = useState<Hovered | null>(null);
  const dims = useMemo(() => dimsOf(asset), [asset]);
  const lit = useMemo(() => litBy(text, strip, dims), [text, strip, dims]);
  const order = asset.partitions.dims.map((dim) => dim.name);

  const partitionOf = (bucket: Bucket, row: string | null): string => {
    if (bucket.first_key !== bucket.last_key)
      return row === null ? bucketLabel(bucket) : `${bucketLabel(bucket)} ${row}`;
    if (row === null || dims.column === null) return bucket.first_key;
    return JSON.stringify(order.map((name) => (name === dims.row ? row : bucket.first_key)));
  };
  const cellAt = ({ col, row }: Spot) => {
    const bucket = strip.buckets[col];
    const lane = strip.rows?.[row] ?? null;
    const single = bucket.hi - bucket.lo === 1;
    return { bucket, partition: single ? partitionOf(bucket, lane?.dim_key ?? null) : null };
  };
  const commit = (drag: Drag, moved: boolean) => {
    onText(textOf(drag, strip, dims, props.committed));
    // A click is a selection of one and a look at it; a drag is only a selection.
    onOpen(moved ? null : cellAt(drag.head).partition);
  };
  const open = (spot: Spot) => {
    const { bucket, partition } = cellAt(spot);
    if (partition !== null) onOpen(partition);
    else onWindow(zoomAt({ lo: bucket.lo, hi: bucket.hi }, 1, 0, strip.size));
  };
  const hover = (event: PointerEvent) => {
    const element = event.target instanceof Element ? event.target.closest<HTMLElement>(".strip-cell") : null;
    if (!element) return setHovered(null);
    const spot = { col: Number(element.dataset.col), row: Number(element.dataset.row) };
    const bucket = strip.buckets[spot.col];
    if (!bucket) return;
    const lane = strip.rows?.[spot.row] ?? null;
    setHovered({
      partition: cellAt(spot).partition,
      label: lane ? `${bucketLabel(bucket)}  ${lane.dim_key}` : bucketLabel(bucket),
      counts: lane ? lane.buckets[spot.col] : bucket.counts,
      box: element.getBoundingClientRect(),
    });
  };
  const shared = {
    buckets: strip.buckets,
    picked: lit.intervals,
    openKey: props.openKey,
    onDraft: (drag: Drag | null) => onDraft(drag && textOf(drag, strip, dims, props.committed)),
    onCommit: commit,
    onOpen: open,
    onClear: () => {
      onText("");
      onOpen(null);
    },
  };
  const named = ["static", "dynamic"].includes(asset.partitions_kind) && strip.buckets.every((b) => b.hi - b.lo === 1);
  const zoom = (factor: number, at = 0.5) => onWindow(zoomAt(window, factor, at, overview.size));
  const part = window.hi - window.lo < overview.size;
  return (
    <>
      {zoomable && (
        <div className="strip-tools">
          <button type="button" className="btn small" onClick={() => zoom(0.5)}>
            <Icon name="plus" size={12} />
            Zoom in
          </button>
          {part && (
            <>
              <button type="button" className="btn small" onClick={() => zoom(2)}>
                <Icon name="minus" size={12} />
                Zoom out
              </button>
              <button
                type="button"
                className="btn small icon"
                aria-label="Show earlier"
                onClick={() => onWindow(pan(window, -0.5, overview.size))}
              >
                <Icon name="left" size={12} />
              </button>
              <button
                type="button"
                className="btn small icon"
                aria-label="Show later"
                onClick={() => onWindow(pan(window, 0.5, overview.size))}
              >
                <Icon name="right" size={12} />
              </button>
              <button type="button" className="btn small" onClick={() => onWindow(null)}>
                Show all
              </button>
            </>
          )}
          <span className="quiet">
            {part && `${strip.buckets.at(0)?.first_key} … ${strip.buckets.at(-1)?.last_key}. `}
            {strip.buckets.some((b) => b.hi - b.lo > 1)
              ? `Each cell holds up to ${count(Math.max(...strip.buckets.map((b) => b.hi - b.lo)))} partitions; Enter or a double click zooms in.`
              : "Each cell is one partition."}
          </span>
        </div>
      )}
      {/* biome-ignore lint/a11y/noStaticElementInteractions: hovering only tells; the cells themselves carry role and keys */}
      <div
        onPointerOver={hover}
        onPointerLeave={() => setHovered(null)}
        onPointerDown={() => setHovered(null)}
        onDoubleClick={(event) => {
          const element = (event.target as Element).closest<HTMLElement>(".strip-cell");
          if (element) open({ col: Number(element.dataset.col), row: Number(element.dataset.row) });
        }}
      >
        {isCalendar(strip.cadence, strip.buckets) && strip.rows === null ? (
          <Calendar {...shared} />
        ) : named && strip.rows === null ? (
          <Tiles {...shared} />
        ) : (
          <Lanes
            {...shared}
            width={axisWidth}
            lanes={
              strip.rows
                ? strip.rows.map((row) => ({ key: row.dim_key, counts: row.buckets }))
                : [{ key: null, counts: strip.buckets.map((b) => b.counts) }]
            }
            pickedRows={lit.rows}
            partitionOf={partitionOf}
            onZoom={zoomable ? zoom : undefined}
            onPan={zoomable ? (share) => onWindow(pan(window, share, overview.size)) : undefined}
          />
        )}
      </div>
      <Legend strip={strip} />
      <CellTip assetKey={asset.key} hovered={hovered?.partition === props.openKey ? null : hovered} />
    </>
  );
}

function Legend({ strip }: { strip: Strip }) {
  const present = useMemo(() => {
    const all: Record<string, number> = {};
    for (const bucket of strip.buckets)
      for (const [state, n] of entries(bucket.counts)) all[state] = (all[state] ?? 0) + n;
    return all;
  }, [strip]);
  return (
    <div className="legend quiet" data-testid="legend">
      {entries(present).map(([state, n]) => (
        <span key={state} className="chip" data-tip={LOOKS[state].means}>
          <i className="cell" data-state={state} />
          {LOOKS[state].word} <span className="n">{count(n)}</span>
        </span>
      ))}
    </div>
  );
}

export function SingleCell({ asset }: { asset: AssetDetail }) {
  return (
    <div style={{ maxWidth: 320 }}>
      <MiniBar counts={asset.counts} tall />
    </div>
  );
}
