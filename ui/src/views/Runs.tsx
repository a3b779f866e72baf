// All runs, newest first, filtered by state.

import { useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { runs as runsQuery } from "../api/queries";
import { Empty, Loaded } from "../design/Feedback";
import { FilterChip } from "../design/FilterChip";
import { Pager } from "../design/Pager";
import { wordOf } from "../design/states";
import { RunTable } from "./RunTable";
import "./lists.css";

const PAGE = 50;
const STATES = ["running", "success", "failed", "cancelled"];

export function Runs() {
  const search = useSearch({ from: "/runs" });
  const navigate = useNavigate({ from: "/runs" });
  const page = Number(search.page ?? 0) || 0;
  const query = useQuery(runsQuery({ state: search.state, tag: search.tag, offset: page * PAGE, limit: PAGE }));
  return (
    <div className="page">
      <header className="page-head">
        <h1>Runs</h1>
        <fieldset className="chips" aria-label="Filter by state">
          {STATES.map((state) => (
            <FilterChip
              key={state}
              picked={search.state === state}
              onPick={() =>
                void navigate({ search: { tag: search.tag, state: search.state === state ? undefined : state } })
              }
              glyph={state}
            >
              {wordOf(state)}
            </FilterChip>
          ))}
        </fieldset>
        {search.tag && (
          <FilterChip
            picked
            onPick={() => void navigate({ search: { state: search.state } })}
            tip="Show runs without this tag, too"
            data-testid="tag-filter"
          >
            {search.tag}
          </FilterChip>
        )}
      </header>
      <div className="page-scroll">
        <Loaded query={query}>
          {({ runs, total }) =>
            runs.length > 0 ? (
              <>
                <RunTable runs={runs} />
                <Pager
                  page={page}
                  size={PAGE}
                  total={total}
                  what="runs"
                  onPage={(next) => void navigate({ search: (before) => ({ ...before, page: String(next) }) })}
                />
              </>
            ) : search.tag ? (
              <Empty title={`No run has the tag ${search.tag}`} command={`partita runs --tag '${search.tag}'`}>
                Choose the tag above again to see all runs.
              </Empty>
            ) : search.state ? (
              <Empty title={`No run is ${wordOf(search.state)}`}>Choose the chip again to see all runs.</Empty>
            ) : (
              <Empty title="No runs yet" command="partita materialize delays --partitions latest">
                A run is a plan that was launched. Select partitions of an asset and preview a plan, or use the command.
              </Empty>
            )
          }
        </Loaded>
      </div>
    </div>
  );
}
