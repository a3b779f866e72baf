// The one place that launches: options that plan again, estimate and pools, and the button that repeats the count.
import { useMutation } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { ApiError, post } from "../api/client";
import type { Plan } from "../api/types";
import { CopyButton } from "../design/Copy";
import { Problem } from "../design/Feedback";
import { StateGlyph } from "../design/StateGlyph";
import { limitOf, TasksAtOnce } from "../design/TasksAtOnce";
import { useNow } from "../lib/clock";
import { count, duration, plural } from "../lib/format";
import { PausedNote } from "../views/Pause";
import { Estimate } from "./Estimate";
import { KeepJob } from "./KeepJob";
import { Params } from "./Params";
import { type PlanSearch, tagsOf } from "./request";
import { Warnings } from "./Warnings";

type Props = {
  plan: Plan;
  search: PlanSearch;
  onChange: (change: PlanSearch) => void;
  /** The plan is not what was shown any more: plan again and show what changed. */
  onChanged: () => void;
  /** Whether what changed is shown beside this. */
  changed: boolean;
  error: unknown;
};

export function LaunchPanel({ plan, search, onChange, onChanged, changed, error }: Props) {
  const navigate = useNavigate();
  const [name, setName] = useState("");
  const [maxActive, setMaxActive] = useState(search.max_active ?? "");
  const [tags, setTags] = useState(search.tags ?? "");
  const now = useNow(5);
  const [newest, setNewest] = useState(false);
  const asRetry = search.as === "retry";
  const asBackfill = !asRetry && search.as !== "run";
  const launch = useMutation({
    mutationFn: () =>
      post<{ run_id: number; backfill_id: number | null }>(`/plans/${plan.id}/launch`, {
        confirm_cells: plan.cell_count,
        name: asBackfill && name ? name : undefined,
        max_active: asRetry ? undefined : (limitOf(maxActive) ?? undefined),
        order: asBackfill && newest ? "newest" : undefined,
        tags: tagsOf(tags),
        lane: search.lane,
      }),
    onSuccess: ({ run_id, backfill_id }) =>
      backfill_id === null
        ? navigate({ to: "/runs/$runId", params: { runId: String(run_id) } })
        : navigate({ to: "/backfills/$backfillId", params: { backfillId: String(backfill_id) } }),
    onError: (refused) => {
      if (planChanged(refused) && search.selection) onChanged();
    },
  });
  const left = (Date.parse(plan.expires_at) - now) / 1000;
  const expired = left <= 0;
  const differs = launch.error instanceof ApiError && launch.error.status === 409;
  return (
    <aside className="launch panel" aria-label="Launch">
      <Options search={search} onChange={onChange} />
      <Params search={search} onChange={onChange} />
      <PausedNote keys={plan.assets.map((one) => one.key)} />
      {!asRetry && !plan.nothing_to_do && (
        <div className="launch-fields">
          {asBackfill && (
            <label>
              <span className="quiet">Name</span>
              <input
                className="field"
                value={name}
                placeholder="optional"
                data-testid="backfill-name"
                onChange={(event) => setName(event.target.value)}
              />
            </label>
          )}
          <TasksAtOnce value={maxActive} onChange={setMaxActive} above />
          {asBackfill && (
            <label
              className="check"
              data-tip="Of the partitions that are ready at the same time. Otherwise the oldest."
            >
              <input type="checkbox" checked={newest} onChange={(event) => setNewest(event.target.checked)} />
              Newest partitions first
            </label>
          )}
        </div>
      )}
      {!plan.nothing_to_do && (
        <label className="param" data-tip="What the run is for: NAME=VALUE, several by commas. Runs are found by it.">
          <span className="quiet">Tags</span>
          <input
            className="field"
            value={tags}
            placeholder="ticket=DATA-7"
            data-testid="run-tags"
            onChange={(event) => setTags(event.target.value)}
          />
        </label>
      )}
      <Warnings plan={plan} limited={limitOf(maxActive) !== null} />
      {plan.nothing_to_do ? (
        <Nothing plan={plan} search={search} onChange={onChange} />
      ) : expired ? (
        <>
          <p className="tone-amber">This plan has expired. The world may have moved since.</p>
          <button type="button" className="btn primary big" onClick={() => onChange({})}>
            Plan again
          </button>
        </>
      ) : (
        <button
          type="button"
          className="btn primary big"
          data-testid="confirm-plan"
          aria-busy={launch.isPending}
          onClick={() => {
            if (!launch.isPending) launch.mutate();
          }}
        >
          {changed ? "Launch the new plan: " : "Materialize "}
          {plural(plan.cell_count, "cell")}
        </button>
      )}
      {launch.error && (
        <Problem error={launch.error}>
          {differs && search.selection && (
            <button type="button" className="btn small" onClick={() => onChange({})}>
              Plan again
            </button>
          )}
        </Problem>
      )}
      {error ? <Problem error={error} /> : null}
      {!asRetry && <KeepJob search={search} tags={tags} maxActive={maxActive} />}
      <Estimate plan={plan} />
      <Pools plan={plan} />
      <section>
        <h3 className="row">
          <span className="grow">As CLI</span>
          <CopyButton text={plan.cli} what="Copy as CLI" label />
        </h3>
        <pre className="cli">{optionsOf(plan.cli)}</pre>
      </section>
      <p className="quiet">
        Plan <span className="mono">{plan.hash.slice(0, 14)}</span>
        {!expired && `, valid for ${duration(left)}`}
      </p>
    </aside>
  );
}

/** Not any other refusal: this one says how the plan differs. */
function planChanged(error: unknown): boolean {
  return (
    error instanceof ApiError && error.status === 409 && Boolean((error.body as { difference?: unknown })?.difference)
  );
}

/** An option and its value stay on one line. */
function optionsOf(cli: string) {
  return cli.split(/ (?=--)/).map((part) => (
    <span key={part} className="option">
      {part}{" "}
    </span>
  ));
}

function Nothing({ plan, search, onChange }: Pick<Props, "plan" | "search" | "onChange">) {
  if (plan.blocked.length === 0)
    return (
      <p className="row launch-nothing" data-testid="nothing-to-do">
        <StateGlyph state="fresh" size={14} />
        Nothing to do: every selected cell is fresh.
      </p>
    );
  return (
    <>
      <p className="row launch-nothing" data-testid="nothing-to-do" data-blocked="">
        <StateGlyph state="upstream_failed" size={14} />
        Nothing can run: what these cells read is not there yet.
      </p>
      {search.upstream !== "1" && search.selection && (
        <button
          type="button"
          className="btn primary big"
          data-testid="plan-with-upstream"
          onClick={() => onChange({ upstream: "1" })}
        >
          Plan with what is needed upstream
        </button>
      )}
    </>
  );
}

function Options({ search, onChange }: Pick<Props, "search" | "onChange">) {
  if (!search.selection) return null;
  const everything = search.mode === "all";
  return (
    <div className="stack">
      <span className="segmented" style={{ alignSelf: "flex-start" }}>
        <button
          type="button"
          aria-pressed={search.as !== "run"}
          data-tip="Named and paced, with its own progress page"
          onClick={() => onChange({ as: "backfill" })}
        >
          As backfill
        </button>
        <button
          type="button"
          aria-pressed={search.as === "run"}
          data-tip="One run"
          onClick={() => onChange({ as: "run" })}
        >
          As run
        </button>
      </span>
      <label className="check">
        <input
          type="checkbox"
          checked={everything}
          onChange={(event) => onChange({ mode: event.target.checked ? "all" : undefined })}
        />
        Make fresh partitions again too
      </label>
      <label className="check">
        <input
          type="checkbox"
          checked={search.upstream === "1"}
          onChange={(event) => onChange({ upstream: event.target.checked ? "1" : undefined })}
        />
        Include what is needed upstream
      </label>
      <label className="check">
        <input
          type="checkbox"
          checked={search.downstream === "1"}
          onChange={(event) => onChange({ downstream: event.target.checked ? "1" : undefined })}
        />
        Include what depends on it downstream
      </label>
    </div>
  );
}

function Pools({ plan }: { plan: Plan }) {
  if (plan.pools.length === 0) return null;
  return (
    <section>
      <h3>Pools</h3>
      {plan.pools.map((pool) => (
        <div key={pool.name} className="plan-pool">
          <p className="row">
            <span className="mono grow">{pool.name}</span>
            <span className="quiet">
              {count(pool.held)} of {count(pool.slots)} held, {count(pool.wanted)} wanted
            </span>
          </p>
          <span className="meter">
            <span style={{ width: `${Math.min(100, ((pool.held + pool.wanted) / Math.max(1, pool.slots)) * 100)}%` }} />
          </span>
        </div>
      ))}
    </section>
  );
}
