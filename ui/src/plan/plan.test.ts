import { describe, expect, it } from "vitest";
import type { PlanAsset, PlanDifference } from "../api/types";
import { assetRows, behind, differenceSentence } from "./difference";
import { filterByReason, reasonsOf } from "./reasons";
import { planSearch, requestFrom } from "./request";
import { shownSlots } from "./slots";
import { waveCount, waveName } from "./waves";

const asset = (key: string, by: Record<string, number>): PlanAsset => ({
  key,
  cells: Object.values(by).reduce((a, b) => a + b, 0),
  by_reason: Object.fromEntries(Object.entries(by).map(([reason, count]) => [reason, { count, text: reason }])),
  partitions: "",
  tasks: 1,
  wave: 0,
  mean_s: null,
  samples: 0,
});

describe("plan request in the URL", () => {
  it("comes back as it went in", () => {
    const search = planSearch({
      selection: "raw/flights",
      partitions: "2013-01-01..2013-01-31",
      as: "backfill",
      downstream: true,
      params: { floor: 3 },
    });
    expect(requestFrom(search)).toEqual({
      params: { floor: 3 },
      selection: "raw/flights",
      partitions: "2013-01-01..2013-01-31",
      mode: ["missing", "failed", "stale"],
      upstream: false,
      downstream: true,
      as: "backfill",
    });
  });

  it("keeps the address short: the default mode is not written", () => {
    expect(planSearch({ selection: "a", as: "run", mode: ["missing", "failed", "stale"] }).mode).toBeUndefined();
    expect(requestFrom(planSearch({ selection: "a", as: "run", mode: ["all"] })).mode).toEqual(["all"]);
  });
});

describe("reasons", () => {
  it("filter to the assets and counts they concern", () => {
    const assets = [asset("a", { missing: 28, stale_data: 3 }), asset("b", { missing: 1 })];
    expect(filterByReason(assets, "stale_data").map(({ asset: a, cells }) => [a.key, cells])).toEqual([["a", 3]]);
    expect(filterByReason(assets, null).map(({ cells }) => cells)).toEqual([31, 1]);
  });

  it("drop the ones that do not occur", () => {
    expect(reasonsOf({ missing: 28, failed: 0 })).toEqual([["missing", 28]]);
  });
});

describe("waves", () => {
  it("that are alike are named together and counted each", () => {
    const waves = [
      { index: 0, count: 1 },
      { index: 1, count: 364 },
    ];
    expect(waves.map(waveName)).toEqual(["Wave 1", "Waves 2–365"]);
    expect(waveCount(waves)).toBe(365);
  });
});

describe("slots", () => {
  const times = [1, 2, 4, 6, 8, 16, 32, 64, 100].map((slots) => ({ slots, makespan_s: 100 / slots }));

  it("show the first, the last and what is there, six at most", () => {
    const shown = shownSlots(times, 6).map((one) => one.slots);
    expect(shown).toHaveLength(6);
    for (const slots of [1, 6, 100]) expect(shown).toContain(slots);
    expect(shown).toEqual([...shown].sort((a, b) => a - b));
    expect(shownSlots(times.slice(0, 3), 6)).toEqual(times.slice(0, 3));
  });
});

describe("what differs between two plans", () => {
  const nothing: PlanDifference = {
    was: "a".repeat(64),
    now: "b".repeat(64),
    same: true,
    text: "nothing differs",
    request: [],
    snapshots: [],
    assets: [],
    batches: [],
    keys: [],
  };
  const cells = (count: number, partitions: string) => ({ count, partitions });
  const moved: PlanDifference = {
    ...nothing,
    same: false,
    assets: [
      {
        key: "flights",
        added: cells(2, "2013-01-01..2013-01-02"),
        removed: cells(1, "2013-01-09"),
        reasons: [{ was: "missing", now: "stale_code", cells: cells(3, "") }],
        rescaled: false,
      },
      { key: "letters", added: cells(4, ""), removed: cells(4, ""), reasons: [], rescaled: true },
    ],
  };

  it("is told by asset: what came in, dropped out, and runs for another reason", () => {
    const [flights, letters] = assetRows(moved);
    expect(flights?.rows.map(({ sign, cells, text }) => [sign, cells, text])).toEqual([
      ["+", 2, "came in"],
      ["−", 1, "dropped out"],
      ["±", 3, "stale: code, was missing"],
    ]);
    expect(letters?.note).toContain("no cell can be matched");
    expect(differenceSentence(moved)).toBe("6 cells came in, 5 cells dropped out, 3 cells run for another reason.");
  });

  it("names what stands behind it, and only that", () => {
    const found = behind({
      ...nothing,
      same: false,
      keys: ["keys of 'customers': 'acme' came in"],
      snapshots: [{ name: "shop", was: "0123456789abcdef", now: "fedcba9876543210" }],
      batches: [{ name: "orders", was: "3", now: "3" }],
    });
    expect(found.map(({ title, rows }) => [title, rows[0]?.text])).toEqual([
      ["Dynamic keys", "keys of 'customers': 'acme' came in"],
      ["Code", "version fedcba987654, was 0123456789ab"],
      ["Batches", "cut into other tasks, as many"],
    ]);
    expect(behind(nothing)).toEqual([]);
  });

  it("says when nothing differs any more, and when only the way does", () => {
    expect(differenceSentence(nothing)).toContain("Nothing differs any more");
    expect(differenceSentence({ ...nothing, same: false })).toBe("The same cells, made in another way.");
  });
});
