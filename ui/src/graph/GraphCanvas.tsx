// The canvas with its hands: wheel and drag move, hover lights the path, click and Enter open, arrows walk the graph.
import { select } from "d3-selection";
import { type ZoomBehavior, zoom, zoomIdentity } from "d3-zoom";
import { type KeyboardEvent, useCallback, useEffect, useMemo, useRef, useState } from "react";
import { useColourScheme } from "../app/theme";
import { Icon } from "../design/Icon";
import { describeCounts } from "../design/StateChip";
import { place } from "../design/Tip";
import { draw, type Palette, readPalette, type Scene, type View } from "./draw";
import { type Layout, NODE_H, NODE_W } from "./layout";
import { type Drawn, type DrawnNode, pathOf } from "./model";

type Props = {
  drawn: Drawn;
  layout: Layout;
  structure: string;
  chosen: string | null;
  onChoose: (node: DrawnNode | null) => void;
};

const MARGIN = 40;
/** A small graph may fill the stage, but not shout. */
const MOST = 1.25;
const reduced = () => window.matchMedia("(prefers-reduced-motion: reduce)").matches;

export function GraphCanvas({ drawn, layout, structure, chosen, onChoose }: Props) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const tip = useRef<HTMLDivElement>(null);
  const view = useRef<View>({ k: 1, x: 0, y: 0 });
  const behaviour = useRef<ZoomBehavior<HTMLCanvasElement, unknown> | null>(null);
  const palette = useRef<Palette | null>(null);
  const frame = useRef(0);
  const [hovered, setHovered] = useState<string | null>(null);
  const [focus, setFocus] = useState<string | null>(null);
  const scheme = useColourScheme();

  const index = useMemo(() => new Map(drawn.nodes.map((node, i) => [node.id, i])), [drawn]);
  const at = hovered ?? focus ?? chosen;
  const lit = useMemo(() => (at !== null && index.has(at) ? pathOf(at, drawn.edges) : null), [at, drawn.edges, index]);
  const scene = useRef<Scene>({ drawn, layout, index, lit, focus, chosen });
  scene.current = { drawn, layout, index, lit, focus, chosen };

  const paint = useCallback(() => {
    cancelAnimationFrame(frame.current);
    frame.current = requestAnimationFrame(() => {
      const element = canvas.current;
      const context = element?.getContext("2d");
      if (!element || !context) return;
      palette.current ??= readPalette();
      draw(context, element.clientWidth, element.clientHeight, view.current, scene.current, palette.current);
      element.dataset.zoom = view.current.k.toFixed(3);
    });
  }, []);

  const fitAll = useCallback(() => {
    const element = canvas.current;
    if (!element || !behaviour.current) return;
    const { width, height } = scene.current.layout;
    const k = Math.min(
      MOST,
      (element.clientWidth - 2 * MARGIN) / Math.max(1, width),
      (element.clientHeight - 2 * MARGIN) / Math.max(1, height),
    );
    const x = (element.clientWidth - width * k) / 2;
    const y = (element.clientHeight - height * k) / 2;
    behaviour.current.transform(select(element), zoomIdentity.translate(x, y).scale(k));
  }, []);

  useEffect(() => {
    const element = canvas.current;
    if (!element) return;
    const zoomer = zoom<HTMLCanvasElement, unknown>()
      .scaleExtent([0.03, 2.5])
      .on("zoom", ({ transform }) => {
        view.current = { k: transform.k, x: transform.x, y: transform.y };
        paint();
      });
    behaviour.current = zoomer;
    const selection = select(element).call(zoomer).on("dblclick.zoom", null);
    const observer = new ResizeObserver(() => {
      const ratio = window.devicePixelRatio || 1;
      element.width = Math.round(element.clientWidth * ratio);
      element.height = Math.round(element.clientHeight * ratio);
      paint();
    });
    observer.observe(element);
    return () => {
      observer.disconnect();
      selection.on(".zoom", null);
      cancelAnimationFrame(frame.current);
    };
  }, [paint]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: a new structure is a new picture, so it is fitted anew
  useEffect(fitAll, [structure, fitAll]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: repaint whenever what is drawn changes
  useEffect(paint, [drawn, layout, lit, focus, chosen, paint]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: colours are read again when the scheme changes
  useEffect(() => {
    palette.current = null;
    paint();
  }, [scheme, paint]);

  const nodeAt = (clientX: number, clientY: number): DrawnNode | null => {
    const box = canvas.current?.getBoundingClientRect();
    if (!box) return null;
    const x = (clientX - box.left - view.current.x) / view.current.k;
    const y = (clientY - box.top - view.current.y) / view.current.k;
    const i = layout.places.findIndex((p) => x >= p.x && x <= p.x + NODE_W && y >= p.y && y <= p.y + NODE_H);
    return i < 0 ? null : drawn.nodes[i];
  };

  const hoveredNode = hovered === null ? null : (drawn.nodes[index.get(hovered) ?? -1] ?? null);
  useEffect(() => {
    const box = canvas.current?.getBoundingClientRect();
    if (!hoveredNode || !tip.current || !box) return;
    const { x, y } = layout.places[index.get(hoveredNode.id)!];
    const { k, x: dx, y: dy } = view.current;
    place(tip.current, {
      left: box.left + x * k + dx,
      top: box.top + y * k + dy,
      bottom: box.top + (y + NODE_H) * k + dy,
      width: NODE_W * k,
    });
  }, [hoveredNode, layout, index]);

  const show = (id: string) => {
    const element = canvas.current;
    const p = layout.places[index.get(id)!];
    if (!element || !behaviour.current) return;
    const { k, x, y } = view.current;
    const [left, top] = [p.x * k + x, p.y * k + y];
    const inside =
      left > 0 && top > 0 && left + NODE_W * k < element.clientWidth && top + NODE_H * k < element.clientHeight;
    if (!inside) behaviour.current.translateTo(select(element), p.x + NODE_W / 2, p.y + NODE_H / 2);
  };
  const walk = (key: string): string | null => {
    const from = index.get(focus ?? chosen ?? "") ?? -1;
    if (from < 0) return drawn.nodes[0]?.id ?? null;
    const here = layout.places[from];
    const candidates = drawn.nodes
      .map((node, i) => ({ id: node.id, dx: layout.places[i].x - here.x, dy: layout.places[i].y - here.y }))
      .filter(({ dx, dy }) =>
        key === "ArrowRight"
          ? dx > 0
          : key === "ArrowLeft"
            ? dx < 0
            : dx === 0 && (key === "ArrowDown" ? dy > 0 : dy < 0),
      );
    const id = drawn.nodes[from].id;
    const linked = new Set(drawn.edges.flatMap((e) => (e.from === id ? [e.to] : e.to === id ? [e.from] : [])));
    const cost = (c: (typeof candidates)[number]) =>
      Math.abs(c.dx) + Math.abs(c.dy) * 1.5 - (linked.has(c.id) ? 1e6 : 0);
    return candidates.sort((a, b) => cost(a) - cost(b))[0]?.id ?? null;
  };
  const zoomBy = (factor: number) => {
    if (canvas.current) behaviour.current?.scaleBy(select(canvas.current), factor);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "+" || event.key === "=") zoomBy(1.3);
    else if (event.key === "-") zoomBy(1 / 1.3);
    else if (event.key === "0") fitAll();
    else if (event.key === "Escape") {
      setFocus(null);
      onChoose(null);
    } else if (event.key === "Enter" && focus !== null) onChoose(drawn.nodes[index.get(focus)!]);
    else if (event.key.startsWith("Arrow")) {
      const next = walk(event.key);
      if (next !== null) {
        setFocus(next);
        show(next);
      }
    } else return;
    event.preventDefault();
  };
  const focused = focus === null ? null : drawn.nodes[index.get(focus) ?? -1];
  return (
    <div className="graph-stage">
      {/* biome-ignore lint/a11y/noInteractiveElementToNoninteractiveRole: an application region walked by its own keys */}
      <canvas
        ref={canvas}
        data-testid="graph-canvas"
        data-nodes={drawn.nodes.length}
        data-motion={reduced() ? "reduced" : undefined}
        role="application"
        aria-label={`Graph of ${drawn.nodes.length} nodes. Arrows walk, Enter opens; the list shows the same as text.`}
        tabIndex={0}
        style={{ cursor: hovered ? "pointer" : "grab" }}
        onPointerMove={(event) => {
          if (event.buttons === 0) setHovered(nodeAt(event.clientX, event.clientY)?.id ?? null);
          else setHovered(null);
        }}
        onPointerLeave={() => setHovered(null)}
        onClick={(event) => {
          const node = nodeAt(event.clientX, event.clientY);
          setFocus(null);
          onChoose(node);
        }}
        onKeyDown={onKeyDown}
        onBlur={() => setFocus(null)}
      />
      <p className="visually-hidden" aria-live="polite">
        {focused && `${focused.label}, ${describeCounts(focused.counts)}`}
      </p>
      <div className="graph-zoom">
        <button
          type="button"
          className="btn icon small"
          aria-label="Zoom in"
          data-tip="Zoom in (+)"
          onClick={() => zoomBy(1.3)}
        >
          <Icon name="plus" size={14} />
        </button>
        <button
          type="button"
          className="btn icon small"
          aria-label="Zoom out"
          data-tip="Zoom out (−)"
          onClick={() => zoomBy(1 / 1.3)}
        >
          <Icon name="minus" size={14} />
        </button>
        <button
          type="button"
          className="btn icon small"
          aria-label="Fit graph"
          data-tip="Fit graph (0)"
          onClick={fitAll}
        >
          <Icon name="fit" size={14} />
        </button>
      </div>
      {hoveredNode && (
        <div ref={tip} className="tip" role="tooltip">
          <span className="mono">{hoveredNode.label}</span>
          {"\n"}
          {describeCounts(hoveredNode.counts) || "no partitions"}
        </div>
      )}
    </div>
  );
}
