// The vocabulary of states: order, word, tone, glyph. Every view reads it from here, so a state looks the same everywhere.
import type { CellState, Counts } from "../api/types";

export type Tone = "green" | "blue" | "violet" | "teal" | "orange" | "amber" | "red" | "grey";
export type Glyph =
  | "filled"
  | "dot"
  | "running"
  | "full"
  | "outline"
  | "clock"
  | "hand"
  | "arrow"
  | "half"
  | "half-outline"
  | "cross"
  | "hatch"
  | "hollow"
  | "dash"
  | "slash"
  | "dotted";

export type Look = { word: string; tone: Tone; glyph: Glyph; means: string };

export const LOOKS: Record<CellState, Look> = {
  failed: { word: "failed", tone: "red", glyph: "cross", means: "The last attempt failed." },
  upstream_failed: {
    word: "upstream failed",
    tone: "red",
    glyph: "hatch",
    means: "An upstream failed, so it did not run.",
  },
  up_for_retry: { word: "up for retry", tone: "orange", glyph: "arrow", means: "Failed, and will be tried again." },
  running: { word: "running", tone: "blue", glyph: "running", means: "An attempt is running." },
  queued: { word: "queued", tone: "violet", glyph: "full", means: "Admitted, waiting for a worker." },
  scheduled: { word: "scheduled", tone: "violet", glyph: "outline", means: "Part of an open run, not admitted yet." },
  deferred: { word: "deferred", tone: "teal", glyph: "clock", means: "Waiting outside a slot." },
  awaiting_input: { word: "awaiting input", tone: "teal", glyph: "hand", means: "A person has to decide." },
  stale: { word: "stale", tone: "amber", glyph: "half", means: "Code or inputs changed since it was made." },
  upstream_stale: {
    word: "upstream stale",
    tone: "amber",
    glyph: "half-outline",
    means: "An upstream is missing or stale.",
  },
  missing: { word: "missing", tone: "grey", glyph: "hollow", means: "Never materialized." },
  fresh: { word: "fresh", tone: "green", glyph: "filled", means: "Made by the present code from the present inputs." },
  unchanged: { word: "unchanged", tone: "green", glyph: "dot", means: "Confirmed: the data did not change." },
  skipped: { word: "skipped", tone: "grey", glyph: "dash", means: "The attempt chose to produce nothing." },
  cancelled: { word: "cancelled", tone: "grey", glyph: "slash", means: "Cancelled before it was done." },
  removed: { word: "removed", tone: "grey", glyph: "dotted", means: "No longer part of the run." },
};

/** Severity order: what needs a person first, what is well last. Bars, chips and dominant states follow it. */
export const ORDER = Object.keys(LOOKS) as CellState[];

/** Bars read from well to not there, so that progress grows from the left. */
export const BAR_ORDER: CellState[] = [
  "fresh",
  "unchanged",
  "skipped",
  "running",
  "queued",
  "scheduled",
  "deferred",
  "awaiting_input",
  "up_for_retry",
  "stale",
  "upstream_stale",
  "failed",
  "upstream_failed",
  "cancelled",
  "removed",
  "missing",
];

const ALIASES: Record<string, CellState> = {
  success: "fresh",
  succeeded: "fresh",
  published: "fresh",
  ok: "fresh",
  none: "missing",
  pending: "scheduled",
  waiting: "scheduled",
  created: "scheduled",
  canceled: "cancelled",
  cancelling: "cancelled",
  canceling: "cancelled",
  error: "failed",
  lost: "failed",
  open: "running",
  active: "running",
};

/** The cell state whose look a task, run or attempt state shares ("success" looks like fresh). */
export function lookKey(state: string): CellState {
  return state in LOOKS ? (state as CellState) : (ALIASES[state] ?? "missing");
}

/** A run or task says "success" where a cell says "fresh"; the word stays the API's, only the look is shared. */
export function wordOf(state: string): string {
  if (state === "none") return "waiting"; // a task whose upstream tasks are not done; its reason says for what
  return state in LOOKS ? LOOKS[state as CellState].word : state.replaceAll("_", " ");
}

/** Tallies of task or run states in the order of severity, zeroes left out. */
export function ranked(tallies: Record<string, number>): [string, number][] {
  return Object.entries(tallies)
    .filter(([, n]) => n > 0)
    .sort(([a], [b]) => ORDER.indexOf(lookKey(a)) - ORDER.indexOf(lookKey(b)));
}

export function totalOf(counts: Counts): number {
  let total = 0;
  for (const n of Object.values(counts)) total += n ?? 0;
  return total;
}

/** What a bucket or node shows as one state: the most severe one present. */
export function dominant(counts: Counts): CellState {
  return ORDER.find((state) => (counts[state] ?? 0) > 0) ?? "missing";
}

export function entries(counts: Counts, order: CellState[] = ORDER): [CellState, number][] {
  return order.filter((state) => (counts[state] ?? 0) > 0).map((state) => [state, counts[state] ?? 0]);
}

export function addCounts(into: Counts, more: Counts): Counts {
  const sum: Counts = { ...into };
  for (const [state, n] of Object.entries(more) as [CellState, number][]) sum[state] = (sum[state] ?? 0) + n;
  return sum;
}
