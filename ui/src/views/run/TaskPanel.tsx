// The chosen task: its attempts as tabs, why it is where it is, and its log.
import { useMutation, useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { post } from "../../api/client";
import { task as taskQuery } from "../../api/queries";
import type { TaskDetail, TaskRerun } from "../../api/types";
import { CopyButton } from "../../design/Copy";
import { Loaded, Problem, Skeleton } from "../../design/Feedback";
import { Icon } from "../../design/Icon";
import { StateChip } from "../../design/StateChip";
import { StateGlyph } from "../../design/StateGlyph";
import { Elapsed, Time } from "../../design/Time";
import { count } from "../../lib/format";
import { LogPanel } from "../../log/LogPanel";
import { planSearch } from "../../plan/request";
import { CancelButton } from "../CancelButton";
import { Answer } from "./Answer";
import { taskState } from "./TaskList";

export type RunSearch = { task?: string; attempt?: string; line?: string; q?: string; level?: string };

const SAID_ELSEWHERE = new Set(["running", "awaiting_input"]);

type Props = { taskId: number; search: RunSearch; onPatch: (change: RunSearch) => void; onClose: () => void };

export function TaskPanel({ taskId, search, onPatch, onClose }: Props) {
  const query = useQuery(taskQuery(taskId));
  return (
    <section className="task-panel" data-testid="task-panel" aria-label={`Task ${taskId}`}>
      <Loaded query={query} skeleton={<Skeleton rows={5} />}>
        {(task) => <Panel task={task} search={search} onPatch={onPatch} onClose={onClose} />}
      </Loaded>
    </section>
  );
}

function Rerun({ task }: { task: TaskDetail }) {
  const navigate = useNavigate();
  const preview = useMutation({
    mutationFn: (downstream: boolean) => post<TaskRerun>(`/tasks/${task.id}/rerun`, { downstream }),
    onSuccess: ({ plan, selection, partitions, downstream }) =>
      navigate({
        to: "/plan",
        search: {
          id: String(plan.id),
          ...planSearch({ selection, partitions: partitions ?? undefined, as: "run", mode: ["all"], downstream }),
        },
      }),
  });
  return (
    <div className="task-why row wrap">
      <button
        type="button"
        className="btn small"
        data-testid="rerun-task"
        aria-busy={preview.isPending}
        onClick={() => !preview.isPending && preview.mutate(false)}
      >
        <Icon name="reload" size={14} />
        Preview running this task again
      </button>
      <button type="button" className="btn bare small" onClick={() => !preview.isPending && preview.mutate(true)}>
        With what depends on it
      </button>
      <CopyButton text={`partita tasks rerun ${task.id}`} what="Copy as CLI" />
      {preview.error && <Problem error={preview.error} />}
    </div>
  );
}

function Panel({ task, search, onPatch, onClose }: Omit<Props, "taskId"> & { task: TaskDetail }) {
  const attempts = [...task.attempts].sort((a, b) => a.number - b.number);
  const attempt = attempts.find((each) => String(each.id) === search.attempt) ?? attempts.at(-1) ?? null;
  const failed = task.cells.filter((cell) => cell.error);
  const unchanged = task.cells.filter((cell) => cell.state === "unchanged");
  return (
    <>
      <header className="task-panel-head">
        <StateChip state={taskState(task)} />
        <span className="key" data-tip={`${task.step}\n${task.partitions_text}`}>
          <strong>{task.step}</strong> {task.partitions_text}
        </span>
        <CopyButton text={`${task.step} ${task.partitions_text}`} what="Copy task name" />
        <span className="grow" />
        {attempt?.worker && <span className="quiet">on {attempt.worker}</span>}
        {attempt && (
          <span className="quiet">
            ran <Elapsed from={attempt.started_at} to={attempt.finished_at} />
          </span>
        )}
        {attempts.length > 0 && (
          <span className="segmented" role="tablist" aria-label="Attempts">
            {attempts.map((each) => (
              <button
                key={each.id}
                type="button"
                role="tab"
                aria-selected={each === attempt}
                className="row"
                onClick={() => onPatch({ attempt: String(each.id), line: undefined })}
              >
                <StateGlyph state={each.state} /> Attempt {each.number}
              </button>
            ))}
          </span>
        )}
        <button type="button" className="btn bare icon small" aria-label="Close task" onClick={onClose}>
          <Icon name="close" />
        </button>
      </header>
      {task.finished_at !== null && <Rerun task={task} />}
      {task.finished_at === null && (
        <div className="task-why">
          <CancelButton path={`/tasks/${task.id}/cancel`} noun="task" what="this task" testid="cancel-task" small />
        </div>
      )}
      {task.state === "awaiting_input" && <Answer taskId={task.id} />}
      {task.reason && task.finished_at === null && !SAID_ELSEWHERE.has(task.state) && (
        <p className="task-why" data-testid="task-reason">
          {task.reason.text}
          {task.not_before && (
            <>
              . Tries again <Time at={task.not_before} />
            </>
          )}
        </p>
      )}
      {task.outcome_text && (
        <p className="task-why" data-testid="task-outcome">
          {task.outcome_text}
        </p>
      )}
      {unchanged.length > 0 && task.outcome !== "unchanged" && (
        <p className="task-why quiet">
          {count(unchanged.length)} of {count(task.cell_count)} cells are unchanged: {unchanged[0].text}
        </p>
      )}
      {(attempt?.error ?? task.error) && (
        <p className="task-why tone-red">
          {attempt?.error ?? task.error}
          <CopyButton text={attempt?.error ?? task.error ?? ""} what="Copy error" />
        </p>
      )}
      {failed.length > 0 && task.cell_count > 1 && (
        <p className="task-why quiet">
          {count(failed.length)} of {count(task.cell_count)} cells failed:{" "}
          {failed
            .slice(0, 5)
            .map((cell) => cell.partition)
            .join(", ")}
        </p>
      )}
      {attempt ? (
        <LogPanel
          key={attempt.id}
          attemptId={attempt.id}
          open={attempt.finished_at === null}
          line={search.line ? Number(search.line) : null}
          search={search.q ?? ""}
          level={search.level ?? ""}
          onLine={(line) => onPatch({ line: String(line), attempt: String(attempt.id) })}
          onSearch={(q) => onPatch({ q: q || undefined })}
          onLevel={(level) => onPatch({ level: level || undefined })}
        />
      ) : (
        <p className="task-why quiet">
          {task.outcome_text ? "Nothing ran, so there is no log." : "No attempt has started, so there is no log yet."}
        </p>
      )}
    </>
  );
}
