// A chip that narrows what is shown, pressed or not: the glyph of a state, how many there are, and the word.
import type { ReactNode } from "react";
import { count } from "../lib/format";
import { StateGlyph } from "./StateGlyph";

type Props = {
  picked: boolean;
  onPick: () => void;
  glyph?: string;
  n?: number;
  tip?: string;
  children: ReactNode;
  [data: `data-${string}`]: string | undefined;
};

export function FilterChip({ picked, onPick, glyph, n, tip, children, ...data }: Props) {
  return (
    <button
      type="button"
      className="chip boxed"
      style={glyph === undefined ? { paddingLeft: 8 } : undefined}
      aria-pressed={picked}
      data-tip={tip}
      onClick={onPick}
      {...data}
    >
      {glyph !== undefined && <StateGlyph state={glyph} />}
      {n !== undefined && <span className="n">{count(n)}</span>}
      {children}
    </button>
  );
}
