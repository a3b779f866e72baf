// Path, search, zone, live dot, theme, keys.
import { Link, useRouterState } from "@tanstack/react-router";
import { useState } from "react";
import { useLive } from "../api/live";
import { Icon } from "../design/Icon";
import { BROWSER_ZONE, setZone, useNow, useZone } from "../lib/clock";
import { clock, duration } from "../lib/format";
import { useTitle } from "../lib/title";
import { setTheme, type Theme, useTheme } from "./theme";

const TITLES: Record<string, [string, string]> = {
  assets: ["Assets", "/assets"],
  asset: ["Assets", "/assets"],
  graph: ["Graph", "/graph"],
  plan: ["Plan", "/assets"],
  runs: ["Runs", "/runs"],
  backfills: ["Backfills", "/backfills"],
  queue: ["Queue", "/queue"],
  automation: ["Automation", "/automation"],
  locations: ["Locations", "/locations"],
  system: ["System", "/system"],
  audit: ["Audit", "/audit"],
  alerts: ["Alerts", "/alerts"],
};

function Path() {
  const location = useRouterState({ select: (state) => state.location });
  const [first, second] = location.pathname.split("/").filter(Boolean);
  const search = location.search as Record<string, string | undefined>;
  const title = first ? TITLES[first] : undefined;
  const leaf = first === "asset" ? search.key : first === "plan" ? search.selection : second && `#${second}`;
  useTitle([leaf, title?.[0] ?? "Home"]);
  return (
    <nav className="path" aria-label="Path">
      <Link to="/" className="quiet">
        partita
      </Link>
      <span className="sep">/</span>
      {title ? <Link to={title[1]}>{title[0]}</Link> : <span>Home</span>}
      {leaf && (
        <>
          <span className="sep">/</span>
          <span className="key" data-tip={leaf}>
            {leaf}
          </span>
        </>
      )}
    </nav>
  );
}

function LiveDot() {
  const { state, since } = useLive();
  const now = useNow(1);
  const zone = useZone();
  if (state === "broken" && since !== null) {
    const gap = Math.max(1, Math.floor((now - since) / 1000));
    return (
      <span
        className="live broken"
        role="status"
        data-testid="live-dot"
        data-live="broken"
        data-tip="The event stream is broken. Reconnecting, and reading again every 10 s."
      >
        <i />
        Stale since {clock(since, zone)} ({gap < 60 ? `${gap} s` : duration(gap)})
      </span>
    );
  }
  const text = state === "live" ? "Live" : "Connecting";
  return (
    <span
      className={`live ${state}`}
      role="status"
      data-testid="live-dot"
      data-live={state}
      data-tip={state === "live" ? "Changes arrive as they happen." : "Opening the event stream."}
    >
      <i />
      {text}
    </span>
  );
}

function ZonePicker() {
  const zone = useZone();
  const [all, setAll] = useState<string[]>([]);
  const common = [...new Set([BROWSER_ZONE, "UTC", zone])];
  return (
    <select
      className="field zone"
      aria-label="Time zone of all times"
      data-tip="All times are shown in this zone"
      value={zone}
      onFocus={() => setAll(Intl.supportedValuesOf("timeZone"))}
      onPointerDown={() => setAll(Intl.supportedValuesOf("timeZone"))}
      onChange={(event) => setZone(event.target.value)}
    >
      {common.map((name) => (
        <option key={name} value={name}>
          {name === BROWSER_ZONE && name !== "UTC" ? `${name} (here)` : name}
        </option>
      ))}
      {all
        .filter((name) => !common.includes(name))
        .map((name) => (
          <option key={name}>{name}</option>
        ))}
    </select>
  );
}

const NEXT: Record<Theme, Theme> = { system: "light", light: "dark", dark: "system" };

export function TopBar({ onSearch, onKeys }: { onSearch: () => void; onKeys: () => void }) {
  const theme = useTheme();
  return (
    <header className="topbar">
      <Path />
      <button type="button" className="search-open" onClick={onSearch} aria-label="Search assets, runs and views">
        <Icon name="search" size={14} />
        <span>Search</span>
        <kbd>Ctrl K</kbd>
      </button>
      <span className="grow" />
      <LiveDot />
      <ZonePicker />
      <button
        type="button"
        className="btn bare icon"
        data-testid="theme-switch"
        aria-label={`Switch theme (now ${theme})`}
        data-tip={`Theme: ${theme}. Switch to ${NEXT[theme]}`}
        onClick={() => setTheme(NEXT[theme])}
      >
        <Icon name={theme === "system" ? "auto" : theme === "light" ? "sun" : "moon"} />
      </button>
      <button type="button" className="btn bare icon" aria-label="Show keys" data-tip="Show keys (?)" onClick={onKeys}>
        <kbd>?</kbd>
      </button>
    </header>
  );
}
