// The graph: neighbourhood, folded groups, the chosen node and the form (canvas or list) all live in the URL.

import { useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useCallback, useMemo } from "react";
import { graph as graphQuery } from "../api/queries";
import type { Graph } from "../api/types";
import { Empty, Loaded, Skeleton } from "../design/Feedback";
import { FilterChip } from "../design/FilterChip";
import { Icon } from "../design/Icon";
import { SearchField } from "../design/SearchField";
import { GraphCanvas } from "../graph/GraphCanvas";
import { GraphList } from "../graph/GraphList";
import { GraphPanel } from "../graph/GraphPanel";
import { cut, fold, groupOf } from "../graph/model";
import { useLayout } from "../graph/useLayout";
import { plural } from "../lib/format";
import "../graph/graph.css";

export function GraphView() {
  const search = useSearch({ from: "/graph" });
  const navigate = useNavigate({ from: "/graph" });
  const query = useQuery(graphQuery(search.select));
  const patch = useCallback(
    (change: Partial<typeof search>) =>
      void navigate({ search: (before) => ({ ...before, ...change }), replace: true }),
    [navigate],
  );
  return (
    <div className="page">
      <header className="page-head">
        <h1>Graph</h1>
        <span className="quiet">
          {query.data && `${plural(query.data.nodes.length, "asset")}, ${plural(query.data.edges.length, "edge")}`}
        </span>
        <span className="grow" />
        <SearchField
          value={search.select ?? ""}
          onValue={(text) => patch({ select: text || undefined, focus: undefined })}
          placeholder="Select: +delays, group:flights"
          testid="graph-select"
          width={260}
          mono
        />
        <span className="segmented">
          <button type="button" aria-pressed={search.as !== "list"} onClick={() => patch({ as: undefined })}>
            Graph
          </button>
          <button type="button" aria-pressed={search.as === "list"} onClick={() => patch({ as: "list" })}>
            List
          </button>
        </span>
      </header>
      <Loaded
        query={query}
        skeleton={
          <div className="page-scroll">
            <Skeleton rows={8} height={32} />
          </div>
        }
      >
        {(graph) =>
          graph.nodes.length > 0 ? (
            <Body graph={graph} search={search} patch={patch} />
          ) : (
            <div className="page-scroll">
              {search.select ? (
                <Empty title="Nothing matches the selection">
                  <button type="button" className="link link-button" onClick={() => patch({ select: undefined })}>
                    Show the whole graph
                  </button>
                </Empty>
              ) : (
                <Empty title="No assets yet" command="partita locations">
                  The graph is drawn as soon as a code location is loaded.
                </Empty>
              )}
            </div>
          )
        }
      </Loaded>
    </div>
  );
}

type Search = {
  select?: string;
  focus?: string;
  depth?: string;
  node?: string;
  collapsed?: string;
  as?: string;
};
/** A JSON list in the URL: a group's name may hold any separator. */
function foldedOf(text: string | undefined): Set<string> {
  try {
    const names: unknown = JSON.parse(text ?? "[]");
    return new Set(Array.isArray(names) ? names.map(String) : []);
  } catch {
    return new Set();
  }
}

type BodyProps = { graph: Graph; search: Search; patch: (change: Partial<Search>) => void };

function Body({ graph, search, patch }: BodyProps) {
  const depth = Number(search.depth ?? 2) || 2;
  const focus = search.focus && graph.nodes.some((node) => node.key === search.focus) ? search.focus : null;
  const shown = useMemo(() => cut(graph, focus, depth), [graph, focus, depth]);
  const folded = useMemo(() => foldedOf(search.collapsed), [search.collapsed]);
  const drawn = useMemo(() => fold(shown, folded), [shown, folded]);
  const done = useLayout(drawn);
  const groups = useMemo(() => [...new Set(shown.nodes.map(groupOf))].sort(), [shown]);
  const node = search.node ? (drawn.nodes.find((each) => each.id === search.node) ?? null) : null;
  const setFolded = (next: Set<string>) => patch({ collapsed: next.size > 0 ? JSON.stringify([...next]) : undefined });
  const toggle = (group: string) => {
    const next = new Set(folded);
    if (!next.delete(group)) next.add(group);
    setFolded(next);
  };
  return (
    <>
      <div className="graph-tools">
        {focus !== null && (
          <span className="row">
            <span>
              Around <span className="mono">{focus}</span>, {plural(depth, "step")}
            </span>
            {depth > 1 && (
              <button
                type="button"
                className="btn small icon"
                aria-label="Show one step less"
                onClick={() => patch({ depth: String(depth - 1) })}
              >
                <Icon name="minus" size={12} />
              </button>
            )}
            <button
              type="button"
              className="btn small icon"
              aria-label="Show one step more"
              onClick={() => patch({ depth: String(depth + 1) })}
            >
              <Icon name="plus" size={12} />
            </button>
            <button type="button" className="btn small" onClick={() => patch({ focus: undefined, depth: undefined })}>
              Show whole graph
            </button>
          </span>
        )}
        {groups.length > 1 && (
          <fieldset className="chips" aria-label="Collapse groups">
            <span className="quiet">Collapse</span>
            {groups.map((group) => (
              <FilterChip key={group} picked={folded.has(group)} onPick={() => toggle(group)}>
                {group}
              </FilterChip>
            ))}
          </fieldset>
        )}
      </div>
      <div className="graph-body">
        {done === null ? (
          <div className="grow" />
        ) : search.as === "list" ? (
          <GraphList drawn={drawn} layout={done.layout} onChoose={(id) => patch({ node: id })} />
        ) : (
          <GraphCanvas
            drawn={drawn}
            layout={done.layout}
            structure={done.structure}
            chosen={node?.id ?? null}
            onChoose={(each) => patch({ node: each?.id })}
          />
        )}
        {node && (
          <GraphPanel
            node={node}
            graph={graph}
            focused={focus === node.id}
            onClose={() => patch({ node: undefined })}
            onChoose={(key) => patch({ node: key })}
            onFocus={(key) => patch({ focus: key, depth: "1" })}
            onUnfold={toggle}
          />
        )}
      </div>
    </>
  );
}
