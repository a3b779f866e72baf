// Days as calendar months. Works on keys (local dates of the asset's zone), so no time zone can move a day.
import type { Bucket } from "../api/types";

export type Day = { index: number; key: string; day: number; column: number; row: number };
export type Month = { id: string; year: number; month: number; days: Day[] };

const DATE = /^(\d{4})-(\d{2})-(\d{2})/;

export function isCalendar(cadence: string | null, buckets: readonly Bucket[]): boolean {
  return cadence === "day" && buckets.every((b) => b.hi - b.lo === 1 && DATE.test(b.first_key));
}

/** Monday is the first column. */
function weekday(year: number, month: number, day: number): number {
  return (new Date(Date.UTC(year, month - 1, day)).getUTCDay() + 6) % 7;
}

export function monthsOf(buckets: readonly Bucket[]): Month[] {
  const months: Month[] = [];
  buckets.forEach((bucket, index) => {
    const [, y, m, d] = DATE.exec(bucket.first_key) ?? [];
    if (!y) return;
    const id = `${y}-${m}`;
    const [year, month, day] = [Number(y), Number(m), Number(d)];
    if (months.at(-1)?.id !== id) months.push({ id, year, month, days: [] });
    const lead = weekday(year, month, 1);
    months.at(-1)!.days.push({
      index,
      key: bucket.first_key,
      day,
      column: (lead + day - 1) % 7,
      row: Math.floor((lead + day - 1) / 7),
    });
  });
  return months;
}

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

export function monthName(month: number): string {
  return MONTHS[month - 1];
}

/** The ordinals of one year of a daily axis, from the key of ordinal 0. Approximate where days are excluded. */
export function yearWindow(firstKey: string, year: number, size: number): { lo: number; hi: number } {
  const start = Date.parse(firstKey.slice(0, 10));
  const ordinal = (y: number) => Math.round((Date.UTC(y, 0, 1) - start) / 86_400_000);
  return { lo: Math.max(0, ordinal(year)), hi: Math.min(size, ordinal(year + 1)) };
}

type Tick = { index: number; text: string };

/** Labels at the changes of year, month, day or hour: the finest that still leaves room. */
export function ticks(buckets: readonly Bucket[], most: number): Tick[] {
  if (buckets.length === 0) return [];
  if (!/^\d{4}/.test(buckets[0].first_key)) {
    const step = Math.ceil(buckets.length / Math.max(1, most));
    return buckets.flatMap((b, index) => (index % step === 0 ? [{ index, text: b.first_key }] : []));
  }
  let best: Tick[] = [];
  for (const length of [4, 7, 10, 13]) {
    const found: Tick[] = [];
    let before = "";
    buckets.forEach((bucket, index) => {
      const part = bucket.first_key.slice(0, length);
      if (part !== before && bucket.first_key.length >= length)
        found.push({ index, text: tickText(bucket.first_key, length) });
      before = part;
    });
    if (found.length === 0 || (found.length > most && best.length > 1)) break;
    best = found.length > most ? found.filter((_, i) => i % Math.ceil(found.length / most) === 0) : found;
  }
  return best;
}

function tickText(key: string, length: number): string {
  const [year, month, day] = [key.slice(0, 4), Number(key.slice(5, 7)), Number(key.slice(8, 10))];
  if (length === 4) return year;
  if (length === 7) return month === 1 ? `Jan ${year}` : monthName(month);
  if (length === 10) return `${day} ${monthName(month)}`;
  return `${key.slice(11, 13)}:00`;
}
