// A plan request as URL params and back: the plan page can be reloaded, shared and planned again from its address.
import type { PlanRequest } from "../api/types";

export type PlanSearch = {
  selection?: string;
  partitions?: string;
  mode?: string;
  upstream?: string;
  downstream?: string;
  as?: string;
};

const NEEDED: PlanRequest["mode"] = ["missing", "failed", "stale"];

export function planSearch(request: {
  selection: string;
  partitions?: string;
  as: "run" | "backfill";
  mode?: PlanRequest["mode"];
  upstream?: boolean;
  downstream?: boolean;
}): PlanSearch {
  return {
    selection: request.selection,
    partitions: request.partitions || undefined,
    as: request.as,
    mode: request.mode && request.mode.join() !== NEEDED.join() ? request.mode.join() : undefined,
    upstream: request.upstream ? "1" : undefined,
    downstream: request.downstream ? "1" : undefined,
  };
}

export function requestFrom(search: PlanSearch): PlanRequest {
  const mode = search.mode ? (search.mode.split(",") as PlanRequest["mode"]) : NEEDED;
  return {
    selection: search.selection ?? "*",
    partitions: search.partitions,
    mode,
    upstream: search.upstream === "1",
    downstream: search.downstream === "1",
    as: search.as === "run" ? "run" : "backfill",
  };
}
