// Code locations: what serves, which version, and every module with the traceback of the ones that do not load.
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useSearch } from "@tanstack/react-router";
import { useEffect, useRef } from "react";
import { post } from "../api/client";
import { locations } from "../api/queries";
import type { Location } from "../api/types";
import { CopyButton } from "../design/Copy";
import { Empty, Loaded, Problem } from "../design/Feedback";
import { Icon } from "../design/Icon";
import { StateGlyph } from "../design/StateGlyph";
import { Time } from "../design/Time";
import { duration, plural, shortHash } from "../lib/format";
import { Deployment } from "./Deployment";
import "./lists.css";

const LOOK: Record<Location["state"], { state: string; word: string }> = {
  serving: { state: "fresh", word: "serving" },
  loading: { state: "running", word: "loading" },
  down: { state: "failed", word: "down" },
  broken: { state: "stale", word: "serving, with modules that do not load" },
};

export function Locations() {
  const { open } = useSearch({ from: "/locations" });
  const query = useQuery(locations());
  return (
    <div className="page">
      <header className="page-head">
        <h1>Locations</h1>
      </header>
      <div className="page-scroll">
        <Loaded query={query}>
          {(list) =>
            list.length > 0 ? (
              list.map((location) => <One key={location.name} location={location} focused={location.name === open} />)
            ) : (
              <Empty title="No code location" command="partita dev">
                A code location is a set of your modules, served by a process of its own. Start one and its assets
                appear.
              </Empty>
            )
          }
        </Loaded>
      </div>
    </div>
  );
}

const REFUSED = { state: "stale", word: "serving the version before; the new one is refused" };

function One({ location, focused }: { location: Location; focused: boolean }) {
  const ref = useRef<HTMLElement>(null);
  const client = useQueryClient();
  const reload = useMutation({
    mutationFn: () => post(`/locations/${encodeURIComponent(location.name)}/reload`),
    onSuccess: () => client.invalidateQueries({ queryKey: ["locations"] }),
  });
  useEffect(() => {
    if (focused) ref.current?.scrollIntoView({ block: "start" });
  }, [focused]);
  // Every module loads, and the version as a whole is not taken: the difference below says why.
  const refused =
    location.state === "broken" &&
    location.error !== null &&
    location.modules.length > 0 &&
    location.modules.every((one) => one.ok);
  const look = refused ? REFUSED : (LOOK[location.state] ?? { state: "missing", word: location.state });
  return (
    <section
      ref={ref}
      className="section"
      data-testid="location"
      data-location={location.name}
      data-state={location.state}
    >
      <header>
        <StateGlyph state={look.state} size={14} />
        <h2 className="mono">{location.name}</h2>
        <span className="mid">{look.word}</span>
        <span className="quiet grow">
          {plural(location.asset_count, "asset")}
          {location.active_version && (
            <>
              , version{" "}
              <span className="mono" data-tip={location.active_version}>
                {shortHash(location.active_version)}
              </span>
            </>
          )}
          , loaded <Time at={location.loaded_at} />, at <span className="mono">{location.address}</span>
        </span>
        <button type="button" className="btn small" aria-busy={reload.isPending} onClick={() => reload.mutate()}>
          <Icon name="reload" size={14} />
          {reload.isPending ? "Reloading…" : "Reload location"}
        </button>
      </header>
      {reload.error && <Problem error={reload.error} />}
      {location.error && !refused && (
        <div className="module">
          <p className="tone-red row">
            <strong className="grow">
              {location.state === "down" ? "The location does not answer" : "The location does not load"}
            </strong>
            <CopyButton text={location.error} what="Copy error" label />
          </p>
          <pre className="trace wrapped">{location.error}</pre>
        </div>
      )}
      {(location.active_version || location.address) && <Deployment location={location.name} />}
      {location.kept_assets.length > 0 && (
        <p className="mid" style={{ marginBottom: 8 }}>
          {plural(location.kept_assets.length, "asset keeps its", "assets keep their")} last good definition:{" "}
          <span className="mono">{location.kept_assets.join(", ")}</span>
        </p>
      )}
      {[...location.modules]
        .sort((a, b) => Number(a.ok) - Number(b.ok))
        .map((module) => (
          <div key={module.name} className="module" data-testid="module" data-ok={module.ok}>
            <p className="row">
              <StateGlyph state={module.ok ? "fresh" : "failed"} />
              <span className="mono">{module.name}</span>
              <span className="quiet grow">
                {module.ok ? "loaded" : "does not load"}
                {module.import_s !== null && ` in ${duration(module.import_s)}`}
              </span>
              {module.error && <CopyButton text={module.error} what="Copy traceback" label />}
            </p>
            {module.error && <pre className="trace">{module.error}</pre>}
            {module.warnings.map((warning) => (
              <p key={warning} className="mid" data-testid="module-warning">
                {warning}
              </p>
            ))}
          </div>
        ))}
    </section>
  );
}
