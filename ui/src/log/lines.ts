// Log lines as a growing list: merging pages and streamed lines without doubles, levels as a ladder, marks of a search.
import type { LogLine } from "../api/types";

const LADDER = ["debug", "info", "warning", "error"] as const;
export type Level = (typeof LADDER)[number];
export const LEVELS: readonly Level[] = LADDER;

export function rank(level: string | null): number {
  const name = (level ?? "info").toLowerCase();
  if (name.startsWith("warn")) return 2;
  if (name === "critical" || name === "fatal") return 3;
  const at = LADDER.indexOf(name as Level);
  return at < 0 ? 1 : at;
}

/** Keeps the order by line number; a line that is already there is not taken twice. */
export function merge(lines: readonly LogLine[], more: readonly LogLine[]): LogLine[] {
  if (more.length === 0) return lines as LogLine[];
  const last = lines.at(-1)?.n ?? Number.NEGATIVE_INFINITY;
  if (more[0].n > last) return [...lines, ...more];
  const known = new Set(lines.map((line) => line.n));
  return [...lines, ...more.filter((line) => !known.has(line.n))].sort((a, b) => a.n - b.n);
}

export function keep(lines: readonly LogLine[], search: string, level: string): LogLine[] {
  const text = search.toLowerCase();
  const least = level ? rank(level) : 0;
  return lines.filter((line) => rank(line.level) >= least && (text === "" || line.text.toLowerCase().includes(text)));
}

/** The text cut at the occurrences of the search; odd places are the hits. */
export function marked(text: string, search: string): string[] {
  if (search === "") return [text];
  const parts: string[] = [];
  const low = text.toLowerCase();
  const want = search.toLowerCase();
  let from = 0;
  for (let at = low.indexOf(want); at >= 0; at = low.indexOf(want, from)) {
    parts.push(text.slice(from, at), text.slice(at, at + want.length));
    from = at + want.length;
  }
  parts.push(text.slice(from));
  return parts;
}
