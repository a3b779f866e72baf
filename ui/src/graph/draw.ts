// Draws the graph on a canvas at three levels of nearness. Knows pixels and colours; nothing of events or data loading.
import type { CellState } from "../api/types";
import { BAR_ORDER, dominant, entries, totalOf } from "../design/states";
import { count } from "../lib/format";
import { type Layout, NODE_H, NODE_W } from "./layout";
import type { Drawn, DrawnNode } from "./model";

export type View = { k: number; x: number; y: number };
export type Level = "far" | "middle" | "near";

export type Scene = {
  drawn: Drawn;
  layout: Layout;
  index: Map<string, number>;
  lit: ReadonlySet<string> | null;
  focus: string | null;
  chosen: string | null;
};

export type Palette = {
  ink: string;
  ink2: string;
  ink3: string;
  line: string;
  lineStrong: string;
  surface: string;
  bg: string;
  accent: string;
  states: Record<CellState, string>;
  edges: Partial<Record<CellState, string>>;
  mono: string;
  sans: string;
};

const STATE_VARS: Record<CellState, string> = {
  fresh: "--green",
  unchanged: "--green-pale",
  running: "--blue",
  queued: "--violet",
  scheduled: "--violet-pale",
  deferred: "--teal",
  awaiting_input: "--teal",
  up_for_retry: "--orange",
  stale: "--amber",
  upstream_stale: "--amber-pale",
  failed: "--red",
  upstream_failed: "--red-pale",
  missing: "--hollow",
  skipped: "--grey",
  cancelled: "--grey",
  removed: "--grey",
};

/** Pale fills carry an edge in the full hue, as the chips and cells do. */
const EDGE_VARS: Partial<Record<CellState, string>> = {
  unchanged: "--green",
  scheduled: "--violet",
  upstream_stale: "--amber",
  upstream_failed: "--red",
};

export function readPalette(): Palette {
  const style = getComputedStyle(document.documentElement);
  const of = (name: string) => style.getPropertyValue(name).trim();
  return {
    ink: of("--ink"),
    ink2: of("--ink-2"),
    ink3: of("--ink-3"),
    line: of("--line"),
    lineStrong: of("--line-strong"),
    surface: of("--surface"),
    bg: of("--bg"),
    accent: of("--accent"),
    states: Object.fromEntries(
      Object.entries(STATE_VARS).map(([state, name]) => [state, of(name)]),
    ) as Palette["states"],
    edges: Object.fromEntries(Object.entries(EDGE_VARS).map(([state, name]) => [state, of(name)])),
    mono: of("--mono"),
    sans: of("--sans"),
  };
}

export function levelOf(k: number): Level {
  return k < 0.34 ? "far" : k < 0.66 ? "middle" : "near";
}

export function draw(
  c: CanvasRenderingContext2D,
  width: number,
  height: number,
  view: View,
  scene: Scene,
  p: Palette,
): void {
  const ratio = window.devicePixelRatio || 1;
  c.setTransform(ratio, 0, 0, ratio, 0, 0);
  c.clearRect(0, 0, width, height);
  const level = levelOf(view.k);
  const seen = {
    left: -view.x / view.k - NODE_W,
    right: (width - view.x) / view.k,
    top: -view.y / view.k - NODE_H,
    bottom: (height - view.y) / view.k,
  };
  c.save();
  c.translate(view.x, view.y);
  c.scale(view.k, view.k);
  drawEdges(c, view, scene, p, seen, level);
  scene.drawn.nodes.forEach((node, i) => {
    const { x, y } = scene.layout.places[i];
    if (x < seen.left || x > seen.right || y < seen.top || y > seen.bottom) return;
    c.globalAlpha = scene.lit && !scene.lit.has(node.id) ? 0.22 : 1;
    if (level === "far") drawFar(c, node, x, y, view, scene, p);
    else if (level === "middle") drawMiddle(c, node, x, y, view, scene, p);
    else drawNear(c, node, x, y, view, scene, p);
  });
  c.restore();
}

type Seen = { left: number; right: number; top: number; bottom: number };

function drawEdges(c: CanvasRenderingContext2D, view: View, scene: Scene, p: Palette, seen: Seen, level: Level): void {
  const tail = level === "near" ? NODE_W : level === "middle" ? NODE_W * 0.94 : NODE_W / 2;
  const head = level === "far" ? NODE_W / 2 : 0;
  const strokes = (lit: boolean) => {
    c.beginPath();
    for (const { from, to } of scene.drawn.edges) {
      const on = Boolean(scene.lit?.has(from) && scene.lit.has(to));
      if (on !== lit) continue;
      const a = scene.layout.places[scene.index.get(from)!];
      const b = scene.layout.places[scene.index.get(to)!];
      const [x1, y1, x2, y2] = [a.x + tail, a.y + NODE_H / 2, b.x + head, b.y + NODE_H / 2];
      if (Math.max(x1, x2) < seen.left || Math.min(x1, x2) > seen.right + NODE_W) continue;
      if (Math.max(y1, y2) < seen.top || Math.min(y1, y2) > seen.bottom + NODE_H) continue;
      const bend = Math.max(28, Math.abs(x2 - x1) * 0.45);
      c.moveTo(x1, y1);
      c.bezierCurveTo(x1 + bend, y1, x2 - bend, y2, x2, y2);
    }
    c.stroke();
  };
  c.globalAlpha = scene.lit ? 0.35 : 1;
  c.lineWidth = 1 / view.k;
  c.strokeStyle = p.lineStrong;
  strokes(false);
  if (!scene.lit) return;
  c.globalAlpha = 1;
  c.lineWidth = 1.5 / view.k;
  c.strokeStyle = p.accent;
  strokes(true);
}

function ring(
  c: CanvasRenderingContext2D,
  node: DrawnNode,
  scene: Scene,
  p: Palette,
  path: () => void,
  width: number,
): void {
  const colour = scene.chosen === node.id ? p.ink : scene.focus === node.id ? p.accent : null;
  if (!colour) return;
  c.strokeStyle = colour;
  c.lineWidth = width;
  path();
  c.stroke();
}

function dot(c: CanvasRenderingContext2D, state: CellState, x: number, y: number, r: number, p: Palette): void {
  c.beginPath();
  c.arc(x, y, r, 0, Math.PI * 2);
  if (state === "missing") {
    c.fillStyle = p.surface;
    c.fill();
    c.lineWidth = r * 0.3;
    c.strokeStyle = p.states.missing;
    c.stroke();
    return;
  }
  c.fillStyle = p.states[state];
  c.fill();
  const edge = p.edges[state];
  if (edge) {
    c.lineWidth = r * 0.3;
    c.strokeStyle = edge;
    c.stroke();
  }
  if (state === "stale" || state === "upstream_stale") {
    // Half of it is gone: told without the colour, as the cells tell it.
    c.beginPath();
    c.arc(x, y, r * 0.62, Math.PI * 0.25, Math.PI * 1.25);
    c.fillStyle = p.surface;
    c.fill();
    return;
  }
  if (state !== "failed" && state !== "upstream_failed") return;
  // The cross tells a failure without its colour.
  c.beginPath();
  c.moveTo(x - r * 0.4, y - r * 0.4);
  c.lineTo(x + r * 0.4, y + r * 0.4);
  c.moveTo(x + r * 0.4, y - r * 0.4);
  c.lineTo(x - r * 0.4, y + r * 0.4);
  c.lineWidth = r * 0.28;
  c.strokeStyle = edge ?? p.surface;
  c.stroke();
}

function drawFar(
  c: CanvasRenderingContext2D,
  node: DrawnNode,
  x: number,
  y: number,
  view: View,
  scene: Scene,
  p: Palette,
): void {
  const r = Math.max(3.5 / view.k, 14) * (node.folded ? 1.5 : 1);
  const [cx, cy] = [x + NODE_W / 2, y + NODE_H / 2];
  dot(c, dominant(node.counts), cx, cy, r, p);
  ring(
    c,
    node,
    scene,
    p,
    () => {
      c.beginPath();
      c.arc(cx, cy, r + 3 / view.k, 0, Math.PI * 2);
    },
    1.5 / view.k,
  );
}

function drawMiddle(
  c: CanvasRenderingContext2D,
  node: DrawnNode,
  x: number,
  y: number,
  view: View,
  scene: Scene,
  p: Palette,
): void {
  const size = 12 / view.k;
  const cy = y + NODE_H / 2;
  dot(c, dominant(node.counts), x + 10, cy, 5 / view.k, p);
  c.font = `${size}px ${p.mono}`;
  c.fillStyle = p.ink;
  c.textBaseline = "middle";
  const left = x + 10 + 10 / view.k;
  c.fillText(shorten(c, node.label, NODE_W + 60 - (left - x)), left, cy);
  ring(
    c,
    node,
    scene,
    p,
    () => {
      c.beginPath();
      c.roundRect(x - 6, y, NODE_W, NODE_H, 8);
    },
    1.5 / view.k,
  );
}

function drawNear(
  c: CanvasRenderingContext2D,
  node: DrawnNode,
  x: number,
  y: number,
  view: View,
  scene: Scene,
  p: Palette,
): void {
  c.beginPath();
  c.roundRect(x, y, NODE_W, NODE_H, 6);
  c.fillStyle = p.surface;
  c.fill();
  c.lineWidth = 1;
  c.strokeStyle = p.lineStrong;
  if (node.external) c.setLineDash([4, 3]);
  c.stroke();
  c.setLineDash([]);
  if (node.folded) {
    // A second edge behind the card: there is more than one inside.
    c.beginPath();
    c.moveTo(x + 8, y + NODE_H + 3);
    c.lineTo(x + NODE_W - 8, y + NODE_H + 3);
    c.stroke();
  }
  c.fillStyle = node.group === null ? p.line : p.lineStrong;
  c.beginPath();
  c.roundRect(x, y, 4, NODE_H, [6, 0, 0, 6]);
  c.fill();
  // On screen the name is never under twelve pixels; the note goes before the name shrinks.
  const size = Math.min(18, Math.max(12, 12 / view.k));
  const small = Math.max(11.5, 11 / view.k);
  const noted = view.k >= 0.72;
  const top = y + (noted ? 18 : 23);
  dot(c, dominant(node.counts), x + 18, top, 5, p);
  c.textBaseline = "middle";
  c.font = `${size}px ${p.mono}`;
  c.fillStyle = p.ink;
  c.fillText(shorten(c, node.label, NODE_W - 44), x + 30, top + 0.5);
  if (noted) {
    c.font = `${small}px ${p.sans}`;
    c.fillStyle = p.ink3;
    const share = node.external ? "" : shareOf(node);
    c.textAlign = "right";
    c.fillText(share, x + NODE_W - 14, y + 36);
    c.textAlign = "left";
    const note = node.folded
      ? `${node.members.length} assets`
      : [node.external ? "external" : null, node.group, node.kind].filter(Boolean).join(" · ");
    const room = NODE_W - 36 - c.measureText(share).width;
    // The kind goes first: a note cut in its middle says nothing.
    const fits = c.measureText(note).width <= room;
    c.fillText(fits || node.folded ? note : shorten(c, node.group ?? "", room), x + 14, y + 36);
  }
  bar(c, node, x + 14, y + NODE_H - 12, NODE_W - 28, 5, p);
  ring(
    c,
    node,
    scene,
    p,
    () => {
      c.beginPath();
      c.roundRect(x - 1, y - 1, NODE_W + 2, NODE_H + 2, 7);
    },
    2,
  );
}

/** Good partitions of all: what the bar below says, exactly. */
function shareOf(node: DrawnNode): string {
  const good = (node.counts.fresh ?? 0) + (node.counts.unchanged ?? 0);
  return `${count(good)} / ${count(totalOf(node.counts))}`;
}

function bar(
  c: CanvasRenderingContext2D,
  node: DrawnNode,
  x: number,
  y: number,
  w: number,
  h: number,
  p: Palette,
): void {
  const total = totalOf(node.counts);
  if (total === 0) return;
  let at = x;
  for (const [state, n] of entries(node.counts, BAR_ORDER)) {
    const part = (n / total) * w;
    if (state === "missing") {
      c.strokeStyle = p.states.missing;
      c.lineWidth = 1;
      c.strokeRect(at + 0.5, y + 0.5, Math.max(1, part - 1), h - 1);
    } else {
      c.fillStyle = p.states[state];
      c.fillRect(at, y, Math.max(1.5, part), h);
    }
    at += part;
  }
}

const cut = new Map<string, string>();

/** The text with its middle left out where it is too long: both ends of a key tell more than its start alone. */
function shorten(c: CanvasRenderingContext2D, text: string, width: number): string {
  const id = `${c.font}|${Math.round(width)}|${text}`;
  const known = cut.get(id);
  if (known !== undefined) return known;
  let shown = text;
  for (let keep = text.length - 1; keep > 4 && c.measureText(shown).width > width; keep--) {
    const tail = Math.ceil(keep * 0.6);
    shown = `${text.slice(0, keep - tail)}…${text.slice(text.length - tail)}`;
  }
  if (cut.size > 5000) cut.clear();
  cut.set(id, shown);
  return shown;
}
