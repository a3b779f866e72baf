// The tab: its title by route, and on pages about one run a dot in the favicon that has the run's state.
import { useEffect } from "react";
import { lookKey } from "../design/states";

export function useTitle(parts: (string | undefined)[]): void {
  const title = [...parts.filter(Boolean), "partita"].join(" · ");
  useEffect(() => {
    document.title = title;
  }, [title]);
}

// A tab strip has no theme of ours: one set of plain colours, and a shape per state.
const DOTS: Partial<Record<string, string>> = {
  fresh: '<circle cx="23" cy="23" r="8" fill="#3fae6a"/>',
  running: '<circle cx="23" cy="23" r="6.5" fill="none" stroke="#3b8fe0" stroke-width="4" stroke-dasharray="28 12"/>',
  queued: '<rect x="16" y="16" width="14" height="14" rx="3" fill="#8064d0"/>',
  scheduled: '<rect x="17" y="17" width="12" height="12" rx="3" fill="#fff" stroke="#8064d0" stroke-width="3"/>',
  up_for_retry: '<path d="M15 30 23 16l8 14z" fill="#e08a1e"/>',
  failed:
    '<circle cx="23" cy="23" r="8.5" fill="#dd4038"/><path d="m20 20 6 6m0-6-6 6" stroke="#fff" stroke-width="2.4"/>',
  cancelled: '<circle cx="23" cy="23" r="7" fill="none" stroke="#8b8f99" stroke-width="3"/>',
};
const BASE =
  '<rect width="32" height="32" rx="7" fill="#1d1f27"/><g fill="#f4f4f6"><rect x="6" y="6" width="5" height="15" rx="1.5"/><rect x="13" y="6" width="11" height="5" rx="1.5"/></g>';

export function useStateFavicon(state: string): void {
  const dot = DOTS[lookKey(state)];
  useEffect(() => {
    const link = document.querySelector<HTMLLinkElement>('link[rel="icon"]');
    if (!link || !dot) return;
    const before = link.href;
    const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32">${BASE}${dot}</svg>`;
    link.href = `data:image/svg+xml,${encodeURIComponent(svg)}`;
    return () => {
      link.href = before;
    };
  }, [dot]);
}
