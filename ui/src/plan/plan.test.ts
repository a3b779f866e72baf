import { describe, expect, it } from "vitest";
import type { PlanAsset } from "../api/types";
import { filterByReason, reasonsOf } from "./reasons";
import { planSearch, requestFrom } from "./request";

const asset = (key: string, by: Record<string, number>): PlanAsset => ({
  key,
  cells: Object.values(by).reduce((a, b) => a + b, 0),
  by_reason: Object.fromEntries(Object.entries(by).map(([reason, count]) => [reason, { count, text: reason }])),
  tasks: 1,
  wave: 0,
});

describe("plan request in the URL", () => {
  it("comes back as it went in", () => {
    const search = planSearch({
      selection: "raw/flights",
      partitions: "2013-01-01..2013-01-31",
      as: "backfill",
      downstream: true,
    });
    expect(requestFrom(search)).toEqual({
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
