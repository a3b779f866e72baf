// What differs between two plans, as rows for people: asset by asset, then what stands behind it. Pure.
import type { PlanDifference } from "../api/types";
import { plural } from "../lib/format";
import { reasonLook } from "./reasons";

/** `sign` says whether the cells came in, dropped out or stayed and run for another reason. */
export type CellsRow = { sign: "+" | "−" | "±"; cells: number; partitions: string; text: string; state: string };
export type AssetRows = { key: string; note: string; rows: CellsRow[] };
export type Behind = { title: string; rows: { name: string; text: string }[] };

export function assetRows(difference: PlanDifference): AssetRows[] {
  return difference.assets.map((asset) => {
    const rows: CellsRow[] = [];
    if (asset.added)
      rows.push({
        sign: "+",
        cells: asset.added.count,
        partitions: asset.added.partitions,
        text: "came in",
        state: "queued",
      });
    if (asset.removed)
      rows.push({
        sign: "−",
        cells: asset.removed.count,
        partitions: asset.removed.partitions,
        text: "dropped out",
        state: "removed",
      });
    for (const { was, now, cells } of asset.reasons)
      rows.push({
        sign: "±",
        cells: cells.count,
        partitions: cells.partitions,
        text: `${reasonLook(now).word}, was ${reasonLook(was).word}`,
        state: reasonLook(now).state,
      });
    const note = asset.rescaled ? "partitioned in another way: no cell can be matched" : "";
    return { key: asset.key, note, rows };
  });
}

/** Dynamic keys, code versions, tasks and the request: only sections that differ. */
export function behind(difference: PlanDifference): Behind[] {
  const sections: Behind[] = [
    { title: "Dynamic keys", rows: difference.keys.map((text) => ({ name: "", text })) },
    {
      title: "Code",
      rows: difference.snapshots.map(({ name, was, now }) => ({
        name,
        text: `version ${short(now)}, was ${short(was)}`,
      })),
    },
    {
      title: "Batches",
      rows: difference.batches.map(({ name, was, now }) => ({
        name,
        text: was === now ? "cut into other tasks, as many" : `${now} tasks, was ${was}`,
      })),
    },
    {
      title: "Request",
      rows: difference.request.map(({ name, was, now }) => ({
        name,
        text: `${now ?? "not given"}, was ${was ?? "not given"}`,
      })),
    },
  ];
  return sections.filter(({ rows }) => rows.length > 0);
}

/** In one line: how many cells came in, dropped out and changed their reason. */
export function differenceSentence(difference: PlanDifference): string {
  if (difference.same) return "Nothing differs any more: this plan does what the one before would have done.";
  const rows = assetRows(difference).flatMap((asset) => asset.rows);
  const sum = (sign: CellsRow["sign"]) => rows.filter((row) => row.sign === sign).reduce((n, row) => n + row.cells, 0);
  const parts = [
    sum("+") > 0 && `${plural(sum("+"), "cell")} came in`,
    sum("−") > 0 && `${plural(sum("−"), "cell")} dropped out`,
    sum("±") > 0 && `${plural(sum("±"), "cell")} run for another reason`,
  ].filter((part) => part !== false);
  return parts.length > 0 ? `${parts.join(", ")}.` : "The same cells, made in another way.";
}

function short(version: string | null): string {
  return version === null ? "none" : version.slice(0, 12);
}
