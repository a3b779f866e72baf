// Pages of a long list. Only the directions that lead somewhere are drawn.
import { count } from "../lib/format";
import { Icon } from "./Icon";

type Props = { page: number; size: number; total: number; onPage: (page: number) => void; what: string };

export function Pager({ page, size, total, onPage, what }: Props) {
  const first = Math.min(total, page * size + 1);
  const last = Math.min(total, (page + 1) * size);
  return (
    <nav className="row" aria-label="Pages" style={{ padding: "8px 0" }}>
      <span className="quiet">
        {total === 0 ? `No ${what}` : `${count(first)}–${count(last)} of ${count(total)} ${what}`}
      </span>
      <span className="grow" />
      {page > 0 && (
        <button type="button" className="btn small" onClick={() => onPage(page - 1)}>
          <Icon name="left" size={12} />
          Show previous
        </button>
      )}
      {last < total && (
        <button type="button" className="btn small" onClick={() => onPage(page + 1)}>
          Show next
          <Icon name="right" size={12} />
        </button>
      )}
    </nav>
  );
}
