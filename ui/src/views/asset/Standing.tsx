// How far the data of an asset reaches and what holds it back; and, where its code changed, the way to accept that.
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { heldBack } from "../../api/queries";
import type { AssetDetail } from "../../api/types";
import { useZone } from "../../lib/clock";
import { wall } from "../../lib/format";
import { Accept } from "./Accept";

const BEHIND = ["stale", "upstream_stale", "missing", "failed", "upstream_failed"];

export function Standing({ asset, partitions }: { asset: AssetDetail; partitions: string }) {
  if (asset.external) return null;
  const behind = BEHIND.some((state) => (asset.counts[state] ?? 0) > 0);
  const stale = (asset.counts.stale ?? 0) > 0;
  return (
    <div className="standing">
      {behind && <HeldBack assetKey={asset.key} />}
      <Accept
        selection={`"${asset.key}"`}
        partitions={partitions || "all"}
        label="Accept changed code…"
        offered={stale}
      />
    </div>
  );
}

function HeldBack({ assetKey }: { assetKey: string }) {
  const { data } = useQuery(heldBack(assetKey));
  const zone = useZone();
  const holder = data?.path.at(-1);
  if (!data || !holder) return null;
  // Of an asset that reaches no instant and is held back by itself nothing is said that its counts do not say.
  if (!data.reaches && holder.key === assetKey) return null;
  const through = data.path.slice(1, -1);
  return (
    <p className="mid" data-testid="held-back">
      {data.reaches ? (
        <>
          Its data reaches <span data-tip={data.reaches}>{wall(data.reaches, zone)}</span>, held back by{" "}
        </>
      ) : (
        "Its data is held back by "
      )}
      <Link className="link mono" to="/asset" search={{ key: holder.key, cell: holder.partition }}>
        {holder.key} {holder.partition}
      </Link>
      {through.length > 0 && <span className="quiet"> through {through.map((one) => one.key).join(", ")}</span>}.
    </p>
  );
}
