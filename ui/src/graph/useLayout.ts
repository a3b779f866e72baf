// Asks the worker for a layout and keeps it by structure: state changes never move a node.
import { useEffect, useState } from "react";
import type { Layout, LayoutInput } from "./layout";
import type { Drawn } from "./model";

const kept = new Map<string, Layout>();
const KEEP = 20;
let worker: Worker | undefined;
let lastId = 0;
const waiting = new Map<number, (layout: Layout) => void>();

function ask(input: LayoutInput): Promise<Layout> {
  worker ??= new Worker(new URL("./layout.worker.ts", import.meta.url), { type: "module" });
  worker.onmessage = (event: MessageEvent<{ id: number; layout: Layout }>) => {
    waiting.get(event.data.id)?.(event.data.layout);
    waiting.delete(event.data.id);
  };
  lastId += 1;
  const id = lastId;
  return new Promise((resolve) => {
    waiting.set(id, resolve);
    worker?.postMessage({ id, input });
  });
}

export function structureOf(drawn: Drawn): string {
  return JSON.stringify([drawn.nodes.map((node) => node.id), drawn.edges.map((edge) => [edge.from, edge.to])]);
}

export function useLayout(drawn: Drawn): { layout: Layout; structure: string } | null {
  const structure = structureOf(drawn);
  const [done, setDone] = useState<{ layout: Layout; structure: string } | null>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the structure is what the layout depends on
  useEffect(() => {
    const known = kept.get(structure);
    if (known) {
      setDone({ layout: known, structure });
      return;
    }
    let current = true;
    const index = new Map(drawn.nodes.map((node, i) => [node.id, i]));
    void ask({
      ids: drawn.nodes.map((node) => node.id),
      groups: drawn.nodes.map((node) => node.group),
      edges: drawn.edges.map((edge) => [index.get(edge.from)!, index.get(edge.to)!]),
    }).then((layout) => {
      if (kept.size >= KEEP) kept.delete(kept.keys().next().value!);
      kept.set(structure, layout);
      if (current) setDone({ layout, structure });
    });
    return () => {
      current = false;
    };
  }, [structure]);
  return done?.structure === structure ? done : null;
}
