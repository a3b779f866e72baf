// Pointer and keyboard over drawn cells: a drag paints a rectangle of positions, arrows move a roving focus, shift extends.
// Knows positions only; what they mean is the caller's. The draft is live, so that text and counts move with the drag.
import { type KeyboardEvent, type PointerEvent, useCallback, useRef, useState } from "react";

export type Spot = { col: number; row: number };
export type Drag = { anchor: Spot; head: Spot; additive: boolean };

type Options = {
  /** The position that a key leads to, or null when the key is not a move. */
  move: (key: string, from: Spot) => Spot | null;
  onDraft: (drag: Drag | null) => void;
  onCommit: (drag: Drag, moved: boolean) => void;
  onOpen: (spot: Spot) => void;
  onClear: () => void;
};

function spotOf(target: Element | null): Spot | null {
  const cell = target?.closest<HTMLElement>("[data-col]");
  if (!cell) return null;
  return { col: Number(cell.dataset.col), row: Number(cell.dataset.row ?? 0) };
}

const same = (a: Spot, b: Spot) => a.col === b.col && a.row === b.row;

export function useCells({ move, onDraft, onCommit, onOpen, onClear }: Options) {
  const drag = useRef<Drag | null>(null);
  const anchor = useRef<Spot | null>(null);
  const root = useRef<HTMLDivElement>(null);
  const [focus, setFocus] = useState<Spot>({ col: 0, row: 0 });

  const focusOn = useCallback((spot: Spot) => {
    setFocus(spot);
    root.current?.querySelector<HTMLElement>(`[data-col="${spot.col}"][data-row="${spot.row}"]`)?.focus();
  }, []);

  const onPointerDown = (event: PointerEvent<HTMLDivElement>) => {
    if (event.button !== 0) return;
    const spot = spotOf(event.target as Element);
    if (!spot) return;
    event.preventDefault();
    const from = event.shiftKey && anchor.current ? anchor.current : spot;
    anchor.current = from;
    drag.current = { anchor: from, head: spot, additive: event.ctrlKey || event.metaKey };
    event.currentTarget.setPointerCapture(event.pointerId);
    focusOn(spot);
    onDraft(drag.current);
  };

  const onPointerMove = (event: PointerEvent<HTMLDivElement>) => {
    if (!drag.current) return;
    // The pointer is captured, so the element under it has to be asked for.
    const spot = spotOf(document.elementFromPoint(event.clientX, event.clientY));
    if (!spot || same(spot, drag.current.head)) return;
    drag.current = { ...drag.current, head: spot };
    onDraft(drag.current);
  };

  const onPointerUp = () => {
    const done = drag.current;
    if (!done) return;
    drag.current = null;
    onCommit(done, !same(done.anchor, done.head));
    onDraft(null);
  };

  const onPointerCancel = () => {
    drag.current = null;
    onDraft(null);
  };

  const onKeyDown = (event: KeyboardEvent<HTMLDivElement>) => {
    if (event.key === "Escape") return onClear();
    if (event.key === "Enter") {
      event.preventDefault();
      return onOpen(focus);
    }
    if (event.key === " ") {
      event.preventDefault();
      anchor.current = focus;
      return onCommit({ anchor: focus, head: focus, additive: event.ctrlKey || event.metaKey }, true);
    }
    const next = move(event.key, focus);
    if (!next) return;
    event.preventDefault();
    focusOn(next);
    if (event.shiftKey) {
      anchor.current ??= focus;
      onCommit({ anchor: anchor.current, head: next, additive: false }, true);
    } else anchor.current = null;
  };

  return { root, focus, handlers: { onPointerDown, onPointerMove, onPointerUp, onPointerCancel, onKeyDown } };
}
