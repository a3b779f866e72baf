// The sheet that ? opens: every key there is.
import { Dialog } from "./Dialog";
import { JUMPS } from "./keys";

const GENERAL: [string[], string][] = [
  [["Ctrl", "K"], "Search assets, runs and views"],
  [["?"], "Show this sheet"],
  [["/"], "Go to the search of this view"],
  [["Esc"], "Close, or clear the selection"],
];
const STRIP: [string[], string][] = [
  [["←", "→"], "Move by one partition"],
  [["↑", "↓"], "Move by one row (a week, a dimension)"],
  [["Shift", "arrows"], "Extend the selection"],
  [["Space"], "Select the partition"],
  [["Enter"], "Open the partition"],
];
const GRAPH: [string[], string][] = [
  [["arrows"], "Move along edges and layers"],
  [["Enter"], "Open the side panel"],
  [["+", "−", "0"], "Zoom in, out, fit"],
];

function Keys({ title, rows }: { title: string; rows: [string[], string][] }) {
  return (
    <section>
      <h3>{title}</h3>
      <dl className="keys">
        {rows.map(([keys, text]) => (
          <div key={text}>
            <dt>
              {keys.map((key) => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dt>
            <dd>{text}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}

export function KeySheet({ onClose }: { onClose: () => void }) {
  const jumps: [string[], string][] = Object.entries(JUMPS).map(([key, { label }]) => [["g", key], label]);
  return (
    <Dialog label="Keys" onClose={onClose} className="keysheet">
      <h2>Keys</h2>
      <div className="keysheet-body">
        <Keys title="Anywhere" rows={GENERAL} />
        <Keys title="Go to" rows={jumps} />
        <Keys title="Partitions" rows={STRIP} />
        <Keys title="Graph" rows={GRAPH} />
      </div>
    </Dialog>
  );
}
