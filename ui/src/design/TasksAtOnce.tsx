// The field of how many tasks are active at once. Empty: no limit.

type Props = {
  value: string;
  onChange: (value: string) => void;
  /** The label above the field instead of beside it. */
  above?: boolean;
  /** It appeared because of a press: the focus goes here. */
  first?: boolean;
};

export function TasksAtOnce({ value, onChange, above = false, first = false }: Props) {
  return (
    <label
      className={above ? undefined : "row"}
      data-tip="At most so many of its tasks at once. Empty: as many as the pools admit."
    >
      <span className="quiet">Tasks at once</span>
      <input
        className={`field ${above ? "" : "number"}`}
        inputMode="numeric"
        placeholder="no limit"
        data-testid="max-active"
        value={value}
        // biome-ignore lint/a11y/noAutofocus: the field appeared because of a press; focus stays where the hand is
        autoFocus={first}
        onChange={(event) => onChange(event.target.value.replace(/\D/g, ""))}
      />
    </label>
  );
}

/** What a text of the field means; nought is no limit that anybody wants. */
export function limitOf(text: string): number | null {
  return Number(text) || null;
}
