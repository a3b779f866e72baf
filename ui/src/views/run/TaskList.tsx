// Tasks as rows with a time axis: waiting apart from running, retries as bars of their own, the one reason of who waits.
import { useVirtualizer } from "@tanstack/react-virtual";
import { type KeyboardEvent, useEffect, useMemo, useRef, useState, type WheelEvent } from "react";
import type { RunDetail, TaskRow } from "../../api/types";
import { Icon } from "../../design/Icon";
import { StateGlyph } from "../../design/StateGlyph";
import { lookKey, wordOf } from "../../design/states";
import { useNow } from "../../lib/clock";
import { duration, plural } from "../../lib/format";
import { axisTicks, barsOf, type Domain, domainOf, share, zoomDomain } from "./timeline";

const ROW = 32;
/** As a share of the axis; behind it the zoom buttons would cover the label. */
const LAST_LABEL = 0.92;

type Props = {
  run: RunDetail;
  tasks: TaskRow[];
  chosen: number | null;
  onSelect: (task: number, attempt?: number | null) => void;
};

export function TaskList({ run, tasks, chosen, onSelect }: Props) {
  const scroller = useRef<HTMLDivElement>(null);
  const now = useNow(1);
  const [zoom, setZoom] = useState<Domain | null>(null);
  const fit = domainOf(tasks, run.started_at ?? run.created_at, run.finished_at, now);
  const origin = fit.from; // a run whose tasks waited before the first began has no ticks below nought
  const domain = zoom ?? fit;
  const critical = useMemo(() => new Set(run.critical_path ?? []), [run.critical_path]);
  const virtual = useVirtualizer({
    count: tasks.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW,
    overscan: 10,
  });
  const at = tasks.findIndex((task) => task.id === chosen);
  useEffect(() => {
    if (at >= 0) virtual.scrollToIndex(at, { align: "auto" });
  }, [at, virtual]);

  const onKeyDown = (event: KeyboardEvent) => {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (step === 0 || tasks.length === 0) return;
    event.preventDefault();
    onSelect(tasks[Math.max(0, Math.min(tasks.length - 1, at + step))].id);
  };
  const onWheel = (event: WheelEvent<HTMLDivElement>) => {
    if (!event.ctrlKey && !event.metaKey) return;
    const axis = event.currentTarget.querySelector(".task-axis")?.getBoundingClientRect();
    if (axis) setZoom(zoomDomain(domain, event.deltaY > 0 ? 1.25 : 0.8, (event.clientX - axis.left) / axis.width));
  };
  useEffect(() => {
    const element = scroller.current?.parentElement;
    const stop = (event: globalThis.WheelEvent) => {
      if (event.ctrlKey || event.metaKey) event.preventDefault();
    };
    element?.addEventListener("wheel", stop, { passive: false });
    return () => element?.removeEventListener("wheel", stop);
  }, []);

  return (
    <div className="task-list" onWheel={onWheel}>
      <div className="task-row task-head">
        <span>Task</span>
        <span>State</span>
        <div className="task-axis">
          {axisTicks(domain, origin, 8)
            .map((s) => ({ s, at: share(domain, origin + s * 1000) }))
            .filter(({ at }) => at < LAST_LABEL)
            .map(({ s, at }) => (
              <span key={s} style={{ left: `${at * 100}%` }}>
                {s === 0 ? "0 s" : duration(s).replace(/\.0 s$/, " s")}
              </span>
            ))}
          <span className="task-zoom">
            <button
              type="button"
              className="btn bare icon small"
              aria-label="Zoom in on time"
              onClick={() => setZoom(zoomDomain(domain, 0.5, 0.5))}
            >
              <Icon name="plus" size={12} />
            </button>
            {zoom && (
              <>
                <button
                  type="button"
                  className="btn bare icon small"
                  aria-label="Zoom out of time"
                  onClick={() => setZoom(zoomDomain(domain, 2, 0.5))}
                >
                  <Icon name="minus" size={12} />
                </button>
                <button
                  type="button"
                  className="btn bare icon small"
                  aria-label="Fit the whole run"
                  data-tip="Fit the whole run"
                  onClick={() => setZoom(null)}
                >
                  <Icon name="fit" size={12} />
                </button>
              </>
            )}
          </span>
        </div>
      </div>
      <div
        ref={scroller}
        className="task-scroll"
        role="listbox"
        tabIndex={0}
        aria-label={plural(tasks.length, "task")}
        aria-activedescendant={chosen === null ? undefined : `task-${chosen}`}
        onKeyDown={onKeyDown}
      >
        <div style={{ height: virtual.getTotalSize(), position: "relative" }}>
          {virtual.getVirtualItems().map((item) => {
            const task = tasks[item.index];
            return (
              <Row
                key={task.id}
                task={task}
                top={item.start}
                domain={domain}
                now={now}
                chosen={task.id === chosen}
                critical={critical.has(task.id)}
                onSelect={onSelect}
              />
            );
          })}
        </div>
      </div>
    </div>
  );
}

type RowProps = {
  task: TaskRow;
  top: number;
  domain: Domain;
  now: number;
  chosen: boolean;
  critical: boolean;
  onSelect: Props["onSelect"];
};

function note(task: TaskRow): string {
  if (task.error && !["success", "running"].includes(task.state)) return task.error;
  if (task.reason && task.finished_at === null && task.state !== "running") return task.reason.text;
  return task.outcome_text ?? "";
}

/** What a task shows: one that succeeded and published nothing new is unchanged. */
export function taskState(task: Pick<TaskRow, "state" | "outcome">): string {
  return task.outcome === "unchanged" ? "unchanged" : task.state;
}

function Row({ task, top, domain, now, chosen, critical, onSelect }: RowProps) {
  const text = note(task);
  const retries =
    task.attempts.length > 1
      ? `attempt ${task.attempts.length}${task.max_attempts ? ` of ${task.max_attempts}` : ""}`
      : "";
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the list owns the keyboard (active descendant)
    <div
      id={`task-${task.id}`}
      className="task-row"
      role="option"
      tabIndex={-1}
      aria-selected={chosen}
      data-testid="task-row"
      data-task={task.id}
      data-state={taskState(task)}
      data-step={task.step}
      style={{ transform: `translateY(${top}px)` }}
      onClick={() => onSelect(task.id)}
    >
      <span className="row">
        <StateGlyph state={taskState(task)} />
        <span className="key" data-tip={`${task.step}\n${task.partitions_text}\n${plural(task.cell_count, "cell")}`}>
          <span className="mid">{task.step}</span> {task.partitions_text}
        </span>
        {critical && <i className="critical-mark" data-tip="On the critical path" />}
      </span>
      <span className="task-note" data-tip={[wordOf(taskState(task)), retries, text].filter(Boolean).join("\n")}>
        {wordOf(taskState(task))}
        {retries && <span className="tone-orange"> {retries}</span>}
        {text && <span className={task.state === "failed" ? "tone-red" : "quiet"}> {text}</span>}
      </span>
      <div className="task-bars">
        {barsOf(task, now).map((bar, i) => {
          const left = share(domain, bar.from);
          const width = share(domain, bar.to) - left;
          if (width <= 0 && (bar.to < domain.from || bar.from > domain.to)) return null;
          const what =
            bar.state === "deferred" && bar.kind !== "run"
              ? "Waits for something outside"
              : bar.kind === "queue"
                ? "Waited"
                : bar.kind === "backoff"
                  ? "Paused before the retry"
                  : wordOf(bar.state);
          return (
            // biome-ignore lint/a11y/useKeyWithClickEvents: attempts are reachable as tabs of the log panel
            // biome-ignore lint/a11y/noStaticElementInteractions: see above
            <span
              // biome-ignore lint/suspicious/noArrayIndexKey: bars only ever grow at the end
              key={i}
              className={bar.kind === "run" ? "bar cell" : `bar ${bar.kind}`}
              data-state={lookKey(bar.state)}
              data-tip={`${what}: ${duration((bar.to - bar.from) / 1000)}`}
              style={{ left: `${left * 100}%`, width: `max(3px, ${width * 100}%)` }}
              onClick={(event) => {
                if (bar.attempt === null) return;
                event.stopPropagation();
                onSelect(task.id, bar.attempt);
              }}
            />
          );
        })}
      </div>
    </div>
  );
}
