// The lines of one attempt: pages until the end, then the stream while the attempt is open. When the stream breaks, the
// pages are asked again every second until the log is complete; nothing is shown twice.
import { useEffect, useRef, useState } from "react";
import { get, url } from "../api/client";
import type { LogLine, LogPage } from "../api/types";
import { merge } from "./lines";

const PAGE = 1000;
const POLL_MS = 1000;

export type LogState = { lines: LogLine[]; complete: boolean; loading: boolean; error: unknown };

function linesIn(data: string): LogLine[] {
  try {
    const body = JSON.parse(data);
    if (Array.isArray(body)) return body;
    if (Array.isArray(body.lines)) return body.lines;
    return typeof body.n === "number" ? [body] : [];
  } catch {
    return [];
  }
}

/** `open` says whether the attempt still runs: when it ends, the rest is read at once, whatever the stream does. */
export function useLog(attemptId: number, search: string, open: boolean): LogState {
  const drain = useRef<(() => void) | null>(null);
  const [state, setState] = useState<LogState>({ lines: [], complete: false, loading: true, error: null });

  useEffect(() => {
    const abort = new AbortController();
    let offset = 0;
    let source: EventSource | undefined;
    let timer: number | undefined;
    setState({ lines: [], complete: false, loading: true, error: null });

    const take = (lines: LogLine[]) =>
      setState((before) => ({ ...before, lines: merge(before.lines, lines), error: null }));

    const read = async (): Promise<boolean> => {
      for (;;) {
        const page = await get<LogPage>(
          `/attempts/${attemptId}/log`,
          { offset, limit: PAGE, search: search || undefined },
          abort.signal,
        );
        take(page.lines);
        const moved = page.next_offset > offset;
        offset = page.next_offset;
        if (page.complete && (!moved || page.lines.length < PAGE)) return true;
        if (!moved || page.lines.length < PAGE) return false;
      }
    };
    const finish = () => {
      source?.close();
      setState((before) => ({ ...before, complete: true, loading: false }));
    };
    const poll = async () => {
      try {
        const complete = await read();
        if (complete) return finish();
        setState((before) => ({ ...before, loading: false }));
      } catch (error) {
        if (abort.signal.aborted) return;
        setState((before) => ({ ...before, loading: false, error }));
      }
      if (!abort.signal.aborted) timer = window.setTimeout(poll, POLL_MS);
    };
    const stream = () => {
      source = new EventSource(url(`/attempts/${attemptId}/log/stream`, { offset }));
      const onLines = (event: MessageEvent<string>) => {
        const wanted = search.toLowerCase();
        take(linesIn(event.data).filter((line) => line.text.toLowerCase().includes(wanted)));
      };
      source.onmessage = onLines;
      for (const name of ["line", "lines", "log"]) source.addEventListener(name, onLines as EventListener);
      const ended = () => {
        drain.current = null;
        source?.close();
        void poll();
      };
      drain.current = ended;
      for (const name of ["end", "complete", "done"]) source.addEventListener(name, ended);
      source.onerror = ended;
    };

    void (async () => {
      try {
        if (await read()) return finish();
        setState((before) => ({ ...before, loading: false }));
        stream();
      } catch (error) {
        if (abort.signal.aborted) return;
        setState((before) => ({ ...before, loading: false, error }));
        timer = window.setTimeout(poll, POLL_MS);
      }
    })();

    return () => {
      drain.current = null;
      abort.abort();
      source?.close();
      window.clearTimeout(timer);
    };
  }, [attemptId, search]);

  useEffect(() => {
    if (!open) drain.current?.();
  }, [open]);

  return state;
}
