// One asset: the verdict and what to do, its partitions with the selection, and the facts around it.
import { useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useCallback, useState } from "react";
import { asset as assetQuery } from "../../api/queries";
import type { AssetDetail } from "../../api/types";
import { CopyButton } from "../../design/Copy";
import { Empty, Loaded, Problem, Skeleton } from "../../design/Feedback";
import { KeysSection } from "../../keys/KeysSection";
import { PartitionStrip, SingleCell } from "../../strip/PartitionStrip";
import { SelectionBar } from "../../strip/SelectionBar";
import type { Window } from "../../strip/zoom";
import { AssetPause } from "../Pause";
import { CellPanel } from "./CellPanel";
import { Definition, Facts } from "./Facts";
import { Freshness } from "./Freshness";
import { Hindrances } from "./Hindrances";
import { PartitionList } from "./PartitionList";
import { isSchemeChoice, SchemeChange } from "./SchemeChange";
import { Standing } from "./Standing";
import { VerdictLine } from "./VerdictLine";
import "./asset.css";

function numberOr(text: string | undefined): number | null {
  const n = Number(text);
  return text === undefined || !Number.isFinite(n) ? null : n;
}

export function Asset() {
  const { key } = useSearch({ from: "/asset" });
  if (!key)
    return (
      <div className="page">
        <div className="page-scroll" style={{ paddingTop: 24 }}>
          <Empty title="No asset is named in the address" command="partita assets">
            An address of an asset ends in ?key=, as in /asset?key=raw/flights.
          </Empty>
        </div>
      </div>
    );
  return <AssetPage key={key} assetKey={key} />;
}

function AssetPage({ assetKey }: { assetKey: string }) {
  const query = useQuery(assetQuery(assetKey));
  return (
    <div className="page">
      <header className="page-head">
        <h1 className="mono asset-title">{assetKey}</h1>
        <CopyButton text={assetKey} what="Copy asset key" />
        {query.data && <Badges asset={query.data} />}
        <span className="grow" />
        {query.data && !query.data.external && <AssetPause assetKey={query.data.key} />}
      </header>
      <Loaded
        query={query}
        skeleton={
          <div className="page-scroll">
            <Skeleton rows={8} />
          </div>
        }
      >
        {(asset) => <Body asset={asset} />}
      </Loaded>
    </div>
  );
}

function Badges({ asset }: { asset: AssetDetail }) {
  return (
    <span className="row wrap">
      {asset.external && <span className="tag">external</span>}
      {asset.automation && (
        <span className="tag" data-tip="Asked for without a person, when this holds">
          {asset.automation.condition}
        </span>
      )}
      {asset.kinds.map((kind) => (
        <span key={kind} className="tag">
          {kind}
        </span>
      ))}
    </span>
  );
}

function Body({ asset }: { asset: AssetDetail }) {
  const search = useSearch({ from: "/asset" });
  const navigate = useNavigate({ from: "/asset" });
  const [draft, setDraft] = useState<string | null>(null);
  const patch = useCallback(
    (change: Partial<typeof search>) =>
      void navigate({ search: (before) => ({ ...before, ...change }), replace: true }),
    [navigate],
  );
  const onText = useCallback((sel: string) => patch({ sel: sel || undefined }), [patch]);
  const lo = numberOr(search.lo);
  const hi = numberOr(search.hi);
  const partitioned = asset.partitions_kind !== "none";
  const text = draft ?? search.sel ?? "";
  const showsBar = !asset.external && (partitioned ? text !== "" : true);
  const asList = search.as === "list";
  return (
    <div className="page-scroll with-panel">
      <div className="asset-main">
        <VerdictLine asset={asset} />
        {!asset.external && <Hindrances assetKey={asset.key} />}
        <Standing asset={asset} partitions={partitioned ? text : ""} />
        {!asset.external && (
          <SchemeChange
            asset={asset}
            choice={isSchemeChoice(search.scheme) ? search.scheme : null}
            onChoice={(scheme) => patch({ scheme: scheme ?? undefined })}
          />
        )}
        {asset.load_error && (
          <Problem
            error={
              new Error(`The module of this asset does not load; its last good definition is used. ${asset.load_error}`)
            }
          />
        )}
        <section className="section">
          <header>
            <h2>Partitions</h2>
            <span className="quiet grow">{describePartitions(asset)}</span>
            {partitioned && (
              <>
                {!asset.external && text === "" && (
                  <button type="button" className="btn small" onClick={() => onText("all")}>
                    Select all partitions
                  </button>
                )}
                <span className="segmented">
                  <button type="button" aria-pressed={!asList} onClick={() => patch({ as: undefined })}>
                    Strip
                  </button>
                  <button type="button" aria-pressed={asList} onClick={() => patch({ as: "list" })}>
                    List
                  </button>
                </span>
              </>
            )}
          </header>
          {!partitioned ? (
            <SingleCell asset={asset} />
          ) : asList ? (
            <PartitionList
              asset={asset}
              state={search.state}
              onState={(state) => patch({ state: state ?? undefined })}
              onOpen={(cell) => patch({ cell })}
            />
          ) : (
            <PartitionStrip
              asset={asset}
              text={text}
              committed={search.sel ?? ""}
              window={lo !== null && hi !== null ? { lo, hi } : null}
              year={numberOr(search.year)}
              openKey={search.cell ?? null}
              onText={onText}
              onDraft={setDraft}
              onOpen={(cell) => patch({ cell: cell ?? undefined })}
              onWindow={(window: Window | null) =>
                patch({ lo: window ? String(window.lo) : undefined, hi: window ? String(window.hi) : undefined })
              }
              onYear={(year) => patch({ year: String(year) })}
            />
          )}
          {asset.external && (
            <p className="quiet" style={{ marginTop: 12 }}>
              External: partita does not make this data, it only records it.
            </p>
          )}
        </section>
        <Freshness assetKey={asset.key} />
        {schemesOf(asset).map((scheme) => (
          <KeysSection
            key={scheme}
            scheme={scheme}
            onOpen={asset.partitions_kind === "dynamic" ? (cell) => patch({ cell }) : undefined}
          />
        ))}
        <Facts asset={asset} />
        {showsBar && (
          <SelectionBar
            assetKey={asset.key}
            text={text}
            dragging={draft !== null}
            partitioned={partitioned}
            onText={onText}
          />
        )}
      </div>
      {/* The column is always taken, so that looking at a partition moves nothing under the pointer. */}
      {search.cell === undefined && partitioned ? (
        <Definition asset={asset} />
      ) : (
        <CellPanel
          assetKey={asset.key}
          partition={partitioned ? (search.cell ?? "") : ""}
          onClose={partitioned ? () => patch({ cell: undefined }) : undefined}
          external={asset.external}
        />
      )}
    </div>
  );
}

function schemesOf(asset: AssetDetail): string[] {
  return [...new Set(asset.partitions.dims.flatMap((dim) => dim.scheme ?? []))];
}

function describePartitions(asset: AssetDetail): string {
  const { dims, tz, cadence } = asset.partitions;
  const n = asset.partition_count.toLocaleString("en-US");
  if (asset.partitions_kind === "none") return "one, the whole asset";
  if (asset.partitions_kind === "multi") {
    const shape = dims.map((dim) => `${dim.size.toLocaleString("en-US")} ${dim.name}`).join(" × ");
    return `${n} (${shape})${tz ? `, ${tz}` : ""}`;
  }
  return [n, cadence && cadence !== "other" ? `by ${cadence}` : asset.partitions_kind, tz].filter(Boolean).join(", ");
}
