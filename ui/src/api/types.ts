// The REST contract by hand, field for field. All times are ISO-8601 UTC strings, durations are seconds.

export type CellState =
  | "fresh"
  | "unchanged"
  | "stale"
  | "upstream_stale"
  | "missing"
  | "running"
  | "queued"
  | "scheduled"
  | "deferred"
  | "awaiting_input"
  | "up_for_retry"
  | "failed"
  | "upstream_failed"
  | "skipped"
  | "cancelled"
  | "removed";

export type Counts = Partial<Record<CellState, number>>;

export type ApiProblem = { what: string; rule?: string | null; fix?: string | null };

export type PartitionsKind = "none" | "time" | "static" | "dynamic" | "multi";
export type Cadence = "hour" | "day" | "week" | "month" | "other" | null;

export type AssetSummary = {
  id: number;
  key: string;
  location: string;
  group: string | null;
  owner: string | null;
  kinds: string[];
  tags: Record<string, string> | string[];
  description: string | null;
  external: boolean;
  partitions_kind: PartitionsKind;
  cadence: Cadence;
  partition_count: number;
  counts: Counts;
  automation: { type: string } | null;
  checks: { passed: number; failed: number; total: number };
  last_materialized_at: string | null;
  load_error: string | null;
  fresh_to: string | null;
};

export type Verdict = {
  sentence: string;
  advice: string | null;
  severity: "ok" | "warn" | "bad" | "idle";
  fresh_to: string | null;
  next_due_at: string | null;
};

export type Dimension = { name: string; kind: string; keys?: string[] | null; size: number };

export type AssetCheck = {
  name: string;
  blocking: boolean;
  description: string | null;
  last: { passed: boolean; at: string; partition: string | null; detail: string | null } | null;
};

export type AssetDetail = Omit<AssetSummary, "checks"> & {
  verdict: Verdict;
  upstream: { key: string; input: string | null; mapping: string | null }[];
  downstream: { key: string; input: string | null; mapping: string | null }[];
  partitions: {
    kind: PartitionsKind;
    cadence: Cadence;
    tz: string | null;
    start: string | null;
    end: string | null;
    dims: Dimension[];
  };
  retries: unknown;
  timeout_s: number | null;
  pools: unknown;
  batch: unknown;
  io: unknown;
  code: { fingerprint: string | null; file: string | null; line: number | null; function: string | null } | null;
  checks: AssetCheck[];
  params_schema: unknown;
  metadata: Record<string, unknown> | null;
};

export type Bucket = {
  lo: number;
  hi: number;
  first_key: string;
  last_key: string;
  start: string | null;
  end: string | null;
  counts: Counts;
};

export type Strip = {
  size: number;
  lo: number;
  hi: number;
  cadence: Cadence;
  tz: string | null;
  buckets: Bucket[];
  rows: { dim_key: string; buckets: Counts[] }[] | null;
  row_dim: string | null;
};

export type AttemptSummary = {
  id: number;
  number: number;
  state: string;
  outcome: string | null;
  worker: string | null;
  queued_at: string | null;
  started_at: string | null;
  finished_at: string | null;
  error: string | null;
  retry_at: string | null;
};

export type Reason = {
  code: string;
  text: string;
  evidence?: unknown;
  upstream?: { key: string; partition: string } | null;
};

export type CellDetail = {
  key: string;
  partition: string;
  dimensions: Record<string, string>;
  window_start: string | null;
  window_end: string | null;
  due_at: string | null;
  state: CellState;
  reasons: Reason[];
  published: {
    data_version: string;
    location: string | null;
    at: string;
    attempt_id: number | null;
    run_id: number | null;
    code_fingerprint: string | null;
    metadata: Record<string, unknown> | null;
    rows: number | null;
  } | null;
  last_attempt: AttemptSummary | null;
  attempts: AttemptSummary[];
  inputs: { name: string; upstream: string; cells: unknown; moved: unknown[] }[];
  checks: { name: string; passed: boolean; blocking?: boolean; detail?: string | null }[];
  open_task: { id: number; run_id: number; state: CellState; reason: Reason | string | null } | null;
};

export type PartitionPage = {
  total: number;
  items: {
    partition: string;
    dimensions: Record<string, string>;
    window_start: string | null;
    window_end: string | null;
    state: CellState;
    data_version: string | null;
    published_at: string | null;
    reason: string | null;
  }[];
};

export type Resolved = { count: number; ranges_text: string; counts: Counts; error?: ApiProblem | string | null };

export type GraphNode = {
  key: string;
  group: string | null;
  location: string;
  external: boolean;
  kinds: string[];
  counts: Counts;
  partition_count: number;
  load_error: string | null;
};
export type GraphEdge = { from: string; to: string; input: string | null; mapping: string | null };
export type Graph = { nodes: GraphNode[]; edges: GraphEdge[]; hash: string };

export type ReasonCode = "missing" | "failed" | "stale_code" | "stale_data" | "stale_dependencies" | "forced";

export type PlanRequest = {
  selection: string;
  partitions?: string;
  from_key?: string;
  to_key?: string;
  mode: ("missing" | "failed" | "stale" | "all")[];
  upstream?: boolean;
  downstream?: boolean;
  params?: Record<string, unknown>;
  as: "run" | "backfill";
};

export type PlanAsset = {
  key: string;
  cells: number;
  by_reason: Partial<Record<string, { count: number; text: string }>>;
  tasks: number;
  wave: number;
};

export type Plan = {
  id: number | string;
  hash: string;
  as_of: string;
  expires_at: string;
  sentence: string;
  cell_count: number;
  task_count: number;
  asset_count: number;
  by_reason: Partial<Record<string, number>>;
  assets: PlanAsset[];
  waves: { index: number; tasks: number; cells: number; assets: string[] }[];
  estimate: { makespan_s: number; critical_path: string[]; basis: string; sample_size: number } | null;
  pools: { name: string; slots: number; held: number; wanted: number }[];
  blocked: { key: string; count: number; text: string; reason: string }[];
  joined: number;
  cli: string;
  nothing_to_do: boolean;
};

export type RunSummary = {
  id: number;
  state: string;
  cause: { kind: string; text: string; by: string | null };
  backfill_id: number | null;
  created_at: string;
  started_at: string | null;
  finished_at: string | null;
  task_count: number;
  tallies: Record<string, number>;
  cells: { published: number; unchanged: number; skipped: number; failed: number; total: number };
  asset_keys: string[];
};

export type RunDetail = RunSummary & {
  plan_hash: string | null;
  snapshots: { location: string; version: string }[];
  critical_path?: number[] | null;
};

export type TaskRow = {
  id: number;
  step: string;
  assets: string[];
  partitions_text: string;
  cell_count: number;
  state: string;
  outcome: string | null;
  reason: Reason | null;
  wave: number;
  attempt_number: number;
  max_attempts: number | null;
  ready_at: string | null;
  queued_at: string | null;
  started_at: string | null;
  finished_at: string | null;
  not_before: string | null;
  worker: string | null;
  error: string | null;
  attempts: AttemptSummary[];
};

export type TaskPage = { total: number; tasks: TaskRow[] };

export type TaskDetail = TaskRow & {
  run_id: number;
  cells: { asset: string; partition: string; state: CellState; data_version: string | null; error: string | null }[];
};

export type AttemptDetail = AttemptSummary & {
  task_id: number;
  run_id: number;
  inputs: { name: string; upstream?: string; [field: string]: unknown }[];
  checks: { name: string; passed: boolean; blocking?: boolean; detail?: string | null }[];
  traceback: string | null;
};

export type LogLine = { n: number; at: string; stream: string; level: string | null; text: string };
export type LogPage = { lines: LogLine[]; next_offset: number; complete: boolean };

export type Why = { state: CellState; sentence: string; reasons: Reason[]; open_task: CellDetail["open_task"] };

export type Backfill = {
  id: number;
  name: string | null;
  run_id: number;
  state: string;
  selection: string;
  partitions_text: string;
  created_by: string | null;
  created_at: string;
  finished_at: string | null;
  max_active: number | null;
  progress: { asset: string; counts: Counts; total: number }[];
  eta_s: number | null;
};

export type Location = {
  name: string;
  address: string;
  state: "serving" | "loading" | "down" | "broken";
  active_version: string | null;
  loaded_at: string | null;
  error: string | null;
  modules: { name: string; ok: boolean; error: string | null; import_s: number | null }[];
  asset_count: number;
  kept_assets: string[];
  servers: unknown[];
};

export type Pool = {
  name: string;
  slots: number;
  held: number;
  holders: { task_id: number; run_id: number; step: string; slots: number; since: string }[];
  waiting: number;
};

export type Queue = { by_state: Counts; oldest_ready_at: string | null; waiting: (TaskRow & { run_id?: number })[] };

export type Automation = {
  consumers: {
    key: string;
    type: string;
    upstream: string[];
    last_requested_at: string | null;
    last_reason: string | null;
  }[];
  requests: { at: string; consumer: string; partition: string; cause: string; run_id: number | null }[];
};

export type SystemStatus = {
  components: { kind: string; name: string; state: string; last_seen_at: string | null; symptom: string | null }[];
  db_pulse_at: string | null;
  version: string;
  duties: { name: string; holder: string | null; last_ran_at: string | null; last_ms: number | null }[];
};

export type Summary = {
  needs_me: { severity: "bad" | "warn" | "info" | string; text: string; link: string }[];
  counts: Counts;
  running_runs: RunSummary[];
  recent_runs: RunSummary[];
};

export type LiveEvent = {
  id: number;
  at: string;
  kind: "materialized" | "task" | "run" | "backfill" | "location" | "plan";
  asset?: string | null;
  partition?: string | null;
  run_id?: number | null;
  task_id?: number | null;
  state?: string | null;
};
