import { describe, expect, it } from "vitest";
import type { Graph, GraphNode } from "../api/types";
import { acyclic, layout, NODE_H, ranksOf } from "./layout";
import { cut, fold, pathOf } from "./model";

const node = (key: string, group = ""): GraphNode => ({
  key,
  group,
  location: "l",
  external: false,
  kinds: [],
  counts: { fresh: 1 },
  partition_count: 1,
  load_error: null,
});
const edge = (from: string, to: string) => ({ from, to, input: "x", mapping: "identity" });

describe("layout", () => {
  it("puts every reader right of what it reads", () => {
    const edges: [number, number][] = [
      [0, 1],
      [1, 2],
      [0, 2],
      [3, 2],
    ];
    const { places } = layout({ ids: ["a", "b", "c", "d"], groups: [null, null, null, null], edges });
    for (const [from, to] of edges) expect(places[from].x).toBeLessThan(places[to].x);
    expect(places[3].rank).toBe(1); // a source moves next to its reader
  });

  it("never lets two nodes of a column overlap, at a thousand nodes", () => {
    const n = 1000;
    let seed = 7;
    const random = () => {
      seed = (seed * 1103515245 + 12345) % 2147483648;
      return seed / 2147483648;
    };
    const edges: [number, number][] = [];
    for (let i = 20; i < n; i++)
      for (let k = 0; k < 2; k++) edges.push([Math.max(0, i - 1 - Math.floor(random() * 60)), i]);
    const ids = Array.from({ length: n }, (_, i) => `n${i}`);
    const { places, height } = layout({ ids, groups: ids.map(() => null), edges });
    const columns = new Map<number, number[]>();
    for (const place of places) columns.set(place.x, [...(columns.get(place.x) ?? []), place.y]);
    for (const column of columns.values()) {
      column.sort((a, b) => a - b);
      for (let i = 1; i < column.length; i++) expect(column[i] - column[i - 1]).toBeGreaterThanOrEqual(NODE_H);
    }
    expect(Math.min(...places.map((p) => p.y))).toBe(0);
    expect(height).toBeGreaterThan(0);
  });

  it("survives circles, which folding can make", () => {
    expect(
      acyclic(2, [
        [0, 1],
        [1, 0],
      ]),
    ).toEqual([[0, 1]]);
    expect(
      ranksOf(3, [
        [0, 1],
        [1, 2],
      ]),
    ).toEqual([0, 1, 2]);
    expect(
      layout({
        ids: ["a", "b"],
        groups: [null, null],
        edges: [
          [0, 1],
          [1, 0],
        ],
      }).places,
    ).toHaveLength(2);
    expect(layout({ ids: [], groups: [], edges: [] }).places).toEqual([]);
  });
});

describe("model", () => {
  const graph: Graph = {
    nodes: [node("a", "raw"), node("b", "raw"), node("c", "mart"), node("d", "mart"), node("e")],
    edges: [edge("a", "c"), edge("b", "c"), edge("c", "d"), edge("d", "e")],
    hash: "h",
  };

  it("folds a group into one node with its counts, and doubles no edge", () => {
    const drawn = fold(graph, new Set(["raw"]));
    expect(drawn.nodes.map((n) => n.id)).toEqual(["group:raw", "c", "d", "e"]);
    expect(drawn.nodes[0]).toMatchObject({ members: ["a", "b"], counts: { fresh: 2 }, folded: true });
    expect(drawn.edges).toEqual([
      { from: "group:raw", to: "c" },
      { from: "c", to: "d" },
      { from: "d", to: "e" },
    ]);
  });

  it("lights the path up and down and not sideways", () => {
    expect(pathOf("c", graph.edges)).toEqual(new Set(["a", "b", "c", "d", "e"]));
    expect(pathOf("a", graph.edges)).toEqual(new Set(["a", "c", "d", "e"]));
  });

  it("cuts a neighbourhood by depth", () => {
    expect(cut(graph, "c", 1).nodes.map((n) => n.key)).toEqual(["a", "b", "c", "d"]);
    expect(cut(graph, null, 1)).toBe(graph);
    expect(cut(graph, "gone", 1)).toBe(graph);
  });
});
