// A plan request as URL params and back: the plan page can be reloaded, shared and planned again from its address.
import type { PlanRequest } from "../api/types";

export type PlanSearch = {
  selection?: string;
  partitions?: string;
  mode?: string;
  upstream?: string;
  downstream?: string;
  as?: string;
  /** JSON. */
  params?: string;
  /** As people write them: `a=1, b=2`. */
  tags?: string;
  lane?: string;
  /** How many of its tasks at once, in digits. */
  max_active?: string;
};

const NEEDED: PlanRequest["mode"] = ["missing", "failed", "stale"];

export function planSearch(request: {
  selection: string;
  partitions?: string;
  as: "run" | "backfill";
  mode?: PlanRequest["mode"];
  upstream?: boolean;
  downstream?: boolean;
  params?: Record<string, unknown>;
}): PlanSearch {
  return {
    selection: request.selection,
    partitions: request.partitions || undefined,
    as: request.as,
    mode: request.mode && request.mode.join() !== NEEDED.join() ? request.mode.join() : undefined,
    upstream: request.upstream ? "1" : undefined,
    downstream: request.downstream ? "1" : undefined,
    params: Object.keys(request.params ?? {}).length > 0 ? JSON.stringify(request.params) : undefined,
  };
}

/** None where the address holds something else: it is typed by people, too. */
export function paramsOf(search: PlanSearch): Record<string, unknown> {
  try {
    const found: unknown = JSON.parse(search.params ?? "{}");
    return found !== null && typeof found === "object" && !Array.isArray(found)
      ? (found as Record<string, unknown>)
      : {};
  } catch {
    return {};
  }
}

/** `a=1, b=2` as tags; a part without `=` becomes a tag of that name. */
export function tagsOf(text: string): Record<string, string> {
  const parts = text
    .split(",")
    .map((part) => part.trim())
    .filter(Boolean);
  return Object.fromEntries(
    parts.map((part) => {
      const [name, ...value] = part.split("=");
      return [name.trim(), value.join("=").trim()];
    }),
  );
}

export function tagsText(tags: Record<string, string>): string {
  return Object.entries(tags)
    .map(([name, value]) => `${name}=${value}`)
    .join(", ");
}

export function requestFrom(search: PlanSearch): PlanRequest {
  const mode = search.mode ? (search.mode.split(",") as PlanRequest["mode"]) : NEEDED;
  return {
    selection: search.selection ?? "*",
    partitions: search.partitions,
    mode,
    upstream: search.upstream === "1",
    downstream: search.downstream === "1",
    params: paramsOf(search),
    as: search.as === "run" ? "run" : "backfill",
  };
}
