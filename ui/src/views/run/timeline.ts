// Where bars lie on a run's time axis. Pure: instants in, shares of the axis out.
import type { TaskRow } from "../../api/types";

export type Domain = { from: number; to: number };
export type Bar = {
  kind: "queue" | "run" | "backoff";
  state: string;
  from: number;
  to: number;
  attempt: number | null;
};

const ms = (iso: string | null | undefined): number | null => (iso ? Date.parse(iso) : null);

/** States of a task that waits, and for no worker. */
const ASKED_ELSEWHERE = new Set(["deferred", "awaiting_input"]);

/** Queue time apart from run time; every retry a bar of its own, with the pause between them. Open ends reach to now. */
export function barsOf(task: TaskRow, now: number): Bar[] {
  const bars: Bar[] = [];
  const attempts = [...task.attempts].sort((a, b) => a.number - b.number);
  let waitingSince = ms(task.ready_at) ?? ms(task.queued_at);
  for (const attempt of attempts) {
    const started = ms(attempt.started_at);
    const first = bars.length === 0;
    if (started === null) continue;
    if (waitingSince !== null && started > waitingSince)
      bars.push({
        kind: first ? "queue" : "backoff",
        state: first ? "queued" : "up_for_retry",
        from: waitingSince,
        to: started,
        attempt: null,
      });
    const ended = ms(attempt.finished_at) ?? now;
    bars.push({ kind: "run", state: attempt.state, from: started, to: Math.max(started, ended), attempt: attempt.id });
    waitingSince = ended;
  }
  const finished = ms(task.finished_at);
  // Cancelled or failed before an attempt: all of it was waiting.
  if (finished !== null && bars.length === 0 && waitingSince !== null && waitingSince < finished)
    bars.push({ kind: "queue", state: "queued", from: waitingSince, to: finished, attempt: null });
  const open = finished === null;
  const running = attempts.some((attempt) => attempt.started_at && !attempt.finished_at);
  if (open && !running && waitingSince !== null && waitingSince < now)
    bars.push({
      kind: bars.length === 0 ? "queue" : "backoff",
      state: ASKED_ELSEWHERE.has(task.state) ? task.state : bars.length === 0 ? "queued" : "up_for_retry",
      from: waitingSince,
      to: now,
      attempt: null,
    });
  return bars;
}

export function domainOf(tasks: TaskRow[], start: string, end: string | null, now: number): Domain {
  let from = Date.parse(start);
  let to = end ? Date.parse(end) : now;
  for (const task of tasks) {
    from = Math.min(from, ms(task.ready_at) ?? from);
    to = Math.max(to, ms(task.finished_at) ?? to);
  }
  return { from, to: Math.max(to, from + 1000) };
}

export function share(domain: Domain, at: number): number {
  return Math.max(0, Math.min(1, (at - domain.from) / (domain.to - domain.from)));
}

export function zoomDomain(domain: Domain, factor: number, at: number): Domain {
  const pivot = domain.from + (domain.to - domain.from) * at;
  const span = Math.max(500, (domain.to - domain.from) * factor);
  return { from: pivot - span * at, to: pivot + span * (1 - at) };
}

const STEPS_S = [0.1, 0.5, 1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 21600, 43200, 86400];

/** Seconds since the run began at which to draw a tick, at most `most` of them. */
export function axisTicks(domain: Domain, origin: number, most: number): number[] {
  const span = (domain.to - domain.from) / 1000;
  const step = STEPS_S.find((s) => span / s <= most) ?? Math.ceil(span / most / 86400) * 86400;
  const first = Math.ceil((domain.from - origin) / 1000 / step) * step;
  const ticks: number[] = [];
  for (let s = first; s * 1000 + origin <= domain.to; s += step) ticks.push(Number(s.toFixed(3)));
  return ticks;
}
