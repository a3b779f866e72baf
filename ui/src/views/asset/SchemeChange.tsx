// What became of the cells when the partition scheme changed, and the choice that follows. What each choice makes of how many
// cells is shown first; the button repeats the count. In place, no dialog.
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { post } from "../../api/client";
import { schemePreview } from "../../api/queries";
import type { AssetDetail, SchemeChoice, SchemeDone, SchemePreview } from "../../api/types";
import { CopyButton } from "../../design/Copy";
import { Loaded, Problem, Skeleton } from "../../design/Feedback";
import { Time } from "../../design/Time";
import { count, plural } from "../../lib/format";

const CHOICES: Record<SchemeChoice, string> = {
  keep: "Cells with the same key and window stay; what an earlier scheme left comes back where it fits.",
  derive: "Missing windows that former cells fill exactly are put together of them. No data is copied.",
  restart: "Every cell is set aside, so that all partitions are made again. Keep takes it back.",
};

export const isSchemeChoice = (text: string | undefined): text is SchemeChoice => text !== undefined && text in CHOICES;

type Props = { asset: AssetDetail; choice: SchemeChoice | null; onChoice: (choice: SchemeChoice | null) => void };

export function SchemeChange({ asset, choice, onChoice }: Props) {
  const [done, setDone] = useState<SchemeDone | null>(null);
  if (choice !== null)
    return (
      <Choose
        assetKey={asset.key}
        choice={choice}
        onChoice={onChoice}
        onDone={(told) => {
          setDone(told);
          onChoice(null);
        }}
      />
    );
  if (asset.set_aside.length === 0 && done === null) return null;
  return (
    <div className="scheme-line" data-testid="scheme-change" role={done ? "status" : undefined}>
      <p className="mid grow">
        {done && (
          <>
            Done: {done.sentence}
            {done.cancelled > 0 && `; ${plural(done.cancelled, "task")} cancelled`}.{" "}
          </>
        )}
        {asset.set_aside.map((one) => (
          <span key={`${one.scheme}${one.present}`}>
            {plural(one.cells, "cell")} {one.present ? "of the present scheme" : `made as ${one.scheme}`}{" "}
            {one.cells === 1 ? "is" : "are"} set aside since <Time at={one.moved_at} />.{" "}
          </span>
        ))}
      </p>
      <button type="button" className="btn small" onClick={() => onChoice("derive")}>
        Choose what becomes of them…
      </button>
    </div>
  );
}

type ChooseProps = {
  assetKey: string;
  choice: SchemeChoice;
  onChoice: (choice: SchemeChoice | null) => void;
  onDone: (done: SchemeDone) => void;
};

function Choose({ assetKey, choice, onChoice, onDone }: ChooseProps) {
  const query = useQuery(schemePreview(assetKey, choice));
  const again = () => void query.refetch();
  return (
    <section className="accept" data-testid="scheme-choice" aria-label="Changed partition scheme">
      <p>
        The partition scheme of <span className="mono">{assetKey}</span> changed. What becomes of the cells made before?
      </p>
      <Loaded query={query} skeleton={<Skeleton rows={4} />}>
        {(shown) => (
          <>
            <Choices shown={shown} choice={choice} onChoice={onChoice} />
            <Confirm
              key={choice}
              assetKey={assetKey}
              shown={shown}
              current={!query.isPlaceholderData && shown.chosen.choice === choice}
              onAgain={again}
              onClose={() => onChoice(null)}
              onDone={onDone}
            />
          </>
        )}
      </Loaded>
    </section>
  );
}

type ChoicesProps = { shown: SchemePreview; choice: SchemeChoice; onChoice: (choice: SchemeChoice) => void };

function Choices({ shown, choice, onChoice }: ChoicesProps) {
  return (
    <table className="table scheme-choices">
      <thead>
        <tr>
          <th>Choice</th>
          <th className="num">Stay</th>
          <th className="num">Come back</th>
          <th className="num">Derived</th>
          <th className="num">Set aside</th>
          <th className="num">Missing after</th>
        </tr>
      </thead>
      <tbody>
        {shown.choices.map((one) => (
          <tr key={one.choice} data-testid="scheme-option" data-choice={one.choice}>
            <td>
              <label className="check">
                <input
                  type="radio"
                  name="scheme-choice"
                  checked={one.choice === choice}
                  onChange={() => onChoice(one.choice)}
                />
                <span className="scheme-name">{one.choice}</span>
                <span className="quiet">
                  {CHOICES[one.choice]}
                  {one.why && ` Nothing can be derived: ${one.why}.`}
                </span>
              </label>
            </td>
            <td className="num">{count(one.kept)}</td>
            <td className="num">{count(one.back)}</td>
            <td className="num" data-tip={one.derived > 0 ? `of ${plural(one.parts, "former cell")}` : undefined}>
              {count(one.derived)}
            </td>
            <td className="num">{count(one.aside)}</td>
            <td className="num">{count(one.missing)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

type ConfirmProps = {
  assetKey: string;
  shown: SchemePreview;
  current: boolean;
  onAgain: () => void;
  onClose: () => void;
  onDone: (done: SchemeDone) => void;
};

function Confirm({ assetKey, shown, current, onAgain, onClose, onDone }: ConfirmProps) {
  const client = useQueryClient();
  const { chosen } = shown;
  const apply = useMutation({
    mutationFn: () =>
      post<SchemeDone>("/scheme", { request: { key: assetKey, choice: chosen.choice }, hash: shown.hash }),
    onSuccess: (done) => {
      onDone(done);
      client.removeQueries({ queryKey: ["scheme"] });
      return client.invalidateQueries();
    },
  });
  const word = verbOf(chosen);
  return (
    <>
      {chosen.open > 0 && (
        <p className="tone-amber">Work under way on {count(chosen.open)} of these cells is cancelled.</p>
      )}
      <p className="row wrap">
        {current && word !== null && (
          <button
            type="button"
            className={chosen.choice === "restart" ? "btn danger" : "btn primary"}
            data-testid="confirm-scheme"
            aria-busy={apply.isPending}
            onClick={() => !apply.isPending && apply.mutate()}
          >
            {word}
          </button>
        )}
        {current && word === null && <span className="quiet">Every cell stands as this choice wants it.</span>}
        <button type="button" className="btn" onClick={onClose}>
          Leave cells as they are
        </button>
        <span className="grow" />
        <CopyButton text={`partita assets scheme '${assetKey}' --${chosen.choice}`} what="Copy as CLI" label />
      </p>
      {apply.error && (
        <Problem error={apply.error}>
          <button type="button" className="btn small" onClick={onAgain}>
            Look again
          </button>
        </Problem>
      )}
    </>
  );
}

/** What the button does, with its count; null when there is nothing to do. */
function verbOf(chosen: SchemePreview["chosen"]): string | null {
  const done = [
    chosen.derived > 0 && `derive ${plural(chosen.derived, "cell")}`,
    chosen.back > 0 && `bring ${plural(chosen.back, "cell")} back`,
    chosen.aside > 0 && `set ${plural(chosen.aside, "cell")} aside`,
  ].filter(Boolean);
  const text = done.join(", ");
  return text ? text[0]?.toUpperCase() + text.slice(1) : null;
}
