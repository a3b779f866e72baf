// What surrounds an asset: lineage, checks, code, how it runs.
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import type { AssetDetail } from "../../api/types";
import { Icon } from "../../design/Icon";
import { StateGlyph } from "../../design/StateGlyph";
import { Time } from "../../design/Time";
import { duration, partitionLabel, plural, recordText, shortHash } from "../../lib/format";

export function Facts({ asset }: { asset: AssetDetail }) {
  return (
    <div className="asset-facts">
      <Lineage asset={asset} />
      <Checks asset={asset} />
    </div>
  );
}

function Neighbours({ title, list, none }: { title: string; list: AssetDetail["upstream"]; none: string }) {
  return (
    <>
      <h3>{title}</h3>
      {list.length === 0 && <p className="quiet">{none}</p>}
      <ul>
        {list.map((edge) => (
          <li key={`${edge.key}${edge.input}`} className="row">
            <Link className="link key" to="/asset" search={{ key: edge.key }} data-tip={edge.key}>
              {edge.key}
            </Link>
            {edge.mapping && <span className="quiet">{edge.mapping}</span>}
          </li>
        ))}
      </ul>
    </>
  );
}

function Lineage({ asset }: { asset: AssetDetail }) {
  return (
    <section className="section">
      <header>
        <h2>Lineage</h2>
        <span className="grow" />
        <Link className="btn small" to="/graph" search={{ focus: asset.key, node: asset.key, depth: "2" }}>
          <Icon name="graph" size={14} />
          Show in graph
        </Link>
      </header>
      <div className="stack">
        <Neighbours title="Upstream" list={asset.upstream} none="Reads no other asset." />
        <Neighbours title="Downstream" list={asset.downstream} none="No other asset reads it." />
      </div>
    </section>
  );
}

function Checks({ asset }: { asset: AssetDetail }) {
  return (
    <section className="section">
      <header>
        <h2>Checks</h2>
      </header>
      {asset.checks.length === 0 && (
        <p className="quiet">None. A check is a function marked with @check({asset.key.split("/").pop()}).</p>
      )}
      <ul className="stack">
        {asset.checks.map((check) => (
          <li key={check.name}>
            <p className="row">
              <StateGlyph
                state={
                  check.last_failing ? "failed" : check.last ? (check.last.passed ? "fresh" : "failed") : "missing"
                }
              />
              <span className="mono">{check.name}</span>
              {check.blocking && (
                <span className="tag" data-tip="A failure keeps the data from being published">
                  blocking
                </span>
              )}
            </p>
            {check.last_failing && (
              <p className="quiet">
                Fails on {check.failing} {check.failing === 1 ? "partition" : "partitions"}, the newest{" "}
                <Time at={check.last_failing.at} />
                {check.last_failing.partition &&
                  ` on ${partitionLabel(check.last_failing.partition, asset.partitions_kind === "multi")}`}
                {Object.keys(check.last_failing.detail).length > 0 && `: ${recordText(check.last_failing.detail)}`}
              </p>
            )}
            <p className="quiet">
              {check.last ? (
                <>
                  {check.last.passed ? "Passed" : "Failed"} <Time at={check.last.at} />
                  {check.last.partition &&
                    ` on ${partitionLabel(check.last.partition, asset.partitions_kind === "multi")}`}
                  {Object.keys(check.last.detail).length > 0 && `: ${recordText(check.last.detail)}`}
                </>
              ) : (
                "Has not run yet."
              )}
            </p>
          </li>
        ))}
      </ul>
    </section>
  );
}

function text(value: unknown): string | null {
  if (value === null || value === undefined) return null;
  if (typeof value === "string" || typeof value === "number" || typeof value === "boolean") return String(value);
  if (Array.isArray(value)) return value.length === 0 ? null : value.map(text).join(", ");
  const named = value as { name?: unknown; slots?: unknown };
  if (typeof named.name === "string" && typeof named.slots === "number")
    return `${named.name} (${plural(named.slots, "slot")})`;
  const fields = Object.entries(value as Record<string, unknown>).filter(([, v]) => v !== null && v !== undefined);
  return fields.map(([name, v]) => fieldText(name, v)).join(", ") || null;
}

function fieldText(name: string, value: unknown): string {
  const seconds = name.endsWith("_s") && typeof value === "number";
  return `${name.replace(/_s$/, "").replaceAll("_", " ")} ${seconds ? duration(value) : text(value)}`;
}

function retriesText(policy: AssetDetail["retries"]): string | null {
  const { max_retries: most, delay_s: delay, backoff } = (policy ?? {}) as Record<string, unknown>;
  if (typeof most !== "number" || typeof delay !== "number") return text(policy);
  if (most === 0) return "none";
  const pause = backoff === "exponential" ? `pauses growing from ${duration(delay)}` : `after ${duration(delay)} each`;
  return `${plural(most, "retry", "retries")}, ${pause}`;
}

/** A path that wraps behind its separators, not within its names. */
function breakable(path: string): ReactNode[] {
  return path.split(/(?<=[.:/])/).flatMap((part, i) => [i > 0 && <wbr key={part} />, part]);
}

export function Definition({ asset }: { asset: AssetDetail }) {
  const rows: [string, ReactNode][] = [
    [
      "Location",
      <Link key="l" className="link" to="/locations" search={{ open: asset.location }}>
        {asset.location}
      </Link>,
    ],
    ["Group", asset.group],
    ["Owner", asset.owner],
    ["Function", asset.code?.function && <span className="mono">{breakable(asset.code.function)}</span>],
    [
      "File",
      asset.code?.file && (
        <span className="mono">{breakable(`${asset.code.file}${asset.code.line ? `:${asset.code.line}` : ""}`)}</span>
      ),
    ],
    ["Code", asset.code?.fingerprint && <span className="mono">{shortHash(asset.code.fingerprint)}</span>],
    ["Stored by", text(asset.io)],
    ["Pools", text(asset.pools)],
    ["Batch", text(asset.batch)],
    ["Retries", retriesText(asset.retries)],
    ["Time limit", asset.timeout_s === null ? null : duration(asset.timeout_s)],
  ];
  return (
    <aside className="side-panel" aria-label="Definition">
      <header>
        <h2>Definition</h2>
      </header>
      <dl className="facts">
        {rows
          .filter(([, value]) => value !== null && value !== undefined && value !== "")
          .map(([name, value]) => (
            <div key={name} style={{ display: "contents" }}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ))}
      </dl>
    </aside>
  );
}
