import { describe, expect, it } from "vitest";
import type { AttemptSummary, TaskRow } from "../../api/types";
import { axisTicks, barsOf, domainOf, share, zoomDomain } from "./timeline";

const T = (s: number) => new Date(1_000_000_000_000 + s * 1000).toISOString();
const at = (s: number) => 1_000_000_000_000 + s * 1000;

function attempt(number: number, from: number, to: number | null, state: string): AttemptSummary {
  return {
    id: number * 10,
    number,
    state,
    outcome: null,
    worker: "w",
    queued_at: null,
    started_at: T(from),
    finished_at: to === null ? null : T(to),
    error: null,
    retry_at: null,
  };
}

function task(part: Partial<TaskRow>): TaskRow {
  return {
    id: 1,
    run_id: 1,
    step: "s",
    assets: ["s"],
    partitions_text: "",
    cell_count: 1,
    state: "running",
    outcome: null,
    outcome_text: null,
    reason: null,
    wave: 0,
    attempt_number: 1,
    max_attempts: 4,
    ready_at: T(0),
    queued_at: T(1),
    started_at: null,
    finished_at: null,
    not_before: null,
    worker: null,
    error: null,
    attempts: [],
    ...part,
  };
}

describe("barsOf", () => {
  it("keeps queue time, each attempt and the pause between them apart", () => {
    const bars = barsOf(
      task({ attempts: [attempt(1, 2, 5, "failed"), attempt(2, 9, 12, "success")], finished_at: T(12) }),
      at(60),
    );
    expect(bars.map((b) => [b.kind, (b.from - at(0)) / 1000, (b.to - at(0)) / 1000])).toEqual([
      ["queue", 0, 2],
      ["run", 2, 5],
      ["backoff", 5, 9],
      ["run", 9, 12],
    ]);
  });

  it("shows what never started as waiting until its end", () => {
    const bars = barsOf(task({ state: "cancelled", finished_at: T(4) }), at(60));
    expect(bars).toEqual([{ kind: "queue", state: "queued", from: at(0), to: at(4), attempt: null }]);
  });

  it("lets open bars reach to now", () => {
    expect(barsOf(task({}), at(7)).at(-1)).toMatchObject({ kind: "queue", to: at(7) });
    for (const state of ["deferred", "awaiting_input"])
      expect(barsOf(task({ state }), at(7)).at(-1)).toMatchObject({ kind: "queue", state });
    expect(barsOf(task({ attempts: [attempt(1, 2, null, "running")] }), at(7)).at(-1)).toMatchObject({
      kind: "run",
      to: at(7),
    });
    expect(barsOf(task({ attempts: [attempt(1, 2, 3, "failed")], state: "up_for_retry" }), at(7)).at(-1)).toMatchObject(
      {
        kind: "backoff",
        from: at(3),
        to: at(7),
      },
    );
  });
});

describe("the axis", () => {
  it("spans the run and grows with now while it is open", () => {
    expect(domainOf([task({ ready_at: T(-1) })], T(0), null, at(30))).toEqual({ from: at(-1), to: at(30) });
    expect(domainOf([], T(0), T(0), at(30)).to - at(0)).toBe(1000);
  });

  it("zooms around the pointer", () => {
    const zoomed = zoomDomain({ from: at(0), to: at(100) }, 0.5, 0.5);
    expect(zoomed).toEqual({ from: at(25), to: at(75) });
    expect(share(zoomed, at(50))).toBe(0.5);
  });

  it("ticks at round seconds since the start", () => {
    expect(axisTicks({ from: at(0), to: at(47) }, at(0), 10)).toEqual([0, 5, 10, 15, 20, 25, 30, 35, 40, 45]);
  });
});
