// The plan preview, the same for every action. It shows the value that will be executed; the button repeats its count.
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { post } from "../api/client";
import { planDifference, plan as planQuery } from "../api/queries";
import type { Plan } from "../api/types";
import { Empty, Loaded, Problem, Skeleton } from "../design/Feedback";
import { Icon } from "../design/Icon";
import { LaunchPanel } from "../plan/LaunchPanel";
import { Params } from "../plan/Params";
import { PlanBody } from "../plan/PlanBody";
import { PlanChange } from "../plan/PlanChange";
import { type PlanSearch, requestFrom } from "../plan/request";
import "../plan/plan.css";

export function PlanPreview() {
  const search = useSearch({ from: "/plan" });
  const navigate = useNavigate({ from: "/plan" });
  const client = useQueryClient();
  const query = useQuery({ ...planQuery(search.id ?? ""), enabled: Boolean(search.id) });
  const difference = useQuery({
    ...planDifference(search.id ?? "", search.was ?? ""),
    enabled: Boolean(search.id && search.was),
  });
  const again = useMutation({
    mutationFn: (change: PlanSearch & { was?: string }) => post<Plan>("/plans", requestFrom({ ...search, ...change })),
    onSuccess: (plan, change) => {
      client.setQueryData(planQuery(String(plan.id)).queryKey, plan);
      void navigate({
        search: { ...search, was: undefined, ...change, reason: undefined, id: String(plan.id) },
        replace: true,
      });
    },
  });
  if (!search.id && !search.selection)
    return (
      <div className="page">
        <div className="page-scroll" style={{ paddingTop: 24 }}>
          <Empty title="No plan is named in the address" command="partita plan '*'">
            Select partitions of an asset and choose “Preview plan”.
          </Empty>
        </div>
      </div>
    );
  return (
    <div className="page">
      <header className="page-head">
        {search.selection && (
          <Link
            className="btn bare icon"
            to="/asset"
            search={{ key: search.selection, sel: search.partitions }}
            aria-label="Back to the selection"
            data-tip="Back to the selection"
          >
            <Icon name="left" />
          </Link>
        )}
        <h1>Plan</h1>
        {again.isPending && <span className="quiet">Planning again…</span>}
      </header>
      <div className="page-scroll">
        {search.id ? (
          query.error ? (
            <Problem error={query.error}>
              {search.selection && (
                <button type="button" className="btn small" onClick={() => again.mutate({})}>
                  Plan again
                </button>
              )}
            </Problem>
          ) : (
            <Loaded query={query} skeleton={<Skeleton rows={10} />}>
              {(plan) => (
                <div className="plan-layout" data-testid="plan" data-plan={plan.id}>
                  {difference.error ? (
                    <div className="plan-main">
                      <Problem error={difference.error} />
                    </div>
                  ) : difference.data ? (
                    <PlanChange
                      difference={difference.data}
                      onWhole={() => void navigate({ search: (before) => ({ ...before, was: undefined }) })}
                    />
                  ) : (
                    <PlanBody
                      plan={plan}
                      reason={search.reason ?? null}
                      onReason={(reason) =>
                        void navigate({
                          search: (before) => ({ ...before, reason: reason ?? undefined }),
                          replace: true,
                        })
                      }
                    />
                  )}
                  <LaunchPanel
                    key={plan.id}
                    plan={plan}
                    search={search}
                    onChange={(change) => again.mutate(change)}
                    onChanged={() => again.mutate({ was: plan.hash })}
                    changed={difference.data !== undefined}
                    error={again.error}
                  />
                </div>
              )}
            </Loaded>
          )
        ) : (
          <div className="launch-params">
            <p className="mid">
              Nothing is planned yet: <span className="mono">{search.selection}</span> {search.partitions}
            </p>
            <Params search={search} onChange={(change) => again.mutate(change)} first />
            {again.error ? (
              <Problem error={again.error} />
            ) : (
              <button type="button" className="btn" onClick={() => again.mutate({})}>
                Preview plan with the defaults
              </button>
            )}
          </div>
        )}
      </div>
    </div>
  );
}
