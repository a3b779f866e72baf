// The names the views use for the API's shapes. The shapes themselves are generated from openapi.json (npm run gen).
import type { components } from "./schema";

type Schemas = components["schemas"];

export type CellState = Schemas["CellState"];
/** State → how many; only states that occur. */
export type Counts = Record<string, number>;
export type ApiProblem = { what: string; rule?: string | null; fix?: string | null };

export type AssetSummary = Schemas["AssetSummary"];
export type AssetDetail = Schemas["AssetDetail"];
export type Bucket = Schemas["Bucket"];
export type Strip = Schemas["Strip"];
export type CellDetail = Schemas["CellDetail"];
export type Reason = Schemas["Reason"];
export type CodeChange = Schemas["CodeChangeView"];
export type HeldBack = Schemas["HeldBackView"];
export type AcceptPreview = Schemas["AcceptView"];
export type Accepted = Schemas["AcceptedView"];
export type PartitionPage = Schemas["PartitionPage"];
export type Resolved = Schemas["Resolved"];

export type Graph = Schemas["GraphView"];
export type GraphNode = Schemas["GraphNode"];

export type PlanRequest = Omit<Schemas["PlanRequest"], "mode"> & { mode: ("missing" | "failed" | "stale" | "all")[] };
export type Plan = Schemas["PlanView"];
export type PlanDifference = Schemas["PlanDifference"];
export type PlanAsset = Schemas["PlanAsset"];

export type RunSummary = Schemas["RunSummary"];
export type RunDetail = Schemas["RunDetail"];
export type RunPage = Schemas["RunList"];
export type TaskRow = Schemas["TaskRow"];
export type TaskPage = Schemas["TaskList"];
export type TaskDetail = Schemas["TaskDetail"];
export type AttemptSummary = Schemas["AttemptSummary"];
export type AttemptDetail = Schemas["AttemptDetail"];
export type LogLine = Schemas["LogLineView"];
export type LogPage = Schemas["LogPageView"];

export type KeyPage = Schemas["KeyPage"];
export type KeysPreview = Schemas["KeysPreview"];
export type KeysDone = Schemas["KeysDone"];

export type Backfill = Schemas["BackfillView"];
export type Location = Schemas["LocationView"];
export type LocationDiff = Schemas["LocationDiff"];
export type Pool = Schemas["PoolView"];
export type Queue = Schemas["QueueView"];
export type Automation = Schemas["AutomationPage"];
export type HeldRequest = Schemas["RequestView"];
export type HeldRequestDetail = Schemas["RequestDetail"];
export type RequestDecision = Schemas["RequestDecision"];
export type SystemStatus = Schemas["SystemView"];
export type Summary = Schemas["SummaryView"];
export type LiveEvent = Schemas["LiveEvent"];
