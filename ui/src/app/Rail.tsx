// The left rail: nine places, two quiet counts (what is running, what needs somebody).
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { summary } from "../api/queries";
import { Icon, type IconName } from "../design/Icon";
import { count } from "../lib/format";

type Place = { to: string; label: string; icon: IconName };
const PLACES: Place[][] = [
  [
    { to: "/", label: "Home", icon: "home" },
    { to: "/assets", label: "Assets", icon: "assets" },
    { to: "/graph", label: "Graph", icon: "graph" },
  ],
  [
    { to: "/runs", label: "Runs", icon: "runs" },
    { to: "/backfills", label: "Backfills", icon: "backfills" },
    { to: "/queue", label: "Queue", icon: "queue" },
    { to: "/automation", label: "Automation", icon: "automation" },
  ],
  [
    { to: "/locations", label: "Locations", icon: "locations" },
    { to: "/system", label: "System", icon: "system" },
  ],
];

function Mark() {
  return (
    <svg width="22" height="22" viewBox="0 0 32 32" aria-hidden="true">
      <rect width="32" height="32" rx="7" fill="var(--primary)" />
      <g fill="var(--on-primary)">
        <rect x="7" y="8" width="5" height="16" rx="1.5" />
        <rect x="14" y="8" width="11" height="5" rx="1.5" />
      </g>
      <rect x="14" y="15" width="7" height="4" rx="1.5" fill="var(--green)" />
      <rect x="22.5" y="15" width="2.5" height="4" rx="1.2" fill="var(--amber)" />
    </svg>
  );
}

export function Rail() {
  const { data } = useQuery(summary());
  const badges: Record<string, { n: number; label: string; tone: string } | undefined> = {
    "/runs": data?.running_runs.length
      ? { n: data.running_runs.length, label: "running", tone: "tone-blue" }
      : undefined,
    "/": data?.needs_me.length ? { n: data.needs_me.length, label: "need somebody", tone: "tone-red" } : undefined,
  };
  return (
    <nav className="rail" aria-label="Main">
      <Link to="/" className="brand" aria-label="partita, home">
        <Mark />
        <span>partita</span>
      </Link>
      {PLACES.map((group) => (
        <ul key={group[0].to}>
          {group.map((place) => {
            const badge = badges[place.to];
            return (
              <li key={place.to}>
                <Link
                  to={place.to}
                  className="place"
                  activeOptions={{ exact: place.to === "/" }}
                  activeProps={{ "aria-current": "page" }}
                  aria-label={badge ? `${place.label}, ${badge.n} ${badge.label}` : place.label}
                  title={place.label}
                >
                  <Icon name={place.icon} />
                  <span className="label">{place.label}</span>
                  {badge && <span className={`badge ${badge.tone}`}>{count(badge.n)}</span>}
                </Link>
              </li>
            );
          })}
        </ul>
      ))}
    </nav>
  );
}
