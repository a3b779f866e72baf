// The cells of a backfill: partitions by assets, each with its state; choosing one shows its task and log (S-198).

import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useCallback, useEffect, useState } from "react";
import { backfillCells } from "../../api/queries";
import type { Backfill, BackfillMatrix, Counts } from "../../api/types";
import { Loaded } from "../../design/Feedback";
import { FilterChip } from "../../design/FilterChip";
import { Pager } from "../../design/Pager";
import { StateGlyph } from "../../design/StateGlyph";
import { ranked, wordOf } from "../../design/states";
import { TaskPanel } from "../run/TaskPanel";
import "../run/run.css";

const PAGE = 100;

export function Matrix({ backfill, counts }: { backfill: Backfill; counts: Counts }) {
  const search = useSearch({ from: "/backfills/$backfillId" });
  const navigate = useNavigate({ from: "/backfills/$backfillId" });
  const [page, setPage] = useState(0);
  const patch = useCallback(
    (change: Partial<typeof search>) =>
      void navigate({ search: (before) => ({ ...before, ...change }), replace: true }),
    [navigate],
  );
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new filter starts at its first page
  useEffect(() => setPage(0), [search.state]);
  const query = useQuery({
    ...backfillCells(backfill.id, { state: search.state, offset: page * PAGE, limit: PAGE }),
    placeholderData: keepPreviousData,
  });
  const chosen = search.task ? Number(search.task) : null;
  return (
    <section className="section" data-testid="backfill-matrix">
      <header>
        <h2>Cells</h2>
        <fieldset className="chips" aria-label="Only partitions with a cell in this state">
          {ranked(counts).map(([state, n]) => (
            <FilterChip
              key={state}
              picked={search.state === state}
              onPick={() => patch({ state: search.state === state ? undefined : state })}
              glyph={state}
              n={n}
            >
              {wordOf(state)}
            </FilterChip>
          ))}
        </fieldset>
      </header>
      <Loaded query={query}>
        {(found) => (
          <>
            <Grid
              found={found}
              chosen={chosen}
              onSelect={(task) => patch({ task: String(task), attempt: undefined, line: undefined })}
            />
            {found.total > PAGE && (
              <Pager page={page} size={PAGE} total={found.total} onPage={setPage} what="partitions" />
            )}
          </>
        )}
      </Loaded>
      {chosen !== null && (
        <div className="bf-task">
          <TaskPanel
            key={chosen}
            taskId={chosen}
            search={search}
            onPatch={patch}
            onClose={() => patch({ task: undefined, attempt: undefined, line: undefined })}
          />
        </div>
      )}
    </section>
  );
}

type GridProps = { found: BackfillMatrix; chosen: number | null; onSelect: (task: number) => void };

function Grid({ found, chosen, onSelect }: GridProps) {
  if (found.partitions.length === 0) return <p className="quiet">No partition has a cell in this state.</p>;
  const last = found.partitions.length - 1;
  return (
    <div className="bf-scroll">
      <table className="bf-matrix">
        <thead>
          <tr>
            <th scope="col">Asset</th>
            <th scope="col" colSpan={found.partitions.length} className="mono bf-ends">
              <span>
                <span>{found.partitions[0]}</span>
                {last > 0 && <span>{found.partitions[last]}</span>}
              </span>
            </th>
          </tr>
        </thead>
        <tbody>
          {found.rows.map((row) => (
            <tr key={row.asset} data-key={row.asset}>
              <th scope="row" className="key" data-tip={row.asset}>
                {row.asset}
              </th>
              {found.partitions.map((partition, at) => {
                const state = row.states[at];
                const task = row.tasks[at];
                if (state === null || task === null) return <td key={partition} />;
                return (
                  <td key={partition}>
                    <button
                      type="button"
                      className="bf-cell"
                      data-state={state}
                      data-tip={`${partition}\n${wordOf(state)}`}
                      aria-label={`${row.asset} ${partition}: ${wordOf(state)}`}
                      aria-pressed={task === chosen}
                      onClick={() => onSelect(task)}
                    >
                      <StateGlyph state={state} />
                    </button>
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
