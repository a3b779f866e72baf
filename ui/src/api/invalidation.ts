// Which cached reads a live event makes old. Pure, so that the rule can be read and tested without a browser.
import type { LiveEvent } from "./types";

const STATUS = ["assets", "asset", "strip", "cell", "graph", "summary", "resolve", "partitions"];

const TAGS: Record<LiveEvent["kind"], readonly string[]> = {
  // A publication can make any downstream cell stale, so status is invalidated whole; only mounted queries refetch.
  materialized: [...STATUS, "backfills", "backfill", "automation"],
  observed: [...STATUS, "automation"],
  task: [...STATUS, "run", "tasks", "task", "attempt", "queue", "pools", "runs", "backfill", "backfills", "audit"],
  run: [...STATUS, "run", "runs", "tasks", "queue", "pools", "backfill", "backfills", "automation", "audit"],
  backfill: ["backfill", "backfills", "runs", "summary"],
  // Other definitions, or other keys of a dynamic scheme: which partitions there are.
  // A partition was not there when it was due: nothing moved, but what needs somebody did.
  deadline_missed: ["cell", "summary"],
  freshness: ["freshness", "summary"],
  alert: ["alerts", "alert", "notices", "summary", "audit"],
  job: ["jobs", "audit"],
  pause: [...STATUS, "pauses", "queue", "pools", "tasks", "task", "automation", "audit"],
  location: [...STATUS, "locations", "system", "keys", "evaluators", "audit"],
  plan: ["automation", "request", "summary", "audit"],
};

const RUN_SCOPED = new Set(["run", "tasks"]);
const EVERYTHING = "*";

export class Pending {
  private readonly tags = new Set<string>();
  private readonly runIds = new Set<number>();
  private anyRun = false;
  private events = 0;

  add(event: LiveEvent): void {
    this.events += 1;
    for (const tag of TAGS[event.kind] ?? [EVERYTHING]) this.tags.add(tag);
    if (event.run_id != null) this.runIds.add(event.run_id);
    else this.anyRun = true;
  }

  addAll(): void {
    this.events += 1;
    this.tags.add(EVERYTHING);
  }

  get size(): number {
    return this.events;
  }

  /** True when the query with this key has to be read again. Logs have a stream of their own. */
  matches(queryKey: readonly unknown[]): boolean {
    const tag = String(queryKey[0]);
    if (tag === "log" || tag === "plan") return false;
    if (this.tags.has(EVERYTHING)) return true;
    if (!this.tags.has(tag)) return false;
    if (RUN_SCOPED.has(tag) && !this.anyRun) return this.runIds.has(Number(queryKey[1]));
    return true;
  }
}

/** Milliseconds to collect before the next flush: prompt when quiet, slower in a storm, so that a backfill of
 * thousands of cells costs a handful of reads a second and not one per cell. */
export function flushDelay(eventsInLastFlush: number): number {
  if (eventsInLastFlush > 200) return 1500;
  if (eventsInLastFlush > 20) return 700;
  return 250;
}
