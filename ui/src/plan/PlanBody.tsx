// What a plan will do and what it will not: the sentence, reasons that filter, waves as columns, assets, the blocked.

import { Link } from "@tanstack/react-router";
import type { Plan, PlanAsset } from "../api/types";
import { FilterChip } from "../design/FilterChip";
import { StateGlyph } from "../design/StateGlyph";
import { count, duration, plural } from "../lib/format";
import { filterByReason, reasonLook, reasonsOf } from "./reasons";
import { waveCount, waveName } from "./waves";

type Props = { plan: Plan; reason: string | null; onReason: (reason: string | null) => void };

export function PlanBody({ plan, reason, onReason }: Props) {
  const shown = filterByReason(plan.assets, reason);
  return (
    <div className="plan-main">
      <p className="plan-sentence" data-testid="plan-sentence">
        {plan.sentence}
      </p>
      <fieldset className="chips" aria-label="Filter by reason">
        {reasonsOf(plan.by_reason).map(([code, n]) => (
          <FilterChip
            key={code}
            picked={reason === code}
            onPick={() => onReason(reason === code ? null : code)}
            glyph={reasonLook(code).state}
            n={n}
            data-testid="plan-reason"
            data-reason={code}
          >
            {reasonLook(code).word}
          </FilterChip>
        ))}
        {plan.joined > 0 && (
          <span
            className="chip boxed"
            data-tip="These cells belong to a task that is already open; the request joins it."
          >
            <StateGlyph state="scheduled" />
            <span className="n">{count(plan.joined)}</span>
            join open work
          </span>
        )}
      </fieldset>
      {plan.waves.length > 0 && <Waves plan={plan} keys={new Set(shown.map(({ asset }) => asset.key))} />}
      <CriticalPath plan={plan} />
      {shown.length > 0 && (
        <section className="section">
          <header>
            <h2>{plural(shown.length, "asset")}</h2>
          </header>
          <table className="table">
            <thead>
              <tr>
                <th>Asset</th>
                <th className="num">Wave</th>
                <th className="num">Cells</th>
                <th className="num">Tasks</th>
                <th className="num">Each</th>
                <th style={{ width: "38%" }}>Because</th>
              </tr>
            </thead>
            <tbody>
              {shown.map(({ asset, cells }) => (
                <tr key={asset.key} data-testid="plan-asset" data-key={asset.key}>
                  <td>
                    <Link className="link key" to="/asset" search={{ key: asset.key }}>
                      {asset.key}
                    </Link>
                    {asset.partitions && <div className="plan-partitions">{asset.partitions}</div>}
                  </td>
                  <td className="num">{asset.wave + 1}</td>
                  <td className="num">{count(cells)}</td>
                  <td className="num">{count(asset.tasks)}</td>
                  <Each asset={asset} />
                  <td>
                    {Object.entries(asset.by_reason)
                      .filter(([code]) => reason === null || code === reason)
                      .map(([code, part]) => (
                        <span key={code} className="because">
                          <StateGlyph state={reasonLook(code).state} />
                          <strong className="num">{count(part?.count ?? 0)}</strong>
                          <span>{part?.text || reasonLook(code).word}</span>
                        </span>
                      ))}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      )}
      {plan.blocked.length > 0 && <Blocked plan={plan} />}
    </div>
  );
}

/** What one attempt takes, and on how many that rests. */
function Each({ asset }: { asset: PlanAsset }) {
  if (asset.mean_s === null)
    return (
      <td className="num quiet plan-each" data-tip="It never ran: there is nothing to go by">
        –
      </td>
    );
  const basis =
    asset.samples > 0
      ? `Mean of ${plural(asset.samples, "earlier attempt")}`
      : "It never ran: the mean of the other steps";
  return (
    <td className={`num plan-each${asset.samples > 0 ? "" : " quiet"}`} data-tip={basis}>
      {asset.samples > 0 ? "" : "~"}
      {duration(asset.mean_s)}
    </td>
  );
}

function Waves({ plan, keys }: { plan: Plan; keys: Set<string> }) {
  const critical = new Set(plan.estimate?.critical_path ?? []);
  const most = Math.max(1, ...plan.waves.map((wave) => wave.cells));
  return (
    <section className="section">
      <header>
        <h2>{plural(waveCount(plan.waves), "wave")}</h2>
        <span className="quiet">Each starts as its inputs are published, partition by partition.</span>
      </header>
      <ol className="waves">
        {plan.waves.map((wave) => (
          <li key={wave.index} className="wave" data-testid="plan-wave">
            <p className="row">
              <strong>{waveName(wave)}</strong>
              <span className="quiet">
                {plural(wave.cells, "cell")}, {plural(wave.tasks, "task")}
                {wave.count > 1 && " each"}
              </span>
            </p>
            <span className="meter">
              <span style={{ width: `${(wave.cells / most) * 100}%` }} />
            </span>
            <ul>
              {wave.assets.map((key) => (
                <li
                  key={key}
                  className={`key${keys.has(key) ? "" : " faded"}`}
                  data-tip={critical.has(key) ? `${key}\nOn the critical path` : key}
                >
                  {key}
                  {critical.has(key) && <i className="critical" />}
                </li>
              ))}
            </ul>
          </li>
        ))}
      </ol>
    </section>
  );
}

/** The chain that makes the floor: no number of slots makes the plan faster. */
function CriticalPath({ plan }: { plan: Plan }) {
  if (!plan.estimate) return null;
  return (
    <section className="section" data-testid="plan-critical">
      <header>
        <h2>Critical path</h2>
        <span className="quiet">
          {duration(plan.estimate.critical_s)}: no number of slots makes the plan faster than this chain.
        </span>
      </header>
      <ol className="critical-path">
        {plan.estimate.critical.map((part, i) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a chain may pass the same cells' asset twice; its order is its identity
          <li key={i}>
            <span className="key">{part.text}</span>
            <span className="quiet">
              {part.tasks > 1 && `${plural(part.tasks, "task")} in a row, `}
              {duration(part.duration_s)}
            </span>
          </li>
        ))}
      </ol>
    </section>
  );
}

function Blocked({ plan }: { plan: Plan }) {
  return (
    <section className="section" data-testid="plan-blocked">
      <header>
        <h2>Will not run</h2>
        <span className="quiet">{plural(plan.blocked_count, "cell")}, and why</span>
      </header>
      <table className="table">
        <thead>
          <tr>
            <th>Asset</th>
            <th className="num">Cells</th>
            <th style={{ width: "60%" }}>Because</th>
          </tr>
        </thead>
        <tbody>
          {plan.blocked.map((each) => (
            <tr key={`${each.key}${each.reason}${each.text}`}>
              <td>
                <Link className="link key" to="/asset" search={{ key: each.key }}>
                  {each.key}
                </Link>
                {each.partitions && <div className="plan-partitions">{each.partitions}</div>}
              </td>
              <td className="num">{count(each.count)}</td>
              <td>
                <span className="because why-not">
                  <StateGlyph state="upstream_failed" />
                  <span>{each.text}</span>
                </span>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
