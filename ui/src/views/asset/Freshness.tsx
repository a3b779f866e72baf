// What an asset promises, whether it keeps it, what is left of its error budget, and what consumed the time when it did not.
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { freshness } from "../../api/queries";
import type { FreshnessPolicy, Miss } from "../../api/types";
import { StateGlyph } from "../../design/StateGlyph";
import { Time } from "../../design/Time";
import { duration } from "../../lib/format";
import "./freshness.css";

const GLYPH: Record<FreshnessPolicy["state"], string> = { fresh: "fresh", late: "failed", unknown: "missing" };
const SHOWN = 5;

// In the order in which they come; each a hue of the state that it stands for.
const SPENDERS: readonly [name: string, words: string, tone: string][] = [
  ["upstream", "waiting for upstreams", "upstream_stale"],
  ["unasked", "nobody asked for it", "missing"],
  ["outside", "waiting for something outside", "deferred"],
  ["pool", "waiting for slots", "scheduled"],
  ["worker", "waiting for a worker", "queued"],
  ["code", "running its code", "running"],
  ["retry", "waiting for a retry", "up_for_retry"],
];

export function Freshness({ assetKey }: { assetKey: string }) {
  const { data } = useQuery(freshness(assetKey));
  const policy = data?.policies[0];
  if (!policy) return null;
  return (
    <section className="section" data-testid="freshness">
      <header>
        <h2>Freshness</h2>
        <span className="tag">{policy.policy}</span>
      </header>
      <div className="stack freshness">
        <p className="row">
          <StateGlyph state={GLYPH[policy.state]} />
          <span>{policy.sentence}</span>
        </p>
        {policy.state !== "late" && policy.due_at && (
          <p className="quiet">
            Due next <Time at={policy.due_at} />.
          </p>
        )}
        <Budget policy={policy} />
        <Misses misses={data.misses} />
      </div>
    </section>
  );
}

function Budget({ policy }: { policy: FreshnessPolicy }) {
  if (policy.late_s == null || !policy.budget_s || policy.over_s == null) return null;
  const used = Math.min(1, policy.late_s / policy.budget_s);
  const words = `${duration(policy.late_s)} of ${duration(policy.budget_s)} used in ${duration(policy.over_s)}`;
  return (
    <div className="budget" data-burns={policy.burn != null}>
      <span
        className="budget-bar"
        role="meter"
        aria-label="Error budget used"
        aria-valuemin={0}
        aria-valuemax={100}
        aria-valuenow={Math.round(used * 100)}
      >
        <span style={{ width: `${used * 100}%` }} />
      </span>
      <span className="quiet">{words}</span>
    </div>
  );
}

function Misses({ misses }: { misses: Miss[] }) {
  if (misses.length === 0) return <p className="quiet">Not late in the last 30 days.</p>;
  return (
    <ul className="misses">
      {misses.slice(0, SHOWN).map((miss) => (
        <li key={miss.from_at}>
          <span className="miss">
            <Time at={miss.from_at} />
            {miss.partition && (
              <Link className="link key" to="/asset" search={{ key: miss.asset, cell: miss.partition }}>
                {miss.partition}
              </Link>
            )}
            <span>{miss.text}</span>
          </span>
          <Spent spent={miss.spent} />
        </li>
      ))}
    </ul>
  );
}

/** A bar of who took the time; the words beside it say the same. */
function Spent({ spent }: { spent: Record<string, number> }) {
  const total = Object.values(spent).reduce((sum, took) => sum + took, 0);
  if (total <= 0) return null;
  return (
    <span className="spent" aria-hidden="true">
      {SPENDERS.filter(([name]) => spent[name]).map(([name, words, tone]) => (
        <span
          key={name}
          className="cell"
          data-state={tone}
          style={{ flexGrow: spent[name] / total }}
          data-tip={`${words}: ${duration(spent[name])}`}
        />
      ))}
    </span>
  );
}
