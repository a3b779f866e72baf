// Every read of the API as query options. The first element of a key is the tag that live events invalidate.
import { keepPreviousData, queryOptions } from "@tanstack/react-query";
import { get, post } from "./client";
import type {
  AlertActionPreview,
  AlertDetail,
  AlertPage,
  AlertRules,
  AnswerPreview,
  AssetDetail,
  AssetSummary,
  AssetWhy,
  AttemptDetail,
  AuditPage,
  Automation,
  AutomationTold,
  Backfill,
  BackfillMatrix,
  CancelPreview,
  CellDetail,
  EvaluatorDetail,
  EvaluatorList,
  FreshnessPage,
  GivenState,
  Graph,
  HeldBack,
  HeldRequestDetail,
  Job,
  KeyPage,
  KeysPreview,
  Location,
  LocationDiff,
  ParamField,
  PartitionPage,
  PausePreview,
  Pauses,
  Plan,
  PlanDifference,
  Pool,
  Queue,
  Resolved,
  RunDetail,
  RunSummary,
  SchemeChoice,
  SchemePreview,
  Strip,
  Summary,
  SystemStatus,
  TaskDetail,
  TaskPage,
} from "./types";

export const summary = () =>
  queryOptions({ queryKey: ["summary"], queryFn: ({ signal }) => get<Summary>("/summary", {}, signal) });

export const assets = (filter: { select?: string; search?: string } = {}) =>
  queryOptions({
    queryKey: ["assets", filter],
    queryFn: ({ signal }) =>
      get<{ assets: AssetSummary[]; total: number }>(
        "/assets",
        { select: filter.select || undefined, search: filter.search || undefined },
        signal,
      ),
    placeholderData: keepPreviousData,
  });

export const asset = (key: string) =>
  queryOptions({ queryKey: ["asset", key], queryFn: ({ signal }) => get<AssetDetail>("/asset", { key }, signal) });

export type StripWindow = { lo?: number; hi?: number; buckets?: number; where?: string };

export const strip = (key: string, window: StripWindow) =>
  queryOptions({
    queryKey: ["strip", key, window],
    queryFn: ({ signal }) => get<Strip>("/asset/strip", { key, ...window }, signal),
    placeholderData: (previous, query) => (query?.queryKey[1] === key ? previous : undefined),
  });

export const cell = (key: string, partition: string) =>
  queryOptions({
    queryKey: ["cell", key, partition],
    queryFn: ({ signal }) => get<CellDetail>("/asset/cell", { key, partition }, signal),
  });

/** Of the named partitions; of the whole asset where there are none. */
export const automationDecision = (asset: string, partitions: string | undefined) =>
  queryOptions({
    queryKey: ["cell", asset, "automation", partitions ?? ""],
    queryFn: ({ signal }) => get<AutomationTold>("/automation/decision", { asset, partitions, looks: 1 }, signal),
    retry: false,
  });

/** The same, with assets taken as in another state. */
export const automationTest = (asset: string, partitions: string | undefined, given: Record<string, GivenState>) =>
  queryOptions({
    queryKey: ["cell", asset, "automation", "test", partitions ?? "", given],
    queryFn: () => post<AutomationTold>("/automation/test", { asset, partitions, given, looks: 0 }),
    retry: false,
    placeholderData: keepPreviousData,
  });

export const heldBack = (key: string) =>
  queryOptions({
    queryKey: ["asset", key, "held-back"],
    queryFn: ({ signal }) => get<HeldBack>("/asset/held-back", { key }, signal),
  });

export const assetWhy = (key: string) =>
  queryOptions({
    queryKey: ["asset", key, "why"],
    queryFn: ({ signal }) => get<AssetWhy>("/asset/why", { key }, signal),
  });

export const partitions = (key: string, filter: { state?: string; offset: number; limit: number }) =>
  queryOptions({
    queryKey: ["partitions", key, filter],
    queryFn: ({ signal }) => get<PartitionPage>("/asset/partitions", { key, ...filter }, signal),
    placeholderData: keepPreviousData,
  });

export const resolve = (key: string, text: string) =>
  queryOptions({
    queryKey: ["resolve", key, text],
    queryFn: ({ signal }) => get<Resolved>("/asset/resolve", { key, partitions: text }, signal),
    retry: false,
  });

export const dynamicKeys = (
  scheme: string,
  filter: { ended: boolean; search?: string; offset: number; limit: number },
) =>
  queryOptions({
    queryKey: ["keys", scheme, filter],
    queryFn: ({ signal }) => get<KeyPage>("/dynamic/keys", { scheme, ...filter }, signal),
    placeholderData: keepPreviousData,
  });

/** `asked` is the body as text: an equal question is one query. */
export const previewKeys = (asked: string) =>
  queryOptions({
    queryKey: ["keys-preview", asked],
    queryFn: () => post<KeysPreview>("/dynamic/keys/preview", JSON.parse(asked)),
    placeholderData: keepPreviousData,
    retry: false,
  });

/** Not among what live events renew: what is shown stays until somebody looks again, and only that is done. */
export const schemePreview = (key: string, choice: SchemeChoice) =>
  queryOptions({
    queryKey: ["scheme", key, choice],
    queryFn: () => post<SchemePreview>("/scheme/preview", { key, choice }),
    placeholderData: keepPreviousData,
    staleTime: 0,
    retry: false,
  });

export const graph = (select?: string) =>
  queryOptions({
    queryKey: ["graph", select ?? ""],
    queryFn: ({ signal }) => get<Graph>("/graph", { select: select || undefined }, signal),
    placeholderData: keepPreviousData,
  });

export const plan = (id: string) =>
  queryOptions({
    queryKey: ["plan", id],
    queryFn: ({ signal }) => get<Plan>(`/plans/${encodeURIComponent(id)}`, {}, signal),
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
  });

/** From the plan with that hash to this one. */
export const planDifference = (id: string, was: string) =>
  queryOptions({
    queryKey: ["plan", id, "difference", was],
    queryFn: ({ signal }) => get<PlanDifference>(`/plans/${id}/difference`, { against: was }, signal),
    staleTime: Number.POSITIVE_INFINITY,
  });

export const runs = (filter: { state?: string; tag?: string; offset: number; limit: number }) =>
  queryOptions({
    queryKey: ["runs", filter],
    queryFn: ({ signal }) => get<{ runs: RunSummary[]; total: number }>("/runs", filter, signal),
    placeholderData: keepPreviousData,
  });

export const run = (id: number) =>
  queryOptions({ queryKey: ["run", id], queryFn: ({ signal }) => get<RunDetail>(`/runs/${id}`, {}, signal) });

export const runTasks = (id: number, filter: { state?: string; asset?: string; offset: number; limit: number }) =>
  queryOptions({
    queryKey: ["tasks", id, filter],
    queryFn: ({ signal }) => get<TaskPage>(`/runs/${id}/tasks`, filter, signal),
    placeholderData: keepPreviousData,
  });

export const task = (id: number) =>
  queryOptions({ queryKey: ["task", id], queryFn: ({ signal }) => get<TaskDetail>(`/tasks/${id}`, {}, signal) });

export const attempt = (id: number) =>
  queryOptions({
    queryKey: ["attempt", id],
    queryFn: ({ signal }) => get<AttemptDetail>(`/attempts/${id}`, {}, signal),
  });

/** What cancelling at this path would meet now. */
export const cancelPreview = (path: string) =>
  queryOptions({
    queryKey: ["task", "cancel", path],
    queryFn: ({ signal }) => get<CancelPreview>(path, {}, signal),
    retry: false,
  });

/** What an answer would meet. Not read again by live events: what is answered is what was shown. */
export const answerPreview = (task: number, verb: AnswerPreview["verb"]) =>
  queryOptions({
    queryKey: ["answer", task, verb],
    queryFn: () => post<AnswerPreview>("/approvals/preview", { verb, tasks: [task] }),
    placeholderData: keepPreviousData,
    gcTime: 0,
    retry: false,
  });

export const pauses = () =>
  queryOptions({ queryKey: ["pauses"], queryFn: ({ signal }) => get<Pauses>("/pauses", {}, signal) });

export const pausePreview = (asked: { verb: "pause" | "resume"; selection: string | null }) =>
  queryOptions({
    queryKey: ["pauses", "preview", asked],
    queryFn: () => post<PausePreview>("/pauses/preview", asked),
    retry: false,
  });

export const alerts = (filter: { state?: string; kind?: string; owner?: string }) =>
  queryOptions({
    queryKey: ["alerts", filter],
    queryFn: ({ signal }) => get<AlertPage>("/alerts", { ...filter, limit: 200 }, signal),
    placeholderData: keepPreviousData,
  });

export const freshness = (asset?: string) =>
  queryOptions({
    queryKey: ["freshness", asset ?? ""],
    queryFn: ({ signal }) => get<FreshnessPage>("/freshness", { asset }, signal),
  });

export const alert = (id: number) =>
  queryOptions({ queryKey: ["alert", id], queryFn: ({ signal }) => get<AlertDetail>(`/alerts/${id}`, {}, signal) });

export const alertRules = () =>
  queryOptions({
    queryKey: ["alerts", "rules"],
    queryFn: ({ signal }) => get<AlertRules>("/alerts/rules", {}, signal),
  });

/** What sending a test message, or ending a window, would do. Not read again by live events: what is done is what was shown. */
export const alertActionPreview = (path: string, params: { rule?: string } = {}) =>
  queryOptions({
    queryKey: ["alert-action", path, params],
    queryFn: ({ signal }) => get<AlertActionPreview>(path, params, signal),
    gcTime: 0,
    retry: false,
  });

export const audit = (filter: { who?: string; action?: string; before?: string }) =>
  queryOptions({
    queryKey: ["audit", filter],
    queryFn: ({ signal }) => get<AuditPage>("/audit", filter, signal),
    placeholderData: keepPreviousData,
  });

export const backfills = () =>
  queryOptions({
    queryKey: ["backfills"],
    queryFn: async ({ signal }) =>
      (await get<{ backfills: Backfill[]; total: number }>("/backfills", { limit: 200 }, signal)).backfills,
  });

export const backfill = (id: number) =>
  queryOptions({
    queryKey: ["backfill", id],
    queryFn: ({ signal }) => get<Backfill>(`/backfills/${id}`, {}, signal),
  });

export const backfillCells = (id: number, asked: { state?: string; offset: number; limit: number }) =>
  queryOptions({
    queryKey: ["backfill", id, "cells", asked],
    queryFn: ({ signal }) => get<BackfillMatrix>(`/backfills/${id}/cells`, asked, signal),
  });

export const queue = () =>
  queryOptions({ queryKey: ["queue"], queryFn: ({ signal }) => get<Queue>("/queue", {}, signal) });

export const pools = () =>
  queryOptions({ queryKey: ["pools"], queryFn: ({ signal }) => get<Pool[]>("/pools", {}, signal) });

export const evaluators = () =>
  queryOptions({
    queryKey: ["evaluators"],
    queryFn: ({ signal }) => get<EvaluatorList>("/evaluators", {}, signal),
    refetchInterval: 5_000, // an evaluation that comes to nothing is no event
  });

export const evaluator = (id: number) =>
  queryOptions({
    queryKey: ["evaluators", id],
    queryFn: ({ signal }) => get<EvaluatorDetail>(`/evaluators/${id}`, {}, signal),
    refetchInterval: 5_000,
  });

export const jobs = () =>
  queryOptions({
    queryKey: ["jobs"],
    queryFn: async ({ signal }) => (await get<{ jobs: Job[] }>("/jobs", {}, signal)).jobs,
  });

/** Which params such a request may give. `asked` is the body as text: an equal question is one query. */
export const paramFields = (asked: string) =>
  queryOptions({
    queryKey: ["params", asked],
    queryFn: async () => (await post<{ fields: ParamField[] }>("/plans/params", JSON.parse(asked))).fields,
    placeholderData: keepPreviousData,
    retry: false,
  });

export const automation = () =>
  queryOptions({
    queryKey: ["automation"],
    queryFn: ({ signal }) => get<Automation>("/automation", {}, signal),
  });

export const request = (id: number) =>
  queryOptions({
    queryKey: ["request", id],
    queryFn: ({ signal }) => get<HeldRequestDetail>(`/requests/${id}`, {}, signal),
    retry: false,
  });

export const locations = () =>
  queryOptions({
    queryKey: ["locations"],
    queryFn: ({ signal }) => get<Location[]>("/locations", {}, signal),
  });

export const locationDiff = (name: string) =>
  queryOptions({
    queryKey: ["locations", name, "diff"],
    queryFn: ({ signal }) => get<LocationDiff>(`/locations/${encodeURIComponent(name)}/diff`, {}, signal),
    retry: false,
  });

export const system = () =>
  queryOptions({
    queryKey: ["system"],
    queryFn: ({ signal }) => get<SystemStatus>("/system", {}, signal),
    refetchInterval: 5_000,
  });
