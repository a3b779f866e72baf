// One ticking clock and one display zone for all components: relative times agree with each other on screen.
import { useSyncExternalStore } from "react";

const TICK_MS = 1_000;
let now = Date.now();
let timer: number | undefined;
const tickers = new Set<() => void>();

function subscribe(listener: () => void): () => void {
  tickers.add(listener);
  if (timer === undefined) now = Date.now();
  timer ??= window.setInterval(() => {
    now = Date.now();
    for (const each of tickers) each();
  }, TICK_MS);
  return () => {
    tickers.delete(listener);
    if (tickers.size === 0) {
      window.clearInterval(timer);
      timer = undefined;
    }
  };
}

/** Milliseconds since the epoch, at a granularity of `everyS` seconds, so that slow text re-renders rarely. */
export function useNow(everyS = 1): number {
  return useSyncExternalStore(subscribe, () => {
    const step = everyS * 1000;
    return Math.floor(now / step) * step;
  });
}

const ZONE_KEY = "partita.zone";
const browserZone = Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC";
let zone = localStorage.getItem(ZONE_KEY) ?? browserZone;
const zoneListeners = new Set<() => void>();

export function setZone(next: string): void {
  zone = next;
  localStorage.setItem(ZONE_KEY, next);
  for (const each of zoneListeners) each();
}

export function useZone(): string {
  return useSyncExternalStore(
    (listener) => {
      zoneListeners.add(listener);
      return () => zoneListeners.delete(listener);
    },
    () => zone,
  );
}

export const BROWSER_ZONE = browserZone;
