// What a task asks a person: the question, until when, and the two answers. In place, no dialog; a rejection says why.
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { post } from "../../api/client";
import { answerPreview } from "../../api/queries";
import type { AnswerDone, AnswerPreview } from "../../api/types";
import { CopyButton } from "../../design/Copy";
import { Loaded, Problem, Skeleton } from "../../design/Feedback";
import { StateGlyph } from "../../design/StateGlyph";
import { Time } from "../../design/Time";
import { reasonOption } from "../../lib/shell";

type Verb = AnswerPreview["verb"];

export function Answer({ taskId }: { taskId: number }) {
  const [verb, setVerb] = useState<Verb>("approve");
  const query = useQuery(answerPreview(taskId, verb));
  return (
    <section className="answer" data-testid="answer" aria-label="A person is asked">
      <Loaded query={query} skeleton={<Skeleton rows={3} />}>
        {(shown) => <Form shown={shown} verb={verb} onVerb={setVerb} onAgain={() => void query.refetch()} />}
      </Loaded>
    </section>
  );
}

type Props = { shown: AnswerPreview; verb: Verb; onVerb: (verb: Verb) => void; onAgain: () => void };

function Form({ shown, verb, onVerb, onAgain }: Props) {
  const [note, setNote] = useState("");
  const client = useQueryClient();
  const answer = useMutation({
    mutationFn: () =>
      post<AnswerDone>("/approvals", { verb, questions: shown.questions.map((one) => one.id), note: note.trim() }),
    onSuccess: () => client.invalidateQueries({ predicate: (one) => one.queryKey[0] !== "answer" }),
  });
  const rejecting = verb === "reject";
  const ready = !rejecting || note.trim() !== "";
  const quoted = reasonOption(note.trim() || (rejecting ? "why" : ""));
  const task = shown.questions[0]?.task;
  return (
    <form
      className="stack"
      aria-label="Answer"
      onSubmit={(event) => {
        event.preventDefault();
        if (ready && !answer.isPending) answer.mutate();
      }}
    >
      <ul>
        {shown.questions.map((one) => (
          <li key={one.id} className="row wrap" data-testid="question">
            <StateGlyph state="awaiting_input" size={14} />
            <strong className="grow">{one.question}</strong>
            <span className="quiet">
              asked <Time at={one.since} />, fails <Time at={one.until} /> without an answer
            </span>
          </li>
        ))}
      </ul>
      <p className="quiet" data-testid="answer-preview">
        {shown.sentence}
      </p>
      <label className="row">
        <span className="quiet">{rejecting ? "Why not" : "Note"}</span>
        <input
          className="field grow"
          data-testid="answer-note"
          value={note}
          maxLength={2000}
          placeholder={rejecting ? "Becomes the error of the task" : "Handed to the step; may be left out"}
          onChange={(event) => setNote(event.target.value)}
        />
      </label>
      <p className="row wrap">
        {rejecting ? (
          <>
            <button
              type="submit"
              className="btn small danger"
              data-testid="confirm-reject-task"
              disabled={!ready}
              data-tip={ready ? undefined : "Say why first: it is read later"}
              aria-busy={answer.isPending}
            >
              Reject task {task}
            </button>
            <button type="button" className="btn small" onClick={() => onVerb("approve")}>
              Back
            </button>
          </>
        ) : (
          <>
            <button type="submit" className="btn small primary" data-testid="approve-task" aria-busy={answer.isPending}>
              Approve task {task}
            </button>
            <button type="button" className="btn small" data-testid="reject-task" onClick={() => onVerb("reject")}>
              Reject…
            </button>
          </>
        )}
        <span className="grow" />
        <CopyButton text={`partita ${verb} ${task}${quoted}`} what="Copy as CLI" />
      </p>
      {answer.error && (
        <Problem error={answer.error}>
          <button type="button" className="btn small" onClick={onAgain}>
            Look again
          </button>
        </Problem>
      )}
    </form>
  );
}
