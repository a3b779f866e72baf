// One EventSource for the whole page. Keeps what the live dot says and turns events into batched invalidations.
import type { QueryClient } from "@tanstack/react-query";
import { useSyncExternalStore } from "react";
import { url } from "./client";
import { flushDelay, Pending } from "./invalidation";
import type { LiveEvent } from "./types";

export type LiveStatus = { state: "connecting" | "live" | "broken"; since: number | null };

const SILENCE_MS = 40_000; // pings come every 15 s; two missed ones mean the stream is dead though the socket is open
const NAMED_EVENTS = ["materialized", "observed", "task", "run", "backfill", "location", "plan", "event", "change"];

let status: LiveStatus = { state: "connecting", since: null };
const listeners = new Set<() => void>();

function setStatus(next: LiveStatus): void {
  if (next.state === status.state) return;
  status = next;
  for (const listener of listeners) listener();
}

export function liveStatus(): LiveStatus {
  return status;
}

export function useLive(): LiveStatus {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => status,
  );
}

export function startLive(client: QueryClient): () => void {
  let pending = new Pending();
  let timer: number | undefined;
  let lastSize = 0;
  let lastHeard = Date.now();
  let source: EventSource;

  const flush = () => {
    timer = undefined;
    const batch = pending;
    pending = new Pending();
    lastSize = batch.size;
    void client.invalidateQueries({ predicate: (query) => batch.matches(query.queryKey) });
  };
  const schedule = () => {
    timer ??= window.setTimeout(flush, flushDelay(lastSize));
  };
  const heard = () => {
    lastHeard = Date.now();
    if (status.state === "broken") {
      // Whatever happened during the gap is unknown here: read again what is on screen.
      pending.addAll();
      schedule();
    }
    setStatus({ state: "live", since: null });
  };
  const onEvent = (message: MessageEvent<string>) => {
    heard();
    try {
      pending.add(JSON.parse(message.data) as LiveEvent);
    } catch {
      pending.addAll();
    }
    schedule();
  };
  const onResync = () => {
    heard();
    pending.addAll();
    schedule();
  };
  const broken = () => setStatus({ state: "broken", since: lastHeard });

  const open = () => {
    source = new EventSource(url("/events/stream"));
    source.onopen = heard;
    source.onmessage = onEvent;
    for (const name of NAMED_EVENTS) source.addEventListener(name, onEvent as EventListener);
    source.addEventListener("resync", onResync);
    source.addEventListener("ping", heard);
    source.onerror = broken;
  };
  open();

  const watchdog = window.setInterval(() => {
    // A closed source does not retry by itself (the server answered with an error): open another.
    if (source.readyState === EventSource.CLOSED || Date.now() - lastHeard > SILENCE_MS) {
      broken();
      source.close();
      lastHeard = Math.max(lastHeard, Date.now() - SILENCE_MS + 5_000);
      open();
    }
  }, 5_000);

  return () => {
    window.clearInterval(watchdog);
    window.clearTimeout(timer);
    source.close();
  };
}
