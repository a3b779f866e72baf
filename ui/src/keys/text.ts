// What people type about keys, as what the API takes. Pure.
export const UNITS = { minutes: 60, hours: 3600, days: 86400 } as const;
export type Unit = keyof typeof UNITS;

/** One key a line; nothing is trimmed but the line's end, so that a key with a blank is refused by name and not repaired. */
export function keysOf(text: string): string[] {
  return [
    ...new Set(
      text
        .split("\n")
        .map((line) => line.replace(/\r$/, ""))
        .filter(Boolean),
    ),
  ];
}

export function secondsOf(text: string, unit: Unit): number | null {
  const n = Number(text);
  return text.trim() === "" || !Number.isFinite(n) ? null : n * UNITS[unit];
}

/** `name=value, name=value` as an object; null when a part has no name. */
export function metadataOf(text: string): Record<string, string> | null {
  const found: Record<string, string> = {};
  for (const part of text.split(",").map((each) => each.trim())) {
    if (part === "") continue;
    const at = part.indexOf("=");
    if (at < 1) return null;
    found[part.slice(0, at).trim()] = part.slice(at + 1).trim();
  }
  return found;
}
