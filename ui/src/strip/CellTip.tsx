// What hovering a cell tells: key, state, reason, last version. A bucket tells its counts. Asks the API only when the
// pointer rests.
import { useQuery } from "@tanstack/react-query";
import { useEffect, useLayoutEffect, useRef, useState } from "react";
import { cell as cellQuery } from "../api/queries";
import type { Counts } from "../api/types";
import { StateChip } from "../design/StateChip";
import { dominant, entries, totalOf } from "../design/states";
import { Time } from "../design/Time";
import { place } from "../design/Tip";
import { useZone } from "../lib/clock";
import { absolute, count, shortHash } from "../lib/format";

export type Hovered = { partition: string | null; label: string; counts: Counts; box: DOMRect };

const REST_MS = 140;

function Details({ assetKey, partition }: { assetKey: string; partition: string }) {
  const { data } = useQuery({ ...cellQuery(assetKey, partition), staleTime: 10_000 });
  const zone = useZone();
  if (!data) return null;
  const why = data.reasons[0]?.text;
  return (
    <>
      {why && <span>{why}</span>}
      {data.published && (
        <span className="quiet">
          version <span className="mono">{shortHash(data.published.data_version)}</span>,{" "}
          <Time at={data.published.at} />
          {data.published.rows !== null && `, ${count(data.published.rows)} rows`}
        </span>
      )}
      {data.window_start && data.window_end && (
        <>
          <span className="quiet">
            covers {absolute(data.window_start, zone)} to {absolute(data.window_end, zone)}
          </span>
          {data.due_at && <span className="quiet">due at {absolute(data.due_at, zone)}</span>}
        </>
      )}
    </>
  );
}

export function CellTip({ assetKey, hovered }: { assetKey: string; hovered: Hovered | null }) {
  const ref = useRef<HTMLDivElement>(null);
  const [rested, setRested] = useState<string | null>(null);
  const partition = hovered?.partition ?? null;

  useEffect(() => {
    setRested(null);
    if (partition === null) return;
    const timer = window.setTimeout(() => setRested(partition), REST_MS);
    return () => window.clearTimeout(timer);
  }, [partition]);

  useLayoutEffect(() => {
    if (ref.current && hovered) place(ref.current, hovered.box);
  });

  if (!hovered) return null;
  const many = totalOf(hovered.counts) > 1;
  return (
    <div ref={ref} className="tip celltip" role="tooltip">
      <span className="mono">{hovered.label}</span>
      {many ? (
        entries(hovered.counts).map(([state, n]) => <StateChip key={state} state={state} n={n} />)
      ) : (
        <StateChip state={dominant(hovered.counts)} />
      )}
      {!many && rested !== null && rested === partition && <Details assetKey={assetKey} partition={rested} />}
    </div>
  );
}
