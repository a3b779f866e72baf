// A plan kept under a name, to be asked for again by hand or at the ticks of a cron. In place, no dialog: the fields, then what
// would be kept with its next ticks, then the button.
import { useMutation } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { post } from "../api/client";
import type { Job, JobPreview, JobRequest } from "../api/types";
import { Problem } from "../design/Feedback";
import { limitOf } from "../design/TasksAtOnce";
import { BROWSER_ZONE } from "../lib/clock";
import { Ticks } from "../views/automation/Ticks";
import { Confirm } from "../views/Confirm";
import "../views/automation/automation.css";
import { type PlanSearch, requestFrom, tagsOf } from "./request";

type Props = {
  search: PlanSearch;
  /** As people write them. */
  tags: string;
  maxActive: string;
};

export function KeepJob({ search, tags, maxActive }: Props) {
  const [open, setOpen] = useState(false);
  if (!search.selection) return null;
  if (!open)
    return (
      <button type="button" className="btn" data-testid="keep-job" onClick={() => setOpen(true)}>
        Keep this plan as a job
      </button>
    );
  return <Form search={search} tags={tags} maxActive={maxActive} onClose={() => setOpen(false)} />;
}

function Form({ search, tags, maxActive, onClose }: Props & { onClose: () => void }) {
  const navigate = useNavigate();
  const [name, setName] = useState("");
  const [cron, setCron] = useState("");
  const [tz, setTz] = useState(BROWSER_ZONE);
  const { as: _, ...asked } = requestFrom(search);
  const request: JobRequest = {
    ...asked,
    name: name.trim(),
    tags: tagsOf(tags),
    lane: search.lane ?? null,
    cron: cron.trim() || null,
    tz: cron.trim() ? tz.trim() || null : null,
    max_active: limitOf(maxActive),
  };
  const preview = useMutation({ mutationFn: (request: JobRequest) => post<JobPreview>("/jobs/preview", request) });
  const changed = (set: (value: string) => void) => (value: string) => {
    preview.reset();
    set(value);
  };
  const shown = preview.data;
  // What the panel or the address says may have changed since: what is kept is what was shown.
  const current = shown && JSON.stringify(preview.variables) === JSON.stringify(request);
  return (
    <section data-testid="keep-job-form">
      <h3>Keep as a job</h3>
      <form
        className="keep-job"
        aria-label="Keep as a job"
        onSubmit={(event) => {
          event.preventDefault();
          if (!preview.isPending) preview.mutate(request);
        }}
        onKeyDown={(event) => {
          if (event.key === "Escape") onClose();
        }}
      >
        <Field label="Name" value={name} onValue={changed(setName)} placeholder="nightly" testid="job-name" first />
        <Field
          label="Cron"
          value={cron}
          onValue={changed(setCron)}
          placeholder="by hand"
          testid="job-cron"
          tip={'When, for example "0 6 * * 1-5". Empty: only by hand.'}
        />
        {cron.trim() && (
          <Field
            label="Zone"
            value={tz}
            onValue={changed(setTz)}
            placeholder="Europe/Berlin"
            testid="job-tz"
            tip="Of the wall clock that the cron is read on"
          />
        )}
        {!current && (
          <p className="row wrap">
            <button type="button" className="btn small" onClick={onClose}>
              Keep none
            </button>
            <button
              type="submit"
              className="btn small primary"
              data-testid="preview-job"
              aria-busy={preview.isPending}
              disabled={!name.trim()}
              data-tip={name.trim() ? undefined : "Give it a name first"}
            >
              Preview job
            </button>
          </p>
        )}
      </form>
      {preview.error && <Problem error={preview.error} />}
      {shown && current && (
        <Confirm
          label={`${shown.exists ? "Replace" : "Keep"} job ${request.name}`}
          sentence={shown.sentence}
          keep="Keep none"
          danger={shown.exists}
          reason={null}
          cli={`${shown.cli}${shown.exists ? " --replace" : ""}`}
          testid="keep-job"
          onDo={async () => {
            const kept = await post<Job>("/jobs", { ...request, replace: shown.exists });
            await navigate({ to: "/automation", search: { job: kept.name } });
          }}
          onClose={onClose}
        >
          {shown.ticks.length > 0 && (
            <Ticks ticks={shown.ticks} changes={shown.clock_changes} tz={request.tz ?? null} />
          )}
        </Confirm>
      )}
    </section>
  );
}

type FieldProps = {
  label: string;
  value: string;
  onValue: (value: string) => void;
  placeholder: string;
  testid: string;
  tip?: string;
  first?: boolean;
};

function Field({ label, value, onValue, placeholder, testid, tip, first }: FieldProps) {
  return (
    <label className="param" data-tip={tip}>
      <span className="quiet">{label}</span>
      <input
        className="field"
        value={value}
        placeholder={placeholder}
        data-testid={testid}
        // biome-ignore lint/a11y/noAutofocus: the form appeared because of a press; focus stays where the hand is
        autoFocus={first}
        onChange={(event) => onValue(event.target.value)}
      />
    </label>
  );
}
