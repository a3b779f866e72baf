// A moment: relative in place, absolute with its zone on hover. A duration that grows while it is open.
import { useNow, useZone } from "../lib/clock";
import { absolute, between, duration, moment } from "../lib/format";

export function Time({ at, none = "never" }: { at: string | null | undefined; none?: string }) {
  const now = useNow(5);
  const zone = useZone();
  if (!at) return <span className="quiet">{none}</span>;
  return (
    <time dateTime={at} data-tip={absolute(at, zone)} style={{ whiteSpace: "nowrap" }}>
      {moment(at, zone, now + 5_000)}
    </time>
  );
}

export function Elapsed({ from, to }: { from: string | null; to: string | null }) {
  const now = useNow(1);
  const seconds = between(from, to, now);
  return <span>{seconds === null ? "–" : duration(seconds)}</span>;
}
