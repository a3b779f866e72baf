// Static and dynamic keys: named tiles, since the name is what people look for.
import type { Bucket } from "../api/types";
import { StateGlyph } from "../design/StateGlyph";
import { dominant, LOOKS } from "../design/states";
import { covers, type Interval } from "./axis";
import { type Drag, type Spot, useCells } from "./useCells";

type Props = {
  buckets: Bucket[];
  picked: readonly Interval[];
  openKey: string | null;
  onDraft: (drag: Drag | null) => void;
  onCommit: (drag: Drag, moved: boolean) => void;
  onOpen: (spot: Spot) => void;
  onClear: () => void;
};

export function Tiles({ buckets, picked, openKey, ...on }: Props) {
  const last = buckets.length - 1;
  const { root, focus, handlers } = useCells({
    ...on,
    move: (key, from) => {
      const step = { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1 }[key];
      return step ? { col: Math.max(0, Math.min(last, from.col + step)), row: 0 } : null;
    },
  });
  return (
    <div
      ref={root}
      className={`tiles${picked.length > 0 ? " picking" : ""}`}
      role="listbox"
      aria-multiselectable="true"
      aria-label="Partitions"
      {...handlers}
    >
      {buckets.map((bucket, col) => {
        const state = dominant(bucket.counts);
        return (
          <div
            key={bucket.first_key}
            role="option"
            className="tile strip-cell"
            tabIndex={focus.col === col ? 0 : -1}
            aria-selected={covers(picked, bucket.lo, bucket.hi) !== "none"}
            aria-label={`${bucket.first_key}, ${LOOKS[state].word}`}
            data-testid="strip-cell"
            data-key={bucket.first_key}
            data-state={state}
            data-open={openKey === bucket.first_key ? "" : undefined}
            data-col={col}
            data-row={0}
          >
            <StateGlyph state={state} />
            <span className="key">{bucket.first_key}</span>
          </div>
        );
      })}
    </div>
  );
}
