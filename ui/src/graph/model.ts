// The graph as it is drawn: neighbourhoods cut out, groups folded into one node, paths up and down. Pure.
import type { Counts, Graph, GraphNode } from "../api/types";
import { addCounts } from "../design/states";

export type DrawnNode = {
  id: string;
  label: string;
  group: string | null;
  kind: string | null;
  counts: Counts;
  external: boolean;
  broken: boolean;
  /** Keys inside; one for an asset, many for a folded group. */
  members: string[];
  folded: boolean;
};
export type DrawnEdge = { from: string; to: string };
export type Drawn = { nodes: DrawnNode[]; edges: DrawnEdge[] };

const GROUP_ID = "group:";

export function groupOf(node: Pick<GraphNode, "group">): string {
  return node.group || "no group";
}

export function fold(graph: Graph, collapsed: ReadonlySet<string>): Drawn {
  const idOf = new Map<string, string>();
  const nodes = new Map<string, DrawnNode>();
  for (const node of graph.nodes) {
    const group = groupOf(node);
    const folded = collapsed.has(group);
    const id = folded ? `${GROUP_ID}${group}` : node.key;
    idOf.set(node.key, id);
    const before = nodes.get(id);
    nodes.set(id, {
      id,
      label: folded ? group : node.key,
      group: node.group || null,
      kind: folded ? null : (node.kinds[0] ?? null),
      counts: before ? addCounts(before.counts, node.counts) : node.counts,
      external: node.external && !folded,
      broken: Boolean(before?.broken) || node.load_error !== null,
      members: [...(before?.members ?? []), node.key],
      folded,
    });
  }
  const seen = new Set<string>();
  const edges: DrawnEdge[] = [];
  for (const edge of graph.edges) {
    const from = idOf.get(edge.from);
    const to = idOf.get(edge.to);
    if (from === undefined || to === undefined || from === to) continue;
    const id = JSON.stringify([from, to]);
    if (seen.has(id)) continue;
    seen.add(id);
    edges.push({ from, to });
  }
  return { nodes: [...nodes.values()], edges };
}

export function neighbours(edges: readonly DrawnEdge[]): { up: Map<string, string[]>; down: Map<string, string[]> } {
  const up = new Map<string, string[]>();
  const down = new Map<string, string[]>();
  for (const { from, to } of edges) {
    down.set(from, [...(down.get(from) ?? []), to]);
    up.set(to, [...(up.get(to) ?? []), from]);
  }
  return { up, down };
}

function reach(start: string, next: Map<string, string[]>, depth: number): Set<string> {
  const seen = new Set([start]);
  let edge = [start];
  for (let step = 0; step < depth && edge.length > 0; step++) {
    edge = edge.flatMap((id) => next.get(id) ?? []).filter((id) => !seen.has(id) && seen.add(id));
  }
  return seen;
}

/** Everything upstream and downstream of a node, itself included: the path that hovering lights. */
export function pathOf(id: string, edges: readonly DrawnEdge[], depth = Number.POSITIVE_INFINITY): Set<string> {
  const { up, down } = neighbours(edges);
  return new Set([...reach(id, up, depth), ...reach(id, down, depth)]);
}

export function cut(graph: Graph, focus: string | null, depth: number): Graph {
  if (focus === null || !graph.nodes.some((node) => node.key === focus)) return graph;
  const keep = pathOf(focus, graph.edges, depth);
  return {
    ...graph,
    nodes: graph.nodes.filter((node) => keep.has(node.key)),
    edges: graph.edges.filter((edge) => keep.has(edge.from) && keep.has(edge.to)),
  };
}
