// Windows in which messages about assets wait: which there are, one begun by hand, one ended. Each says whose messages it is about.
import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { post } from "../api/client";
import { alertActionPreview, alertRules } from "../api/queries";
import type { AlertRules, MaintenancePreview } from "../api/types";
import { Problem } from "../design/Feedback";
import { Time } from "../design/Time";
import { plural } from "../lib/format";
import { Confirm } from "./Confirm";

const LENGTHS = {
  "30 min": 1800,
  "1 h": 3600,
  "2 h": 7200,
  "4 h": 14400,
  "8 h": 28800,
  "1 day": 86400,
  "3 days": 259200,
};
type Asked = { selection: string; for_s: number };

export function Maintenance() {
  const { data } = useQuery(alertRules());
  const [beginning, setBeginning] = useState(false);
  const [ending, setEnding] = useState<number | null>(null);
  if (!data) return null;
  return (
    <section className="section">
      <header>
        <h2>Maintenance</h2>
        <span className="quiet">Messages about these assets wait.</span>
        <span className="grow" />
        {beginning ? (
          <Begin onClose={() => setBeginning(false)} />
        ) : (
          <button type="button" className="btn small" data-testid="hold-back" onClick={() => setBeginning(true)}>
            Hold messages back…
          </button>
        )}
        {ending !== null && <End key={ending} id={ending} onClose={() => setEnding(null)} />}
      </header>
      {data.maintenance.length > 0 ? (
        <Windows windows={data.maintenance} onEnd={setEnding} />
      ) : (
        <p className="quiet">No window is open or planned.</p>
      )}
    </section>
  );
}

function Windows({ windows, onEnd }: { windows: AlertRules["maintenance"]; onEnd: (id: number) => void }) {
  return (
    <table className="table" data-testid="maintenance">
      <thead>
        <tr>
          <th>Window</th>
          <th>Assets</th>
          <th>Until</th>
          <th>By</th>
          <th>Why</th>
          <th>End</th>
        </tr>
      </thead>
      <tbody>
        {windows.map((window) => (
          <tr key={window.name}>
            <td>{window.name}</td>
            <td className="mono">{window.selection}</td>
            <td>
              <Time at={window.ends_at} none="not open now" />
            </td>
            <td>{window.by ?? "partita.toml"}</td>
            <td className={window.reason ? "" : "quiet"}>{window.reason || "–"}</td>
            <td>
              {window.id === null ? (
                <span className="quiet">by the file</span>
              ) : (
                <button
                  type="button"
                  className="btn small"
                  data-testid="end-maintenance"
                  onClick={() => onEnd(window.id as number)}
                >
                  End {window.name}…
                </button>
              )}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** First which assets and how long; then whose messages that silences, and why. */
function Begin({ onClose }: { onClose: () => void }) {
  const [selection, setSelection] = useState("");
  const [seconds, setSeconds] = useState(7200);
  const preview = useMutation({
    mutationFn: (asked: Asked) => post<MaintenancePreview>("/alerts/maintenance/preview", asked),
  });
  const asked: Asked = { selection: selection.trim(), for_s: seconds };
  const look = () => preview.mutate(asked);
  const shown = preview.data;
  if (shown)
    return (
      <Confirm
        label={`Hold ${asked.selection === "*" ? "all messages" : `messages about ${plural(shown.assets.length, "asset")}`} back`}
        sentence={shown.sentence}
        keep="Hold nothing back"
        danger
        hint="Why: everybody reads it"
        cli={shown.cli}
        testid="maintenance"
        onAgain={look}
        onDo={(reason) => post("/alerts/maintenance", { ...asked, reason, confirm_assets: shown.assets.length })}
        onClose={onClose}
      />
    );
  return (
    <form
      className="confirm"
      aria-label="Hold messages back"
      onSubmit={(event) => {
        event.preventDefault();
        if (asked.selection && !preview.isPending) look();
      }}
      onKeyDown={(event) => {
        if (event.key === "Escape") onClose();
      }}
    >
      <span className="row wrap">
        <label className="row grow confirm-why">
          <span className="quiet">Assets</span>
          <input
            className="field mono grow"
            data-testid="maintenance-selection"
            placeholder="group:raw"
            value={selection}
            // biome-ignore lint/a11y/noAutofocus: the form appeared because of a press; focus stays where the hand is
            autoFocus
            onChange={(event) => setSelection(event.target.value)}
          />
        </label>
        <label className="row">
          <span className="quiet">For</span>
          <select className="field" value={seconds} onChange={(event) => setSeconds(Number(event.target.value))}>
            {Object.entries(LENGTHS).map(([label, value]) => (
              <option key={label} value={value}>
                {label}
              </option>
            ))}
          </select>
        </label>
        <button type="button" className="btn small" onClick={onClose}>
          Hold nothing back
        </button>
        <button
          type="submit"
          className="btn small primary"
          data-testid="preview-maintenance"
          aria-busy={preview.isPending}
          disabled={!asked.selection}
          data-tip={asked.selection ? undefined : "Say first about which assets"}
        >
          Preview window
        </button>
      </span>
      {preview.error && <Problem error={preview.error} />}
    </form>
  );
}

function End({ id, onClose }: { id: number; onClose: () => void }) {
  const path = `/alerts/maintenance/${id}/end`;
  const preview = useQuery(alertActionPreview(path));
  return (
    <Confirm
      label={`End maintenance ${id}`}
      sentence={preview.data?.sentence ?? null}
      keep="Keep it open"
      reason={null}
      cli={preview.data?.cli}
      testid="end-maintenance"
      error={preview.error}
      onDo={() => post(path)}
      onClose={onClose}
    />
  );
}
