// Assets × tasks as cells: the shape of a run at a glance. Drawn only while it fits the page's element budget.
import type { TaskRow } from "../../api/types";
import { CellMark } from "../../design/StateGlyph";
import { lookKey, wordOf } from "../../design/states";
import { MAX_CELLS } from "../../strip/zoom";
import { taskState } from "./TaskList";

type Props = { tasks: TaskRow[]; chosen: number | null; onSelect: (task: number) => void };

export function TaskGrid({ tasks, chosen, onSelect }: Props) {
  if (tasks.length < 2 || tasks.length > MAX_CELLS) return null;
  const steps = new Map<string, TaskRow[]>();
  for (const task of tasks) steps.set(task.step, [...(steps.get(task.step) ?? []), task]);
  return (
    <div className="task-grid" data-testid="task-grid">
      {[...steps].map(([step, row]) => (
        <div key={step} className="task-grid-row">
          <span className="key" data-tip={step}>
            {step}
          </span>
          <div>
            {row.map((task) => (
              <button
                key={task.id}
                type="button"
                tabIndex={-1}
                className="cell"
                data-state={lookKey(taskState(task))}
                data-open={chosen === task.id ? "" : undefined}
                aria-label={`${step} ${task.partitions_text}, ${wordOf(taskState(task))}`}
                data-tip={`${task.partitions_text || step}\n${wordOf(taskState(task))}${[task.outcome_text ?? task.reason?.text].filter(Boolean).map((text) => `: ${text}`)}`}
                onClick={() => onSelect(task.id)}
              >
                <CellMark state={taskState(task)} />
              </button>
            ))}
          </div>
        </div>
      ))}
    </div>
  );
}
