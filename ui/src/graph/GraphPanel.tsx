// What a node is: its counts, neighbours, and what can be done from here.
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { asset as assetQuery } from "../api/queries";
import type { Graph } from "../api/types";
import { Icon } from "../design/Icon";
import { MiniBar, StateCounts } from "../design/StateChip";
import { plural } from "../lib/format";
import { usePlanPreview } from "../plan/preview";
import { planSearch } from "../plan/request";
import type { DrawnNode } from "./model";

type Props = {
  node: DrawnNode;
  graph: Graph;
  focused: boolean;
  onClose: () => void;
  onChoose: (key: string) => void;
  onFocus: (key: string) => void;
  onUnfold: (group: string) => void;
};

export function GraphPanel({ node, graph, focused, onClose, onChoose, onFocus, onUnfold }: Props) {
  const up = [...new Set(graph.edges.filter((edge) => edge.to === node.id).map((edge) => edge.from))];
  const down = [...new Set(graph.edges.filter((edge) => edge.from === node.id).map((edge) => edge.to))];
  return (
    <aside className="side-panel graph-panel" data-testid="graph-panel" aria-label={node.label}>
      <header>
        <span className="key grow" data-tip={node.label}>
          {node.label}
        </span>
        <button type="button" className="btn bare icon small" aria-label="Close panel" onClick={onClose}>
          <Icon name="close" />
        </button>
      </header>
      <div className="stack wide">
        <div className="stack">
          <MiniBar counts={node.counts} tall />
          <StateCounts counts={node.counts} label="Partitions by state" />
        </div>
        {node.folded ? (
          <>
            <button type="button" className="btn" onClick={() => onUnfold(node.label)}>
              Expand group
            </button>
            <Keys title={plural(node.members.length, "asset")} keys={node.members} onChoose={onChoose} />
          </>
        ) : (
          <>
            <Verdict assetKey={node.id} />
            <div className="graph-actions">
              {!node.external && <PlanNode assetKey={node.id} />}
              <Link className="btn" to="/asset" search={{ key: node.id }}>
                Open asset
              </Link>
              {!focused && (
                <button type="button" className="btn" onClick={() => onFocus(node.id)}>
                  Neighbourhood
                </button>
              )}
            </div>
            <Keys title="Upstream" keys={up} onChoose={onChoose} none="Reads no other asset." />
            <Keys title="Downstream" keys={down} onChoose={onChoose} none="No other asset reads it." />
          </>
        )}
      </div>
    </aside>
  );
}

function Keys({
  title,
  keys,
  onChoose,
  none,
}: {
  title: string;
  keys: string[];
  onChoose: (key: string) => void;
  none?: string;
}) {
  return (
    <section>
      <h3>{title}</h3>
      {keys.length === 0 && <p className="quiet">{none}</p>}
      <ul>
        {keys.map((key) => (
          <li key={key}>
            <button type="button" className="link-button key link" data-tip={key} onClick={() => onChoose(key)}>
              {key}
            </button>
          </li>
        ))}
      </ul>
    </section>
  );
}

/** What the asset's page says first; the panel is whole without it. */
function Verdict({ assetKey }: { assetKey: string }) {
  const { data } = useQuery(assetQuery(assetKey));
  if (!data) return <div className="skeleton" style={{ height: 40 }} />;
  return (
    <div>
      <p>{data.verdict.sentence}</p>
      {data.description && <p className="quiet">{data.description}</p>}
    </div>
  );
}

function PlanNode({ assetKey }: { assetKey: string }) {
  const { preview, refused } = usePlanPreview();
  return (
    <>
      <button
        type="button"
        className="btn primary"
        data-testid="preview-plan"
        onClick={() => preview(planSearch({ selection: assetKey, as: "backfill" }))}
      >
        Preview plan
      </button>
      {refused}
    </>
  );
}
