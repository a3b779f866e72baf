// The planner's reasons in the words and tones of the page.
import type { PlanAsset } from "../api/types";

const LOOK: Record<string, { word: string; state: string }> = {
  missing: { word: "missing", state: "missing" },
  failed: { word: "failed", state: "failed" },
  stale_code: { word: "stale: code", state: "stale" },
  stale_data: { word: "stale: data", state: "stale" },
  stale_dependencies: { word: "stale: dependencies", state: "upstream_stale" },
  forced: { word: "asked for", state: "queued" },
};

export function reasonLook(code: string): { word: string; state: string } {
  return LOOK[code] ?? { word: code.replaceAll("_", " "), state: "missing" };
}

export function reasonsOf(byReason: Partial<Record<string, number>>): [string, number][] {
  return Object.entries(byReason).filter((entry): entry is [string, number] => (entry[1] ?? 0) > 0);
}

/** The assets and their cell counts under a filter by reason; null keeps everything. */
export function filterByReason(assets: PlanAsset[], reason: string | null): { asset: PlanAsset; cells: number }[] {
  if (reason === null) return assets.map((asset) => ({ asset, cells: asset.cells }));
  return assets
    .map((asset) => ({ asset, cells: asset.by_reason[reason]?.count ?? 0 }))
    .filter(({ cells }) => cells > 0);
}
