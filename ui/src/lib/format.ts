// Numbers, durations and times as text. Times are relative in place, absolute with the zone on hover.
const NUMBER = new Intl.NumberFormat("en-US");

export function count(n: number): string {
  return NUMBER.format(n);
}

export function plural(n: number, one: string, many = `${one}s`): string {
  return `${count(n)} ${n === 1 ? one : many}`;
}

/** Seconds as the two largest units: 0.4 s, 12 s, 3 m 05 s, 2 h 10 m, 4 d 3 h. */
export function duration(seconds: number): string {
  if (!Number.isFinite(seconds)) return "–";
  const s = Math.max(0, seconds);
  if (s < 1) return `${Math.round(s * 1000)} ms`;
  if (s < 10) return Number.isInteger(s) ? `${s} s` : `${s.toFixed(1)} s`;
  if (s < 60) return `${Math.round(s)} s`;
  const whole = Math.round(s);
  const two = (n: number, unit: string, rest: number, small: string) =>
    rest === 0 ? `${n} ${unit}` : `${n} ${unit} ${unit === "d" ? rest : String(rest).padStart(2, "0")} ${small}`;
  if (whole < 3600) return two(Math.floor(whole / 60), "m", whole % 60, "s");
  if (whole < 86400) return two(Math.floor(whole / 3600), "h", Math.floor((whole % 3600) / 60), "m");
  return two(Math.floor(whole / 86400), "d", Math.floor((whole % 86400) / 3600), "h");
}

export function between(from: string | null, to: string | null, now: number): number | null {
  if (!from) return null;
  return ((to ? Date.parse(to) : now) - Date.parse(from)) / 1000;
}

export function relative(iso: string, now: number): string {
  const seconds = (now - Date.parse(iso)) / 1000;
  const ahead = seconds < 0;
  const s = Math.abs(seconds);
  if (s < 5) return "now";
  const [n, unit] =
    s < 60
      ? [Math.floor(s), "s"]
      : s < 3600
        ? [Math.floor(s / 60), "m"]
        : s < 86400
          ? [Math.floor(s / 3600), "h"]
          : [Math.floor(s / 86400), "d"];
  return ahead ? `in ${n} ${unit}` : `${n} ${unit} ago`;
}

const FAR_S = 45 * 86400;

/** Relative while that is easy to grasp; the plain date once it is weeks away. */
export function moment(iso: string, zone: string, now: number): string {
  if (Math.abs(now - Date.parse(iso)) / 1000 < FAR_S) return relative(iso, now);
  return new Intl.DateTimeFormat("en-GB", { timeZone: zone, day: "numeric", month: "short", year: "numeric" }).format(
    new Date(iso),
  );
}

export function absolute(iso: string, zone: string): string {
  const text = new Intl.DateTimeFormat("en-GB", {
    timeZone: zone,
    year: "numeric",
    month: "short",
    day: "2-digit",
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
    hourCycle: "h23",
    timeZoneName: "short",
  }).format(new Date(iso));
  return text.endsWith(zone) ? text : `${text} (${zone})`;
}

/** A wall time to the minute with its offset, for the bounds of partitions: 6 Feb 2013, 00:00 GMT-5. */
export function wall(iso: string, zone: string): string {
  return new Intl.DateTimeFormat("en-GB", {
    timeZone: zone,
    year: "numeric",
    month: "short",
    day: "numeric",
    hour: "2-digit",
    minute: "2-digit",
    hourCycle: "h23",
    timeZoneName: "short",
  }).format(new Date(iso));
}

export function clock(iso: string | number, zone: string): string {
  return new Intl.DateTimeFormat("en-GB", {
    timeZone: zone,
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
    hourCycle: "h23",
  }).format(new Date(iso));
}

export function shortHash(text: string | null | undefined): string {
  if (!text) return "–";
  const bare = text.replace(/^[a-z0-9]+:/, "");
  return bare.length > 12 ? bare.slice(0, 10) : bare;
}

/** A small record as text: `rows 842, nulls 0`. Nested values are JSON. */
export function recordText(record: Record<string, unknown> | null | undefined): string {
  return Object.entries(record ?? {})
    .map(([name, value]) => `${name.replaceAll("_", " ")} ${typeof value === "object" ? JSON.stringify(value) : value}`)
    .join(", ");
}

/** A stored partition key as people read it. Only the asset's kind says whether it is a product: keys are data. */
export function partitionLabel(partition: string, multi: boolean): string {
  if (partition === "") return "all";
  if (!multi) return partition;
  try {
    const parts: unknown = JSON.parse(partition);
    return Array.isArray(parts) ? parts.join(" × ") : partition;
  } catch {
    return partition;
  }
}
