// What waits and why: tasks by state, pools with the names of who holds their slots, and each waiting task's one reason.
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { pauses as pausesQuery, pools as poolsQuery, queue as queueQuery } from "../api/queries";
import type { Pool, Queue } from "../api/types";
import { Empty, Loaded } from "../design/Feedback";
import { StateChip, StateCounts } from "../design/StateChip";
import { totalOf } from "../design/states";
import { Time } from "../design/Time";
import { count, plural } from "../lib/format";
import { PauseButton } from "./Pause";
import "./lists.css";

export function QueueView() {
  const queue = useQuery(queueQuery());
  const pools = useQuery(poolsQuery());
  const pauses = useQuery(pausesQuery());
  return (
    <div className="page">
      <header className="page-head">
        <h1>Queue</h1>
        {queue.data?.oldest_ready_at && (
          <span className="quiet">
            oldest ready <Time at={queue.data.oldest_ready_at} />
          </span>
        )}
        {queue.data && <StateCounts counts={queue.data.by_state} label="Open tasks by state" />}
        <span className="grow" />
        {pauses.data && !pauses.data.everything && <PauseButton verb="pause" selection={null} what="everything" />}
      </header>
      <div className="page-scroll">
        <section className="section">
          <header>
            <h2>Pools</h2>
          </header>
          <Loaded query={pools}>{(list) => <Pools list={list} />}</Loaded>
        </section>
        <section className="section">
          <header>
            <h2>Waiting tasks</h2>
          </header>
          <Loaded query={queue}>{(value) => <Waiting queue={value} />}</Loaded>
        </section>
      </div>
    </div>
  );
}

const DRAWN_SLOTS = 60;

function Pools({ list }: { list: Pool[] }) {
  if (list.length === 0)
    return (
      <p className="quiet">
        No pool is declared. An asset names one with pool="warehouse", and its slots limit how many run at once.
      </p>
    );
  return (
    <div className="pools">
      {list.map((pool) => (
        <div key={pool.name} className="panel pool" data-testid="pool" data-pool={pool.name}>
          <p className="row">
            <strong className="mono grow">{pool.kind === "pool" ? pool.name : `cap: ${pool.limits}`}</strong>
            <span className="quiet">
              {count(pool.held)} of {plural(pool.slots, "slot")}
              {pool.waiting > 0 && `, ${count(pool.waiting)} wait`}
            </span>
          </p>
          {pool.slots <= DRAWN_SLOTS ? (
            <div className="slots" aria-hidden="true">
              {Array.from({ length: pool.slots }, (_, i) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: slots are alike
                <i key={i} className={i < pool.held ? "held" : ""} />
              ))}
            </div>
          ) : (
            <span className="meter" aria-hidden="true">
              <span style={{ width: `${(pool.held / pool.slots) * 100}%` }} />
            </span>
          )}
          {pool.holders.length === 0 ? (
            <p className="quiet">{pool.held === 0 ? "Nobody holds a slot." : "The holders are not listed."}</p>
          ) : (
            <ul>
              {pool.holders.slice(0, 8).map((holder) => (
                <li key={holder.task_id} className="row">
                  <Link
                    className="link key"
                    to="/runs/$runId"
                    params={{ runId: String(holder.run_id) }}
                    search={{ task: String(holder.task_id) }}
                  >
                    {holder.step}
                  </Link>
                  <span className="quiet">{holder.lane}</span>
                  {holder.slots > 1 && <span className="quiet">{count(holder.slots)} slots</span>}
                  <span className="quiet">
                    <Time at={holder.since} />
                  </span>
                </li>
              ))}
              {pool.holders.length > 8 && <li className="quiet">and {count(pool.holders.length - 8)} more</li>}
            </ul>
          )}
        </div>
      ))}
    </div>
  );
}

function Waiting({ queue }: { queue: Queue }) {
  if (queue.waiting.length === 0)
    return totalOf(queue.by_state) > 0 ? (
      <p className="quiet">No task waits; all open ones run.</p>
    ) : (
      <Empty title="The queue is empty" command="partita plan '*'">
        Tasks that wait for a slot, a worker or an upstream are listed here, each with its one reason.
      </Empty>
    );
  return (
    <table className="table">
      <thead>
        <tr>
          <th>Task</th>
          <th>State</th>
          <th style={{ width: "38%" }}>Reason</th>
          <th>Ready</th>
          <th>Run</th>
        </tr>
      </thead>
      <tbody>
        {queue.waiting.map((task) => (
          <tr key={task.id} data-testid="queue-row" data-state={task.state}>
            <td style={{ maxWidth: 320 }}>
              <span className="cause mono" data-tip={`${task.step}\n${task.partitions_text}`}>
                {task.step} <span className="quiet">{task.partitions_text}</span>
              </span>
            </td>
            <td>
              <StateChip state={task.state} />
            </td>
            <td>{task.reason?.text ?? <span className="quiet">not decided yet</span>}</td>
            <td>
              <Time at={task.ready_at} none="waits upstream" />
            </td>
            <td>
              {task.run_id === undefined ? (
                "–"
              ) : (
                <Link
                  className="link mono"
                  to="/runs/$runId"
                  params={{ runId: String(task.run_id) }}
                  search={{ task: String(task.id) }}
                >
                  #{task.run_id}
                </Link>
              )}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
