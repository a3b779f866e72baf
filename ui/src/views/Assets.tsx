// The asset catalogue: a virtual list with live mini bars. Search, selection and state filter live in the URL.
import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { useVirtualizer } from "@tanstack/react-virtual";
import { useRef } from "react";
import { assets as assetsQuery } from "../api/queries";
import type { AssetSummary, CellState, Counts } from "../api/types";
import { Empty, Loaded, Skeleton } from "../design/Feedback";
import { Icon } from "../design/Icon";
import { SearchField } from "../design/SearchField";
import { MiniBar, StateCounts } from "../design/StateChip";
import { StateGlyph } from "../design/StateGlyph";
import { addCounts, dominant, LOOKS } from "../design/states";
import { Time } from "../design/Time";
import { count, plural } from "../lib/format";
import "./lists.css";

const ROW = 40;

export function Assets() {
  const search = useSearch({ from: "/assets" });
  const navigate = useNavigate({ from: "/assets" });
  const query = useQuery(assetsQuery({ select: search.select, search: search.search }));
  const patch = (change: Partial<typeof search>) =>
    void navigate({ search: (before) => ({ ...before, ...change }), replace: true });
  const all = query.data?.assets ?? [];
  const totals = all.reduce<Counts>((sum, asset) => addCounts(sum, asset.counts), {});
  const shown = search.state ? all.filter((asset) => (asset.counts[search.state as CellState] ?? 0) > 0) : all;
  const filtered = Boolean(search.search || search.select || search.state);
  return (
    <div className="page">
      <header className="page-head">
        <h1>Assets</h1>
        <span className="quiet">{query.data && plural(query.data.total, "asset")}</span>
        <span className="grow" />
        <SearchField
          value={search.search ?? ""}
          onValue={(text) => patch({ search: text || undefined })}
          placeholder="Search keys, groups, owners"
          testid="asset-search"
          width={240}
        />
        <SearchField
          value={search.select ?? ""}
          onValue={(text) => patch({ select: text || undefined })}
          placeholder="Select: +delays, group:flights"
          testid="asset-select"
          width={240}
          mono
          tip={
            "The selection grammar of the CLI:\nkey, raw/*, +upstream, downstream+, group:, tag:, owner:, kind:, and / or / not"
          }
        />
        <Link className="btn" to="/graph" search={{ select: search.select }}>
          <Icon name="graph" size={14} />
          Show as graph
        </Link>
      </header>
      {all.length > 0 && (
        <div className="filters">
          <StateCounts
            counts={totals}
            active={search.state}
            label="Filter by state of partitions"
            onPick={(state) => patch({ state: state ?? undefined })}
          />
        </div>
      )}
      <Loaded
        query={query}
        skeleton={
          <div className="page-scroll">
            <Skeleton rows={10} height={24} />
          </div>
        }
      >
        {() =>
          shown.length > 0 ? (
            <List assets={shown} />
          ) : (
            <div className="page-scroll">
              {filtered ? (
                <Empty title="No asset matches">
                  Loosen the search, the selection or the state filter.{" "}
                  <Link className="link" to="/assets" search={{}}>
                    Show all assets
                  </Link>
                </Empty>
              ) : (
                <Empty title="No assets yet" command="partita locations">
                  Assets appear here as soon as a code location is loaded.
                </Empty>
              )}
            </div>
          )
        }
      </Loaded>
    </div>
  );
}

function List({ assets }: { assets: AssetSummary[] }) {
  const scroller = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count: assets.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW,
    overscan: 12,
  });
  return (
    <div className="vlist" role="table" aria-label="Assets" aria-rowcount={assets.length + 1}>
      {/* biome-ignore lint/a11y/useFocusableInteractive: a header row is not interactive */}
      <div className="vrow vhead asset-cols" role="row">
        {["Key", "Partitions", "", "Fresh to", "Made", "Checks", "Group", "Automation"].map((name, i) => (
          // biome-ignore lint/a11y/useFocusableInteractive: see above
          // biome-ignore lint/suspicious/noArrayIndexKey: the columns are fixed
          <span key={i} role="columnheader" className={i === 2 ? "num" : undefined}>
            {name}
          </span>
        ))}
      </div>
      <div className="vbody" ref={scroller}>
        <div style={{ height: virtual.getTotalSize(), position: "relative" }}>
          {virtual.getVirtualItems().map((item) => (
            <Row key={assets[item.index].key} asset={assets[item.index]} index={item.index} top={item.start} />
          ))}
        </div>
      </div>
    </div>
  );
}

function Row({ asset, index, top }: { asset: AssetSummary; index: number; top: number }) {
  const state = dominant(asset.counts);
  return (
    <Link
      to="/asset"
      search={{ key: asset.key }}
      className="vrow asset-cols"
      role="row"
      aria-rowindex={index + 2}
      data-testid="asset-row"
      data-key={asset.key}
      data-state={state}
      style={{ transform: `translateY(${top}px)`, height: ROW }}
    >
      <span role="cell" className="row">
        <span data-tip={LOOKS[state].word} className="row">
          <StateGlyph state={state} />
        </span>
        <span className="key" data-tip={asset.description ? `${asset.key}\n${asset.description}` : asset.key}>
          {asset.key}
        </span>
        {asset.external && <span className="tag">external</span>}
        {asset.load_error && (
          <span className="tag tone-red" data-tip={asset.load_error}>
            last good definition
          </span>
        )}
      </span>
      <span role="cell">
        <MiniBar counts={asset.counts} />
      </span>
      <span role="cell" className="num quiet">
        {count(asset.partition_count)}
      </span>
      <span role="cell">
        <span className="mono" data-tip={asset.fresh_to ? `Unbroken fresh up to ${asset.fresh_to}` : undefined}>
          {asset.fresh_to ?? "–"}
        </span>
      </span>
      <span role="cell">
        <Time at={asset.last_materialized_at} none={asset.external ? "–" : "never"} />
      </span>
      <span role="cell">
        {asset.checks.total === 0 ? (
          <span className="quiet">–</span>
        ) : asset.checks.failed > 0 ? (
          <span className="tone-red row">
            <StateGlyph state="failed" /> {asset.checks.failed} of {asset.checks.total} failed
          </span>
        ) : (
          <span className={asset.checks.passed === 0 ? "quiet" : undefined}>
            {asset.checks.passed === 0 ? "not run yet" : `${asset.checks.passed} of ${asset.checks.total} passed`}
          </span>
        )}
      </span>
      <span role="cell" className="mid">
        {asset.group || "–"}
      </span>
      <span role="cell" className="mid">
        {asset.automation?.condition ?? "–"}
      </span>
    </Link>
  );
}
