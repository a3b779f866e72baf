// The first line of an asset: how it is, in words, and what to do about it.
import type { AssetDetail } from "../../api/types";
import { StateGlyph } from "../../design/StateGlyph";
import { Time } from "../../design/Time";

const GLYPH: Record<AssetDetail["verdict"]["severity"], string> = {
  ok: "fresh",
  warn: "stale",
  bad: "failed",
  idle: "missing",
};

export function VerdictLine({ asset }: { asset: AssetDetail }) {
  const { verdict } = asset;
  return (
    <div className="verdict" data-testid="verdict" data-severity={verdict.severity}>
      <StateGlyph state={GLYPH[verdict.severity]} size={16} />
      <div>
        <p className="verdict-text">{verdict.sentence}</p>
        <p className="mid">
          {verdict.advice}
          {verdict.next_due_at && (
            <>
              {" "}
              Next due <Time at={verdict.next_due_at} />.
            </>
          )}
        </p>
        {asset.description && <p className="quiet">{asset.description}</p>}
      </div>
    </div>
  );
}
