// Positions on the drawn axis. Buckets come from the API with ordinals; selections are intervals of those ordinals.
import type { Bucket } from "../api/types";
import { type Parsed, rangeText, type Term } from "./text";

/** Half-open, sorted, not overlapping. */
export type Interval = readonly [lo: number, hi: number];

export function union(intervals: readonly Interval[]): Interval[] {
  const sorted = [...intervals].filter(([lo, hi]) => hi > lo).sort((a, b) => a[0] - b[0]);
  const out: [number, number][] = [];
  for (const [lo, hi] of sorted) {
    const last = out.at(-1);
    if (last && lo <= last[1]) last[1] = Math.max(last[1], hi);
    else out.push([lo, hi]);
  }
  return out;
}

/** How much of [lo, hi) lies inside: none, some or all of it. */
export function covers(intervals: readonly Interval[], lo: number, hi: number): "none" | "some" | "all" {
  let inside = 0;
  for (const [a, b] of intervals) inside += Math.max(0, Math.min(b, hi) - Math.max(a, lo));
  return inside === 0 ? "none" : inside >= hi - lo ? "all" : "some";
}

function instant(key: string): number {
  // "2013-01" and "2013-01-05" parse as UTC midnight, hours carry their offset: near enough to find a bucket.
  return Date.parse(key);
}

function bucketOf(buckets: readonly Bucket[], key: string, side: "from" | "to"): Bucket | undefined {
  const exact = buckets.find((b) => b.first_key === key || b.last_key === key);
  if (exact) return exact;
  const short = (b: Bucket) => b.first_key.startsWith(key) || b.last_key.startsWith(key);
  const prefixed = side === "from" ? buckets.find(short) : buckets.findLast(short);
  if (prefixed) return prefixed;
  const at = instant(key);
  if (Number.isNaN(at)) return undefined;
  return side === "from"
    ? buckets.find((b) => instant(b.last_key) >= at)
    : buckets.findLast((b) => instant(b.first_key) <= at);
}

export function termInterval(term: Term, buckets: readonly Bucket[], size: number): Interval | null {
  if (term.kind === "all") return [0, size];
  if (term.kind === "latest") return [Math.max(0, size - term.n), size];
  const from = term.from === null ? 0 : bucketOf(buckets, term.from, "from")?.lo;
  const to = term.to === null ? size : bucketOf(buckets, term.to, "to")?.hi;
  if (from === undefined || to === undefined || to <= from) return null;
  return [from, to];
}

/** Where the text's terms for this dimension (null: the only one) lie on the axis. Unmentioned means all of it. */
export function intervalsOf(parsed: Parsed, dim: string | null, buckets: readonly Bucket[], size: number): Interval[] {
  const part = parsed.find((p) => p.dim === dim) ?? parsed.find((p) => p.dim === null);
  if (!part) return parsed.length > 0 ? [[0, size]] : [];
  return union(part.terms.map((term) => termInterval(term, buckets, size)).filter((i): i is Interval => i !== null));
}

/** The rows that the text chooses; null is all of them. */
export function rowsOf(parsed: Parsed, dim: string, keys: readonly string[]): Set<string> | null {
  const part = parsed.find((p) => p.dim === dim);
  if (!part) return null;
  const chosen = new Set<string>();
  for (const term of part.terms) {
    if (term.kind === "all") return null;
    if (term.kind === "latest") for (const key of keys.slice(-term.n)) chosen.add(key);
    else {
      const from = term.from === null ? 0 : keys.indexOf(term.from);
      const to = term.to === null ? keys.length - 1 : keys.indexOf(term.to);
      if (from >= 0) for (const key of keys.slice(from, to + 1)) chosen.add(key);
    }
  }
  return chosen;
}

/** The text of a drag over the buckets between two positions, whichever was first. */
export function dragText(buckets: readonly Bucket[], anchor: number, head: number): string {
  const [a, b] = anchor <= head ? [anchor, head] : [head, anchor];
  return rangeText(buckets[a].first_key, buckets[b].last_key);
}

export function bucketLabel(bucket: Bucket): string {
  return bucket.first_key === bucket.last_key ? bucket.first_key : `${bucket.first_key} … ${bucket.last_key}`;
}
