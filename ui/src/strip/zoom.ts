// The window of a linear strip: a half-open interval of ordinals inside [0, size).
export type Window = { lo: number; hi: number };

export const MAX_CELLS = 800;
const MIN_SPAN = 8;

export function clampWindow(lo: number, hi: number, size: number): Window {
  const span = Math.max(Math.min(MIN_SPAN, size), Math.min(size, Math.round(hi - lo)));
  const start = Math.max(0, Math.min(size - span, Math.round(lo)));
  return { lo: start, hi: start + span };
}

/** Zooms so that the ordinal under `at` (0 … 1 of the window) stays where it is. */
export function zoomAt({ lo, hi }: Window, factor: number, at: number, size: number): Window {
  const span = (hi - lo) * factor;
  const pivot = lo + (hi - lo) * at;
  return clampWindow(pivot - span * at, pivot + span * (1 - at), size);
}

export function pan({ lo, hi }: Window, share: number, size: number): Window {
  const step = Math.sign(share) * Math.max(1, Math.round(Math.abs((hi - lo) * share)));
  return clampWindow(lo + step, hi + step, size);
}

/** How many buckets to ask for: never more than the window holds, than fit, or than may be elements on the page. */
export function bucketCount(span: number, rows: number, width: number, minWidth = 7): number {
  const byElements = Math.floor(MAX_CELLS / Math.max(1, rows));
  const byWidth = Math.floor(width / minWidth);
  return Math.max(1, Math.min(span, byElements, byWidth));
}
