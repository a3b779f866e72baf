// The names the views use for the API's shapes. The shapes themselves are generated from openapi.json (npm run gen).
import type { components } from "./schema";

type Schemas = components["schemas"];

export type CellState = Schemas["CellState"];
/** State → how many; only states that occur. */
export type Counts = Record<string, number>;
export type ApiProblem = { what: string; rule?: string | null; fix?: string | null };

export type EvaluatorList = Schemas["EvaluatorList"];
export type Evaluator = Schemas["EvaluatorView"];
export type EvaluatorDetail = Schemas["EvaluatorDetail"];
export type Evaluation = Schemas["EvaluationView"];
export type EvaluatorAsked = Schemas["AskedView"];
export type Job = Schemas["JobView"];
export type JobPlan = Schemas["JobPlan"];
export type JobPreview = Schemas["JobPreview"];
export type JobRequest = Schemas["JobRequest"];
export type ParamField = Schemas["ParamField"];

export type AssetSummary = Schemas["AssetSummary"];
export type AssetWhy = Schemas["AssetWhy"];
export type AssetDetail = Schemas["AssetDetail"];
export type Bucket = Schemas["Bucket"];
export type Strip = Schemas["Strip"];
export type CellDetail = Schemas["CellDetail"];
export type Reason = Schemas["Reason"];
export type CodeChange = Schemas["CodeChangeView"];
export type HeldBack = Schemas["HeldBackView"];
export type AcceptPreview = Schemas["AcceptView"];
export type Accepted = Schemas["AcceptedView"];
export type SchemeChoice = Schemas["SchemeRequest"]["choice"];
export type SchemePreview = Schemas["SchemePreview"];
export type SchemeDone = Schemas["SchemeDoneView"];
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
export type TaskRow = Schemas["TaskRow"];
export type TaskPage = Schemas["TaskList"];
export type TaskDetail = Schemas["TaskDetail"];
export type AttemptSummary = Schemas["AttemptSummary"];
export type AttemptDetail = Schemas["AttemptDetail"];
export type TaskRerun = Schemas["TaskRerun"];
export type ByHandPreview = Schemas["ByHandPreview"];
export type ByHandDone = Schemas["ByHandDone"];
export type CancelPreview = Schemas["CancelPreview"];
export type AnswerPreview = Schemas["AnswerPreview"];
export type AnswerDone = Schemas["AnswerDone"];
export type Pauses = Schemas["PausesView"];
export type PauseView = Schemas["PauseView"];
export type PausePreview = Schemas["PausePreview"];
export type AlertPage = Schemas["AlertPage"];
export type AlertView = Schemas["AlertView"];
export type AlertDetail = Schemas["AlertDetail"];
export type AlertRules = Schemas["AlertRules"];
export type AlertActionPreview = Schemas["AlertActionPreview"];
export type MaintenancePreview = Schemas["MaintenancePreview"];
export type FreshnessPage = Schemas["FreshnessPage"];
export type FreshnessPolicy = Schemas["FreshnessView"];
export type Miss = Schemas["MissView"];
export type AuditPage = Schemas["AuditPage"];
export type AuditEntry = Schemas["AuditEntry"];
export type LogLine = Schemas["LogLineView"];
export type LogPage = Schemas["LogPageView"];

export type KeyPage = Schemas["KeyPage"];
export type KeysPreview = Schemas["KeysPreview"];
export type KeysDone = Schemas["KeysDone"];

export type Backfill = Schemas["BackfillView"];
export type BackfillMatrix = Schemas["BackfillMatrix"];
export type Location = Schemas["LocationView"];
export type LocationDiff = Schemas["LocationDiff"];
export type Pool = Schemas["PoolView"];
export type Queue = Schemas["QueueView"];
export type Automation = Schemas["AutomationPage"];
export type AutomationTold = Schemas["AutomationTold"];
export type GivenState = NonNullable<Schemas["AutomationTest"]["given"]>[string];
export type ConditionPart = Schemas["PartView"];
export type HeldRequest = Schemas["RequestView"];
export type HeldRequestDetail = Schemas["RequestDetail"];
export type RequestDecision = Schemas["RequestDecision"];
export type SystemStatus = Schemas["SystemView"];
export type Summary = Schemas["SummaryView"];
export type LiveEvent = Schemas["LiveEvent"];
