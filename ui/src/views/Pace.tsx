// How many tasks of a run or a backfill are active at once, and before which others: changed while it runs, as it was shown.
import { useState } from "react";
import { post } from "../api/client";
import { limitOf, TasksAtOnce } from "../design/TasksAtOnce";
import { count, plural } from "../lib/format";
import { Confirm } from "./Confirm";

type Props = {
  /** `runs` or `backfills`, as addresses name them. */
  of: "runs" | "backfills";
  id: number;
  maxActive: number | null;
  /** Of a backfill; a run has none of its own to change. */
  priority?: number;
  small?: boolean;
};

export function PaceButton(props: Props) {
  const [asking, setAsking] = useState(false);
  if (asking) return <Change {...props} onClose={() => setAsking(false)} />;
  return (
    <button
      type="button"
      className={`btn ${props.small ? "small" : ""}`}
      data-testid="change-pace"
      data-tip={`How many of its tasks are active at once${props.priority === undefined ? "" : ", and its priority"}`}
      onClick={() => setAsking(true)}
    >
      Change pace
    </button>
  );
}

function Change({ of, id, maxActive, priority, onClose }: Props & { onClose: () => void }) {
  const [limit, setLimit] = useState(maxActive === null ? "" : String(maxActive));
  const [rank, setRank] = useState(String(priority ?? 0));
  const to = limitOf(limit);
  const toRank = Number(rank) || 0;
  const paced = to !== maxActive;
  const ranked = priority !== undefined && toRank !== priority;
  const command = of === "runs" ? "runs" : "backfill";
  return (
    <Confirm
      label="Change the pace"
      sentence={sentence(paced ? [maxActive, to] : null, ranked ? [priority, toRank] : null)}
      keep="Keep the pace"
      cli={`partita ${command} set ${id} --max-active ${to ?? "none"}${ranked ? ` --priority ${toRank}` : ""}`}
      testid="pace"
      nothing={!paced && !ranked}
      onDo={(reason) =>
        post(`/${of}/${id}/settings`, {
          max_active: to,
          reason,
          ...(priority === undefined ? {} : { priority: toRank }),
        })
      }
      onClose={onClose}
    >
      <span className="row wrap">
        <TasksAtOnce value={limit} onChange={setLimit} first />
        {priority !== undefined && (
          <label
            className="row"
            data-tip="Higher goes first among backfills: a step counts like a minute of waiting. From -1000 to 1000."
          >
            <span className="quiet">Priority</span>
            <input
              className="field number"
              inputMode="numeric"
              data-testid="priority"
              value={rank}
              onChange={(event) => setRank(event.target.value.replace(/[^\d-]/g, ""))}
            />
          </label>
        )}
      </span>
    </Confirm>
  );
}

function sentence(pace: [number | null, number | null] | null, rank: [number, number] | null): string {
  if (pace === null && rank === null) return "It stays as it is.";
  const said = [];
  if (pace !== null) {
    const [was, to] = pace;
    const lower = to !== null && (was === null || to < was);
    const before = was === null ? "without a limit now" : `${count(was)} now`;
    said.push(
      `${to === null ? "As many tasks as the pools admit are" : `At most ${plural(to, "task")} ${to === 1 ? "is" : "are"}`} active at once, ${before}.`,
    );
    if (lower) said.push("What is queued above it goes back in line; what runs goes on.");
  }
  if (rank !== null) said.push(`Its priority becomes ${rank[1]}, ${rank[0]} now.`);
  return said.join(" ");
}
