// The twelve-pixel glyph of a state, in the tone of the state. Shape tells it without colour.
import { type Glyph, LOOKS, lookKey, wordOf } from "./states";

const BOX = <rect x="1.5" y="1.5" width="9" height="9" rx="2.5" />;

function shape(glyph: Glyph) {
  const stroke = { fill: "none", stroke: "currentColor", strokeWidth: 1.5, strokeLinecap: "round" as const };
  switch (glyph) {
    case "filled":
      return (
        <>
          <circle cx="6" cy="6" r="5" fill="currentColor" />
          <path d="M3.8 6.2 5.4 7.7 8.3 4.5" {...stroke} stroke="var(--surface)" />
        </>
      );
    case "dot":
      return (
        <>
          <circle cx="6" cy="6" r="4.4" {...stroke} />
          <circle cx="6" cy="6" r="1.8" fill="currentColor" />
        </>
      );
    case "running":
      return (
        <>
          <circle cx="6" cy="6" r="4.4" {...stroke} opacity="0.3" />
          <path className="moving" d="M6 1.6a4.4 4.4 0 0 1 4.4 4.4" {...stroke} />
        </>
      );
    case "full":
      return <g fill="currentColor">{BOX}</g>;
    case "outline":
      return <g {...stroke}>{BOX}</g>;
    case "clock":
      return (
        <g {...stroke}>
          <circle cx="6" cy="6" r="4.4" />
          <path d="M6 3.6V6l1.6 1.2" />
        </g>
      );
    case "hand":
      return (
        <g {...stroke} strokeWidth={1.3}>
          <path d="M3 7V4.4M5 6V2M7 6V2.4M9 6.4V3.6M3 7c.2 2.4 1.6 3.4 3.2 3.4S9 9 9 6.4" />
        </g>
      );
    case "arrow":
      return (
        <g {...stroke}>
          <path d="M9.9 4.2A4.4 4.4 0 1 0 10.4 6.6" />
          <path d="M10.2 1.8v2.6H7.6" />
        </g>
      );
    case "half":
      return (
        <>
          <circle cx="6" cy="6" r="4.4" {...stroke} />
          <path d="M9.1 2.9A4.4 4.4 0 0 0 2.9 9.1Z" fill="currentColor" />
        </>
      );
    case "half-outline":
      return (
        <g {...stroke}>
          <circle cx="6" cy="6" r="4.4" />
          <path d="M9 3 3 9" />
        </g>
      );
    case "cross":
      return (
        <>
          <circle cx="6" cy="6" r="5" fill="currentColor" />
          <path d="m4.2 4.2 3.6 3.6M7.8 4.2 4.2 7.8" {...stroke} stroke="var(--surface)" />
        </>
      );
    case "hatch":
      return (
        <g {...stroke} strokeWidth={1.2}>
          <circle cx="6" cy="6" r="4.4" />
          <path d="M2.6 7.4 7.4 2.6M4 9.4 9.4 4" />
        </g>
      );
    case "hollow":
      return <circle cx="6" cy="6" r="4.4" {...stroke} />;
    case "dash":
      return (
        <g {...stroke}>
          <circle cx="6" cy="6" r="4.4" />
          <path d="M4 6h4" />
        </g>
      );
    case "slash":
      return (
        <g {...stroke}>
          <circle cx="6" cy="6" r="4.4" />
          <path d="M4.2 7.8 7.8 4.2" />
        </g>
      );
    case "dotted":
      return <circle cx="6" cy="6" r="4.4" {...stroke} strokeDasharray="0.4 2.6" />;
  }
}

export function StateGlyph({ state, size = 12 }: { state: string; size?: number }) {
  const look = LOOKS[lookKey(state)];
  return (
    <svg
      className={`glyph tone-${look.tone}`}
      width={size}
      height={size}
      viewBox="0 0 12 12"
      role="img"
      aria-label={wordOf(state)}
    >
      {shape(look.glyph)}
    </svg>
  );
}

/** Marks drawn inside a filled cell; states whose pattern is CSS alone have none. */
const MARKS: Partial<Record<Glyph, string>> = {
  cross: "M5 5l6 6M11 5l-6 6",
  clock: "M8 4.5V8l2.2 1.6",
  hand: "M5 9V6.4M7 8V4M9 8V4.4M11 8.4V5.6M5 9c.2 2.4 1.4 3 3 3s3-1 3-3.6",
  arrow: "M11 6A3.6 3.6 0 1 0 11.4 9M11.3 3.6v2.6H8.7",
  dash: "M5 8h6",
  slash: "M5.5 10.5l5-5",
};

export function CellMark({ state }: { state: string }) {
  const path = MARKS[LOOKS[lookKey(state)].glyph];
  if (!path) return null;
  return (
    <svg className="mark" viewBox="0 0 16 16" aria-hidden="true">
      <path d={path} fill="none" stroke="currentColor" strokeWidth="1.7" strokeLinecap="round" strokeLinejoin="round" />
    </svg>
  );
}
