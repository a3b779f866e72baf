// The log of one attempt: virtual lines, live tail, least level, search, links to lines.
import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useMemo, useRef, useState } from "react";
import type { LogLine } from "../api/types";
import { CopyButton } from "../design/Copy";
import { Problem, Skeleton } from "../design/Feedback";
import { SearchField } from "../design/SearchField";
import { useZone } from "../lib/clock";
import { clock, plural } from "../lib/format";
import { keep, LEVELS, marked, rank } from "./lines";
import { useLog } from "./useLog";
import "./log.css";

type Props = {
  attemptId: number;
  open: boolean;
  line: number | null;
  search: string;
  level: string;
  onLine: (line: number) => void;
  onSearch: (text: string) => void;
  onLevel: (level: string) => void;
};

const LINE = 18;
const TONE = ["quiet", "", "tone-amber", "tone-red"];

export function LogPanel({ attemptId, open, line, search, level, onLine, onSearch, onLevel }: Props) {
  const log = useLog(attemptId, search, open);
  const lines = useMemo(() => keep(log.lines, search, level), [log.lines, search, level]);
  const [follow, setFollow] = useState(line === null);
  const scroller = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count: lines.length,
    getScrollElement: () => scroller.current,
    estimateSize: (i) => LINE * lines[i].text.split("\n").length,
    getItemKey: (i) => lines[i].n,
    overscan: 20,
  });

  useEffect(() => {
    if (follow && lines.length > 0) virtual.scrollToIndex(lines.length - 1, { align: "end" });
  }, [follow, lines.length, virtual]);

  const linked = line === null ? -1 : lines.findIndex((each) => each.n === line);
  // biome-ignore lint/correctness/useExhaustiveDependencies: scroll once, when the linked line arrives
  useEffect(() => {
    if (linked >= 0) virtual.scrollToIndex(linked, { align: "center" });
  }, [linked >= 0]);

  return (
    <div className="log" data-testid="log-panel" data-complete={log.complete}>
      <div className="log-tools">
        <SearchField value={search} onValue={onSearch} placeholder="Search log" width={220} testid="log-search" />
        <select
          className="field"
          aria-label="Least level"
          value={level}
          onChange={(event) => onLevel(event.target.value)}
        >
          <option value="">All levels</option>
          {LEVELS.slice(1).map((name) => (
            <option key={name} value={name}>
              {name === "error" ? "error" : `${name} and above`}
            </option>
          ))}
        </select>
        <span className="quiet" aria-live="polite">
          {plural(lines.length, "line")}
          {log.complete ? "" : open ? ", live" : ", waiting for the rest"}
        </span>
        <span className="grow" />
        {!log.complete && (
          <button type="button" className="btn small" aria-pressed={follow} onClick={() => setFollow(!follow)}>
            {follow ? "Following" : "Follow the end"}
          </button>
        )}
        {lines.length > 0 && <CopyButton text={lines.map((each) => each.text).join("\n")} what="Copy log" label />}
      </div>
      {log.error && log.lines.length === 0 ? <Problem error={log.error} /> : null}
      {log.loading && log.lines.length === 0 && <Skeleton rows={6} height={14} />}
      {!log.loading && !log.error && lines.length === 0 && (
        <p className="quiet log-none">
          {search || level
            ? "No line matches."
            : log.complete
              ? "The attempt wrote nothing."
              : "Nothing is written yet."}
        </p>
      )}
      <div
        ref={scroller}
        className="log-scroll"
        role="log"
        aria-label="Log lines"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable by the keyboard
        tabIndex={0}
        onWheel={(event) => event.deltaY < 0 && setFollow(false)}
        onKeyDown={(event) => ["ArrowUp", "PageUp", "Home"].includes(event.key) && setFollow(false)}
      >
        <div style={{ height: virtual.getTotalSize(), position: "relative" }}>
          {virtual.getVirtualItems().map((item) => (
            <Line
              key={item.key}
              line={lines[item.index]}
              index={item.index}
              measure={virtual.measureElement}
              top={item.start}
              search={search}
              linked={lines[item.index].n === line}
              onLine={(n) => {
                setFollow(false);
                onLine(n);
              }}
            />
          ))}
        </div>
      </div>
    </div>
  );
}

type LineProps = {
  line: LogLine;
  index: number;
  measure: (element: Element | null) => void;
  top: number;
  search: string;
  linked: boolean;
  onLine: (n: number) => void;
};

function Line({ line, index, measure, top, search, linked, onLine }: LineProps) {
  const zone = useZone();
  return (
    <div
      ref={measure}
      data-index={index}
      className={`log-line${linked ? " linked" : ""}`}
      data-testid="log-line"
      data-n={line.n}
      style={{ transform: `translateY(${top}px)` }}
    >
      <button type="button" className="log-n" aria-label={`Link to line ${line.n}`} onClick={() => onLine(line.n)}>
        {line.n}
      </button>
      <span className="quiet">{clock(line.at, zone)}</span>
      <span className={`log-level ${TONE[rank(line.level)]}`}>
        {line.stream === "log" ? (line.level ?? "").toLowerCase() : line.stream}
      </span>
      <span className={`log-text ${rank(line.level) === 3 ? "tone-red" : ""}`}>
        {marked(line.text, search).map((part, i) =>
          // biome-ignore lint/suspicious/noArrayIndexKey: parts of one text keep their places
          i % 2 === 1 ? <mark key={i}>{part}</mark> : part,
        )}
      </span>
    </div>
  );
}
