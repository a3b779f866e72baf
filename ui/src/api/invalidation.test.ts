import { describe, expect, it } from "vitest";
import { flushDelay, Pending } from "./invalidation";
import type { LiveEvent } from "./types";

const event = (part: Partial<LiveEvent> & Pick<LiveEvent, "kind">): LiveEvent => ({
  id: 1,
  at: "2026-03-01T00:00:00Z",
  asset: null,
  partition: null,
  run_id: null,
  trace_id: null,
  task_id: null,
  state: null,
  ...part,
});

describe("Pending", () => {
  it("keeps other runs' pages quiet when the event names a run", () => {
    const pending = new Pending();
    pending.add(event({ kind: "task", run_id: 7 }));
    expect(pending.matches(["run", 7])).toBe(true);
    expect(pending.matches(["tasks", 7, {}])).toBe(true);
    expect(pending.matches(["run", 8])).toBe(false);
  });

  it("invalidates status of every asset on a publication, since any downstream may be stale now", () => {
    const pending = new Pending();
    pending.add(event({ kind: "materialized", asset: "a", partition: "p" }));
    expect(pending.matches(["strip", "b", {}])).toBe(true);
    expect(pending.matches(["locations"])).toBe(false);
  });

  it("reads everything but logs and stored plans after a resync", () => {
    const pending = new Pending();
    pending.addAll();
    expect(pending.matches(["system"])).toBe(true);
    expect(pending.matches(["log", 1])).toBe(false);
    expect(pending.matches(["plan", "1"])).toBe(false);
  });

  it("collects longer in a storm", () => {
    expect(flushDelay(1)).toBeLessThan(flushDelay(50));
    expect(flushDelay(50)).toBeLessThan(flushDelay(5000));
  });
});
