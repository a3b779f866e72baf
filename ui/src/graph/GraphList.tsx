// The list twin of the canvas: the same nodes by layer, as text, for the keyboard and for screen readers.
import { Link } from "@tanstack/react-router";
import { MiniBar } from "../design/StateChip";
import { StateGlyph } from "../design/StateGlyph";
import { dominant } from "../design/states";
import type { Layout } from "./layout";
import { type Drawn, neighbours } from "./model";

export function GraphList({
  drawn,
  layout,
  onChoose,
}: {
  drawn: Drawn;
  layout: Layout;
  onChoose: (id: string) => void;
}) {
  const { up, down } = neighbours(drawn.edges);
  const order = drawn.nodes
    .map((node, i) => ({ node, place: layout.places[i] }))
    .sort((a, b) => a.place.rank - b.place.rank || a.place.y - b.place.y);
  return (
    <div className="page-scroll">
      <table className="table">
        <thead>
          <tr>
            <th className="num">Layer</th>
            <th>Asset</th>
            <th style={{ width: "18%" }}>Partitions</th>
            <th style={{ width: "28%" }}>Reads</th>
            <th style={{ width: "28%" }}>Read by</th>
          </tr>
        </thead>
        <tbody>
          {order.map(({ node, place }) => (
            <tr key={node.id} data-testid="graph-row" data-key={node.id}>
              <td className="num quiet">{place.rank + 1}</td>
              <td>
                <span className="row">
                  <StateGlyph state={dominant(node.counts)} />
                  {node.folded ? (
                    <button type="button" className="link-button key" onClick={() => onChoose(node.id)}>
                      {node.label} ({node.members.length} assets)
                    </button>
                  ) : (
                    <Link className="key link" to="/asset" search={{ key: node.id }}>
                      {node.label}
                    </Link>
                  )}
                </span>
              </td>
              <td>
                <MiniBar counts={node.counts} />
              </td>
              <td className="mono mid">{(up.get(node.id) ?? []).join(", ") || "–"}</td>
              <td className="mono mid">{(down.get(node.id) ?? []).join(", ") || "–"}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
