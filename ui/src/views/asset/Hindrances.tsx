// Why nothing is made of an asset: what stands in the way of its next partition, the binding reason first.
import { useQuery } from "@tanstack/react-query";
import { assetWhy } from "../../api/queries";
import type { AssetWhy } from "../../api/types";
import { useZone } from "../../lib/clock";
import { wall } from "../../lib/format";

// That nobody asks, or that the next window has not closed, is how things are meant to be.
const CALM = ["unasked", "not_closed", "condition_rests", "condition_asked", "in_progress"];

export function Hindrances({ assetKey }: { assetKey: string }) {
  const { data } = useQuery(assetWhy(assetKey));
  if (!data) return null;
  const told = data.reasons.filter((one) => one.code !== "not_closed");
  const binding = told.some((one) => !CALM.includes(one.code));
  return (
    <div className="hindrances" data-testid="hindrances">
      {data.window && <Next window={data.window} />}
      {told.length > 0 && (
        <details open={binding}>
          <summary className="quiet">What stands in the way of its next partition</summary>
          <ul>
            {told.map((one) => (
              <li key={`${one.code} ${one.text}`} data-code={one.code}>
                {one.text}
              </li>
            ))}
          </ul>
        </details>
      )}
    </div>
  );
}

function Next({ window }: { window: NonNullable<AssetWhy["window"]> }) {
  const zone = useZone();
  return (
    <p className="quiet">
      Next: <span className="mono">{window.partition}</span>, covers {wall(window.covers_from, zone)} to{" "}
      {wall(window.covers_to, zone)}, due at {wall(window.due_at, zone)}.
    </p>
  );
}
