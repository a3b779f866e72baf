// Loading, empty and failed, in one place: skeletons keep the layout, empties give the command, errors say what, why, fix.
import type { ReactNode } from "react";
import { problemFrom } from "../api/client";
import { CopyButton } from "./Copy";

export function Skeleton({ rows = 6, height = 20 }: { rows?: number; height?: number }) {
  return (
    <div className="stack" aria-busy="true" role="status" aria-label="Loading">
      {Array.from({ length: rows }, (_, i) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the rows are alike and never move
        <div key={i} className="skeleton" style={{ height, width: `${92 - ((i * 17) % 40)}%` }} />
      ))}
    </div>
  );
}

export function Command({ text }: { text: string }) {
  return (
    <span className="command">
      <code>{text}</code>
      <CopyButton text={text} what="Copy command" />
    </span>
  );
}

export function Empty({ title, children, command }: { title: string; children?: ReactNode; command?: string }) {
  return (
    <div className="empty" data-testid="empty">
      <h2>{title}</h2>
      {children && <p className="mid">{children}</p>}
      {command && <Command text={command} />}
    </div>
  );
}

export function Problem({ error, onRetry, children }: { error: unknown; onRetry?: () => void; children?: ReactNode }) {
  const { what, rule, fix } = problemFrom(error);
  const text = [what, rule, fix].filter(Boolean).join("\n");
  return (
    <div className="problem" role="alert" data-testid="problem">
      <strong>{what}</strong>
      {rule && <span>{rule}</span>}
      {fix && <span className="mid">{fix}</span>}
      <span className="row" style={{ marginTop: 4 }}>
        {onRetry && (
          <button type="button" className="btn small" onClick={onRetry}>
            Load again
          </button>
        )}
        <CopyButton text={text} what="Copy error" label />
        {children}
      </span>
    </div>
  );
}

type Loadable<T> = {
  data: T | undefined;
  error: unknown;
  isPending: boolean;
  refetch: () => unknown;
};

/** Data when there is some (even while a refetch fails: old data beats a blank page), else the error, else a skeleton. */
export function Loaded<T>({
  query,
  children,
  skeleton,
}: {
  query: Loadable<T>;
  children: (value: T) => ReactNode;
  skeleton?: ReactNode;
}) {
  if (query.data !== undefined) return children(query.data);
  if (query.error) return <Problem error={query.error} onRetry={() => void query.refetch()} />;
  return skeleton ?? <Skeleton />;
}
