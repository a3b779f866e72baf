// Home: what needs somebody, how the whole stands, what runs now and what ran last.
import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { summary } from "../api/queries";
import type { Summary } from "../api/types";
import { parseSearch } from "../app/search";
import { Empty, Loaded, Skeleton } from "../design/Feedback";
import { Icon } from "../design/Icon";
import { MiniBar, StateCounts } from "../design/StateChip";
import { StateGlyph } from "../design/StateGlyph";
import { totalOf } from "../design/states";
import { plural } from "../lib/format";
import { RunTable } from "./RunTable";
import "./lists.css";

export function Home() {
  const query = useQuery(summary());
  return (
    <div className="page">
      <header className="page-head">
        <h1>Home</h1>
      </header>
      <div className="page-scroll">
        <Loaded query={query} skeleton={<Skeleton rows={8} height={28} />}>
          {(value) => (isBare(value) ? <First /> : <Body value={value} />)}
        </Loaded>
      </div>
    </div>
  );
}

/** Code that does not load is no reason to show nothing: it is among what needs somebody. */
function isBare(value: Summary) {
  return totalOf(value.counts) === 0 && value.recent_runs.length === 0 && value.needs_me.length === 0;
}

function First() {
  return (
    <Empty title="Nothing is here yet" command="partita locations">
      Once a code location is loaded, its assets, their partitions and what needs you will be on this page.
    </Empty>
  );
}

const GLYPH: Record<string, string> = { bad: "failed", warn: "stale", info: "deferred" };

/** The API links inside the UI as /path?query; the router adds the prefix the UI is mounted under. */
function target(link: string): { to: string; search: Record<string, string | undefined> } {
  const [path, query] = link.split("?", 2);
  return { to: path, search: parseSearch(query ?? "") };
}

function Needs({ list }: { list: Summary["needs_me"] }) {
  if (list.length === 0)
    return (
      <p className="row">
        <StateGlyph state="fresh" />
        Nothing needs you.
      </p>
    );
  return (
    <ul className="needs">
      {list.map((need) => (
        <li key={`${need.text}${need.link}`}>
          <Link {...target(need.link)}>
            <StateGlyph state={GLYPH[need.severity] ?? "missing"} />
            <span>{need.text}</span>
            <Icon name="right" size={14} />
          </Link>
        </li>
      ))}
    </ul>
  );
}

function Body({ value }: { value: Summary }) {
  const navigate = useNavigate();
  const ended = value.recent_runs.filter((run) => !value.running_runs.some((open) => open.id === run.id));
  return (
    <>
      <div className="home-grid">
        <section className="section">
          <header>
            <h2>Needs you</h2>
            <span className="grow" />
            <Link className="btn small" to="/alerts">
              Show alerts
            </Link>
          </header>
          <Needs list={value.needs_me} />
        </section>
        <section className="section">
          <header>
            <h2>All partitions</h2>
            <span className="quiet">{plural(totalOf(value.counts), "partition")}</span>
          </header>
          <div className="stack">
            <MiniBar counts={value.counts} tall />
            <StateCounts
              counts={value.counts}
              label="Partitions by state"
              onPick={(state) => void navigate({ to: "/assets", search: { state: state ?? undefined } })}
            />
          </div>
        </section>
      </div>
      <section className="section">
        <header>
          <h2>Running now</h2>
        </header>
        {value.running_runs.length > 0 ? (
          <RunTable runs={value.running_runs} brief />
        ) : (
          <p className="quiet">No run is open.</p>
        )}
      </section>
      <section className="section">
        <header>
          <h2>Recent runs</h2>
          <span className="grow" />
          <Link className="btn small" to="/runs">
            Show all runs
          </Link>
        </header>
        {ended.length > 0 ? (
          <RunTable runs={ended} brief />
        ) : (
          <p className="quiet">Runs that ended will be listed here.</p>
        )}
      </section>
    </>
  );
}
