// Pausing and resuming: what it meets, why, and a button that says so. In place, no dialog. Shown to everybody at once.
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { post } from "../api/client";
import { pausePreview, pauses as pausesQuery } from "../api/queries";
import type { PausePreview, PauseView } from "../api/types";
import { Icon } from "../design/Icon";
import { StateGlyph } from "../design/StateGlyph";
import { Time } from "../design/Time";
import { plural } from "../lib/format";
import { Confirm } from "./Confirm";

type Verb = "pause" | "resume";
type CatchUp = "all" | "paced" | "latest" | "none";

const SHOWN = 5;
const PACE = 16;
const CHOICES: Record<CatchUp, { label: string; asks: object; cli: string }> = {
  all: { label: "Ask for all", asks: {}, cli: "" },
  paced: { label: `Ask for all, ${PACE} at a time`, asks: { pace: PACE }, cli: ` --pace ${PACE}` },
  latest: { label: "Ask for the latest", asks: { catch_up: "latest" }, cli: " --catch-up latest" },
  none: { label: "Ask for none", asks: { catch_up: "none" }, cli: " --catch-up none" },
};
type Props = { verb: Verb; selection: string | null; what: string; small?: boolean };

/** `what` names the object in words: "everything", "this asset". */
export function PauseButton({ verb, selection, what, small = false }: Props) {
  const [asking, setAsking] = useState(false);
  const size = small ? "small" : "";
  const label = `${verb === "pause" ? "Pause" : "Resume"} ${what}`;
  if (asking) return <Asked verb={verb} selection={selection} label={label} onClose={() => setAsking(false)} />;
  return (
    <button
      type="button"
      className={`btn ${size} ${verb === "pause" && selection === null ? "danger" : ""}`}
      data-testid={`${verb}-${selection === null ? "all" : "asset"}`}
      onClick={() => setAsking(true)}
    >
      <Icon name={verb === "pause" ? "pause" : "runs"} size={14} />
      {label}
    </button>
  );
}

type Asking = { label: string; onClose: () => void };

function Asked({ verb, selection, label, onClose }: Omit<Props, "what" | "small"> & Asking) {
  const [catchUp, setCatchUp] = useState<CatchUp>("all");
  const asked = { verb, selection };
  const preview = useQuery(pausePreview(asked));
  const shown = preview.data;
  return (
    <Confirm
      label={label}
      sentence={shown?.sentence ?? null}
      keep={verb === "pause" ? "Keep it going" : "Keep it paused"}
      danger={verb === "pause"}
      hint={verb === "pause" ? "Why: everybody reads it" : undefined}
      cli={shown && `${shown.cli}${CHOICES[catchUp].cli}`}
      testid={verb}
      error={preview.error}
      onAgain={() => void preview.refetch()}
      onDo={(reason) =>
        post("/pauses", {
          ...asked,
          reason,
          confirm_assets: shown?.assets.length ?? 0,
          ...CHOICES[catchUp].asks,
        })
      }
      onClose={onClose}
    >
      {shown && shown.missed.length > 0 && <Missed missed={shown.missed} value={catchUp} onChange={setCatchUp} />}
    </Confirm>
  );
}

type MissedProps = { missed: PausePreview["missed"]; value: CatchUp; onChange: (chosen: CatchUp) => void };

/** What automation would ask for after a resume, and how much of it. */
function Missed({ missed, value, onChange }: MissedProps) {
  return (
    <fieldset className="missed" data-testid="missed">
      <legend className="visually-hidden">What is asked for of what was missed</legend>
      <ul className="quiet">
        {missed.slice(0, SHOWN).map((one) => (
          <li key={one.asset}>
            <span className="mono">{one.asset}</span> {one.partitions || plural(one.count, "partition")}
          </li>
        ))}
        {missed.length > SHOWN && <li>and {plural(missed.length - SHOWN, "more asset")}</li>}
      </ul>
      <span className="row wrap">
        {(Object.keys(CHOICES) as CatchUp[]).map((choice) => (
          <label key={choice} className="check">
            <input type="radio" name="catch-up" checked={value === choice} onChange={() => onChange(choice)} />
            {CHOICES[choice].label}
          </label>
        ))}
      </span>
    </fieldset>
  );
}

function Who({ pause }: { pause: PauseView }) {
  return (
    <>
      {pause.by}, <Time at={pause.at} />
      {pause.reason && <>: {pause.reason}</>}
    </>
  );
}

/** On every page while everything is paused. */
export function PauseBar() {
  const { data } = useQuery(pausesQuery());
  if (!data?.everything) return null;
  return (
    <div className="pause-bar" role="alert" data-testid="pause-bar">
      <StateGlyph state="deferred" size={14} />
      <span>
        <strong>Everything is paused</strong> by <Who pause={data.everything} />
      </span>
      <span className="grow" />
      <PauseButton verb="resume" selection={null} what="everything" small />
    </div>
  );
}

/** On the page of an asset: that it is paused and why, or the way to pause it. */
export function AssetPause({ assetKey }: { assetKey: string }) {
  const { data } = useQuery(pausesQuery());
  if (!data) return null;
  const pause = data.assets.find((one) => one.key === assetKey);
  const selection = `"${assetKey}"`;
  if (!pause) return <PauseButton verb="pause" selection={selection} what="asset" small />;
  return (
    <span className="row wrap" data-testid="asset-paused">
      <StateGlyph state="deferred" />
      <span>
        Paused by <Who pause={pause} />
      </span>
      <PauseButton verb="resume" selection={selection} what="asset" small />
    </span>
  );
}

/** Of these assets the paused ones, in words: nothing of them starts. */
export function PausedNote({ keys }: { keys: string[] }) {
  const { data } = useQuery(pausesQuery());
  const paused = data?.assets.filter((one) => one.key !== null && keys.includes(one.key)) ?? [];
  if (!data || (paused.length === 0 && !data.everything)) return null;
  const what = data.everything ? "Everything is" : paused.length === 1 ? `${paused[0].key} is` : null;
  return (
    <p className="row" data-testid="paused-note">
      <StateGlyph state="deferred" />
      {what ?? `${plural(paused.length, "asset")} are`} paused: its tasks will wait until somebody resumes it.
    </p>
  );
}
