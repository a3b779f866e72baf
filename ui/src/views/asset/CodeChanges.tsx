// Which functions changed: the parts of a fingerprint, a line each.
import type { CodeChange } from "../../api/types";

export function CodeChanges({ change }: { change: CodeChange }) {
  const lines = [
    ...change.changed.map((name) => [name, "changed"] as const),
    ...change.added.map((name) => [name, "is reached now"] as const),
    ...change.removed.map((name) => [name, "is no longer reached"] as const),
  ];
  if (lines.length === 0) return <p className="quiet">{change.text}</p>;
  return (
    <div className="code-changes" data-testid="code-changes">
      {lines.map(([name, verb]) => (
        <p key={`${name}${verb}`}>
          <span className="mono">{name}</span> <span className="quiet">{verb}</span>
        </p>
      ))}
    </div>
  );
}
