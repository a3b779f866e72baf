// The text form of a selection, the same grammar as the CLI: all, latest N, KEY, FROM..TO, unions with commas, and
// `dim=expr; dim2=expr` for products. Keys are data: what could be misread is quoted, and nothing splits inside quotes.

export type Term =
  | { kind: "all" }
  | { kind: "latest"; n: number }
  | { kind: "range"; from: string | null; to: string | null };

export type Parsed = { dim: string | null; terms: Term[] }[];

const PLAIN = /^[\p{L}\p{N}_+:/-](?:[\p{L}\p{N}_+:/-]|\.(?!\.))*$/u;

export function quoteKey(key: string): string {
  if (PLAIN.test(key) && !/^(all|latest|missing|stale|failed)$/i.test(key) && !key.endsWith(".")) return key;
  return `"${key.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`;
}

export function unquoteKey(text: string): string {
  const body = text.trim();
  if (!body.startsWith('"')) return body;
  return body.slice(1, body.endsWith('"') ? -1 : undefined).replace(/\\(["\\])/g, "$1");
}

export function rangeText(first: string, last: string): string {
  return first === last ? quoteKey(first) : `${quoteKey(first)}..${quoteKey(last)}`;
}

/** Splits on a separator outside of quotes. Backslash escapes inside quotes. */
export function splitOutside(text: string, separator: string): string[] {
  const parts: string[] = [];
  let start = 0;
  let quoted = false;
  for (let i = 0; i < text.length; i++) {
    if (quoted && text[i] === "\\") i++;
    else if (text[i] === '"') quoted = !quoted;
    else if (!quoted && text.startsWith(separator, i)) {
      parts.push(text.slice(start, i));
      start = i + separator.length;
      i = start - 1;
    }
  }
  parts.push(text.slice(start));
  return parts.map((part) => part.trim());
}

function parseTerm(text: string): Term {
  if (/^all$/i.test(text)) return { kind: "all" };
  const latest = /^latest(?:\s+(\d+))?$/i.exec(text);
  if (latest) return { kind: "latest", n: Number(latest[1] ?? 1) };
  const ends = splitOutside(text, "..");
  if (ends.length === 1) return { kind: "range", from: unquoteKey(text), to: unquoteKey(text) };
  return { kind: "range", from: unquoteKey(ends[0]) || null, to: unquoteKey(ends[1]) || null };
}

function parseTerms(text: string): Term[] {
  return splitOutside(text, ",")
    .filter((part) => part !== "")
    .map(parseTerm);
}

/** A tolerant reading for highlighting only; the API is the judge of what the text selects. */
export function parseSelection(text: string): Parsed {
  return splitOutside(text, ";")
    .filter((part) => part !== "")
    .map((part) => {
      const [dim, ...rest] = splitOutside(part, "=");
      if (rest.length === 0) return { dim: null, terms: parseTerms(part) };
      return { dim: unquoteKey(dim), terms: parseTerms(rest.join("=")) };
    });
}

/** `hour=A..B; origin="EWR", "JFK"`; a dimension that is chosen whole is left out. */
export function productText(parts: { dim: string; text: string | null }[]): string {
  const chosen = parts.filter((part) => part.text !== null);
  if (chosen.length === 0) return "all";
  return chosen.map(({ dim, text }) => `${quoteKey(dim)}=${text}`).join("; ");
}
