// Named jobs: what they ask for, when, what the last tick came to. Each opens to its next ticks and what people do with it.
import { useMutation, useQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { del, post } from "../../api/client";
import { jobs as jobsQuery } from "../../api/queries";
import type { Job, JobPlan, PlanRequest } from "../../api/types";
import { CopyButton } from "../../design/Copy";
import { Empty, Loaded, Problem } from "../../design/Feedback";
import { Icon } from "../../design/Icon";
import { StateGlyph } from "../../design/StateGlyph";
import { Time } from "../../design/Time";
import { count, plural } from "../../lib/format";
import { planSearch, tagsText } from "../../plan/request";
import { Confirm } from "../Confirm";
import { ClockChange, Ticks } from "./Ticks";
import "./automation.css";

type Props = { chosen: string | null; onOpen: (name: string | null) => void };

export function Jobs({ chosen, onOpen }: Props) {
  const query = useQuery(jobsQuery());
  return (
    <Loaded query={query}>
      {(list) =>
        list.length === 0 ? (
          <Empty
            title="No job is kept"
            command="partita jobs add nightly '*' --partitions latest --cron '0 6 * * *' --tz UTC"
          >
            A job is a request under a name: a selection, partitions, params and tags, by hand or at the ticks of a
            cron. The command shows what it would make now, and asks.
          </Empty>
        ) : (
          <section className="section" data-testid="jobs">
            <header>
              <h2>Named jobs</h2>
              <span className="quiet">Requests that are kept: by hand, or at the ticks of a cron.</span>
            </header>
            <table className="table">
              <thead>
                <tr>
                  <th>Job</th>
                  <th style={{ width: "26%" }}>Asks for</th>
                  <th>When</th>
                  <th>Next</th>
                  <th>Last tick</th>
                  <th style={{ width: "28%" }}>Came to</th>
                </tr>
              </thead>
              <tbody>
                {list.map((job) => (
                  <Row
                    key={job.name}
                    job={job}
                    open={job.name === chosen}
                    onToggle={() => onOpen(job.name === chosen ? null : job.name)}
                  />
                ))}
              </tbody>
            </table>
          </section>
        )
      }
    </Loaded>
  );
}

function asks(job: Job): string {
  return `${job.selection} ${job.partitions ?? ""}`.trim();
}

function Row({ job, open, onToggle }: { job: Job; open: boolean; onToggle: () => void }) {
  return (
    <>
      <tr data-testid="job-row" data-name={job.name} data-paused={job.paused_by !== null || undefined}>
        <td>
          <button type="button" className="row-toggle" aria-expanded={open} onClick={onToggle}>
            <Icon name={open ? "down" : "right"} size={14} />
            <code>{job.name}</code>
          </button>
        </td>
        <td className="mono">
          <span className="clamp" data-tip={asks(job)}>
            {asks(job)}
          </span>
        </td>
        <td>{job.cron === null ? <span className="quiet">by hand</span> : <code>{`${job.cron} ${job.tz}`}</code>}</td>
        <td>
          {job.paused_by ? (
            <span className="row" data-tip={`By ${job.paused_by}${job.pause_reason ? `: ${job.pause_reason}` : ""}`}>
              <StateGlyph state="deferred" />
              paused
            </span>
          ) : (
            <span className="row">
              <Time at={job.next_at} none="–" />
              {job.clock_changes[0] !== undefined && job.clock_changes[0] === job.next_at && <ClockChange />}
            </span>
          )}
        </td>
        <td>
          <Time at={job.last_tick} />
        </td>
        <td className="mid">
          <span className="row">
            {job.last_run !== null && (
              <Link className="link mono" to="/runs/$runId" params={{ runId: String(job.last_run) }}>
                #{job.last_run}
              </Link>
            )}
            <span className="clamp" data-tip={job.last_note ?? undefined}>
              {job.last_note ?? "–"}
            </span>
          </span>
        </td>
      </tr>
      {open && (
        <tr className="opened">
          <td colSpan={6}>
            <div className="opened-body" data-testid="job-panel">
              <Actions job={job} />
              <Facts job={job} />
            </div>
          </td>
        </tr>
      )}
    </>
  );
}

function Facts({ job }: { job: Job }) {
  const params = Object.entries(job.params);
  return (
    <div className="opened-cols">
      <dl className="facts">
        <dt>Asks for</dt>
        <dd className="mono">{asks(job)}</dd>
        <dt>Which of them</dt>
        <dd>
          {job.mode.join(", ")}
          {job.upstream && ", with what is needed upstream"}
          {job.downstream && ", with what depends on it"}
        </dd>
        <dt>Params</dt>
        <dd className="mono">
          {params.length === 0 ? (
            <span className="quiet">none</span>
          ) : (
            params.map(([name, value]) => `${name}=${JSON.stringify(value)}`).join(", ")
          )}
        </dd>
        <dt>Tags</dt>
        <dd>
          <span className="row wrap">
            {Object.entries({ ...job.tags, job: job.name }).map(([name, value]) => (
              <Link key={name} className="tag" to="/runs" search={{ tag: `${name}=${value}` }}>
                {name}={value}
              </Link>
            ))}
          </span>
        </dd>
        <dt>Lane</dt>
        <dd>{job.lane}</dd>
        <dt>Tasks at once</dt>
        <dd>{job.max_active === null ? "as many as the pools admit" : `at most ${count(job.max_active)}`}</dd>
        <dt>Cells of a tick</dt>
        <dd>{job.max_cells === null ? "at most the limit of automation" : `at most ${job.max_cells}`}</dd>
        <dt>Kept</dt>
        <dd>
          by {job.created_by}, <Time at={job.created_at} />
        </dd>
        <dt>As CLI</dt>
        <dd>
          <span className="row">
            <code>partita jobs show {job.name}</code>
            <CopyButton text={`partita jobs show ${job.name}`} what="Copy as CLI" />
          </span>
        </dd>
      </dl>
      {job.cron !== null && (
        <div>
          <h3>{job.paused_by ? "Ticks, once it is resumed" : "Next ticks"}</h3>
          <Ticks ticks={job.ticks} changes={job.clock_changes} tz={job.tz} />
        </div>
      )}
    </div>
  );
}

type Verb = "pause" | "resume" | "remove";

function Actions({ job }: { job: Job }) {
  const [asking, setAsking] = useState<Verb | null>(null);
  const close = () => setAsking(null);
  if (asking === "resume") return <Resume job={job} onClose={close} />;
  if (asking === "pause")
    return (
      <Confirm
        label={`Pause job ${job.name}`}
        sentence="No tick of it asks for anything until it is resumed. It can be run by hand; what runs now goes on."
        keep="Keep it going"
        danger
        cli={`partita jobs pause ${job.name}`}
        testid="pause-job"
        onDo={(reason) => post(`/jobs/${job.name}/pause`, { reason })}
        onClose={close}
      />
    );
  if (asking === "remove")
    return (
      <Confirm
        label={`Remove job ${job.name}`}
        sentence="The job is forgotten. Its runs, and what they made, stay."
        keep="Keep the job"
        danger
        cli={`partita jobs remove ${job.name}`}
        testid="remove-job"
        onDo={(reason) => del(`/jobs/${job.name}`, { reason })}
        onClose={close}
      />
    );
  return (
    <div className="row wrap">
      <RunJob job={job} />
      {job.paused_by ? (
        <button type="button" className="btn small" data-testid="resume-job" onClick={() => setAsking("resume")}>
          <Icon name="reload" size={14} />
          Resume job
        </button>
      ) : (
        <button type="button" className="btn small" data-testid="pause-job" onClick={() => setAsking("pause")}>
          <Icon name="pause" size={14} />
          Pause job
        </button>
      )}
      <button type="button" className="btn small danger" data-testid="remove-job" onClick={() => setAsking("remove")}>
        Remove job
      </button>
      {job.paused_by && (
        <span className="mid">
          Paused by {job.paused_by}, <Time at={job.paused_at} />
          {job.pause_reason && `: ${job.pause_reason}`}
        </span>
      )}
    </div>
  );
}

/** To the plan of what it asks for now, as every launch: there its params can be other ones for this time. */
function RunJob({ job }: { job: Job }) {
  const navigate = useNavigate();
  const asked = planSearch({
    selection: job.selection,
    partitions: job.partitions ?? undefined,
    as: "run",
    mode: job.mode as PlanRequest["mode"],
    upstream: job.upstream,
    downstream: job.downstream,
    params: job.params,
  });
  const kept = { lane: job.lane, max_active: job.max_active === null ? undefined : String(job.max_active) };
  const preview = useMutation({
    mutationFn: () => post<JobPlan>(`/jobs/${job.name}/plan`),
    onSuccess: ({ plan, tags }) =>
      navigate({ to: "/plan", search: { ...asked, id: String(plan.id), tags: tagsText(tags), ...kept } }),
  });
  return (
    <>
      <button
        type="button"
        className="btn small primary"
        data-testid="run-job"
        aria-busy={preview.isPending}
        onClick={() => !preview.isPending && preview.mutate()}
      >
        <Icon name="runs" size={14} />
        Preview run of job
      </button>
      {preview.error && (
        <Problem error={preview.error}>
          <Link
            className="btn small"
            to="/plan"
            search={{ ...asked, tags: tagsText({ ...job.tags, job: job.name }), ...kept }}
          >
            Change its params for this run
          </Link>
        </Problem>
      )}
    </>
  );
}

function Resume({ job, onClose }: { job: Job; onClose: () => void }) {
  const [latest, setLatest] = useState(false);
  const passed =
    job.missed > 0
      ? `${plural(job.missed, "tick")} passed since it was paused.`
      : "No tick passed since it was paused.";
  return (
    <Confirm
      label={`Resume job ${job.name}`}
      sentence={job.cron === null ? "It goes by hand: resuming asks for nothing." : passed}
      keep="Keep it paused"
      cli={`partita jobs resume ${job.name}${latest ? " --catch-up latest" : ""}`}
      testid="resume-job"
      onDo={(reason) => post(`/jobs/${job.name}/resume`, { catch_up: latest ? "latest" : "none", reason })}
      onClose={onClose}
    >
      {job.missed > 0 && (
        <fieldset className="row wrap" data-testid="missed-ticks">
          <legend className="visually-hidden">Whether what was missed is asked for</legend>
          <label className="check">
            <input type="radio" name="job-catch-up" checked={!latest} onChange={() => setLatest(false)} />
            Wait for the next tick
          </label>
          <label className="check">
            <input type="radio" name="job-catch-up" checked={latest} onChange={() => setLatest(true)} />
            Ask once for all of them, now
          </label>
        </fieldset>
      )}
    </Confirm>
  );
}
