// The params of a request as a form: one field for each that the planned assets take. Changing them plans again.
import { useQuery } from "@tanstack/react-query";
import { useId, useState } from "react";
import { paramFields } from "../api/queries";
import type { ParamField } from "../api/types";
import { type PlanSearch, paramsOf, requestFrom } from "./request";

type Props = { search: PlanSearch; onChange: (change: PlanSearch) => void; first?: boolean };
type Typed = Record<string, string>;

/** `first`: nothing is planned yet, and the button says so. */
export function Params({ search, onChange, first = false }: Props) {
  const given = paramsOf(search);
  const fields = useQuery({
    ...paramFields(JSON.stringify({ ...requestFrom(search), params: {} })),
    enabled: Boolean(search.selection),
  });
  const [typed, setTyped] = useState<Typed>(() =>
    Object.fromEntries(Object.entries(given).map(([name, value]) => [name, shown(value)])),
  );
  const list = fields.data ?? [];
  if (list.length === 0) return null;
  const next = valuesOf(list, typed);
  const changed = JSON.stringify(next) !== JSON.stringify(valuesOf(list, textsOf(given)));
  return (
    <form
      className="stack"
      aria-label="Params"
      data-testid="params"
      onSubmit={(event) => {
        event.preventDefault();
        onChange({ params: Object.keys(next).length > 0 ? JSON.stringify(next) : undefined });
      }}
    >
      <h3>Params</h3>
      {list.map((field) => (
        <Field
          key={field.name}
          field={field}
          value={typed[field.name] ?? ""}
          onValue={(value) => setTyped((before) => ({ ...before, [field.name]: value }))}
        />
      ))}
      {(changed || first) && (
        <button type="submit" className={`btn ${first ? "primary" : ""}`} data-testid="apply-params">
          {first ? "Preview plan" : "Plan again with these params"}
        </button>
      )}
    </form>
  );
}

function shown(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

function textsOf(params: Record<string, unknown>): Typed {
  return Object.fromEntries(Object.entries(params).map(([name, value]) => [name, shown(value)]));
}

/** An empty field is left to its default; a text that is no value of its type goes as it is, and the API says what is wrong. */
function valuesOf(fields: ParamField[], typed: Typed): Record<string, unknown> {
  const given = fields.filter((field) => (typed[field.name] ?? "").trim() !== "");
  return Object.fromEntries(given.map((field) => [field.name, typedValue(field, typed[field.name])]));
}

function typedValue(field: ParamField, text: string): unknown {
  if (field.type === "string") return text;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function Field({ field, value, onValue }: { field: ParamField; value: string; onValue: (value: string) => void }) {
  const id = useId();
  const byDefault = field.required ? "needed" : `${shown(field.default ?? null)} unless given`;
  const choices = field.type === "boolean" ? ["true", "false"] : field.choices;
  const tip = [field.description, `Taken by ${field.assets.join(", ")}`].filter(Boolean).join("\n");
  return (
    <div className="param" data-testid="param" data-name={field.name}>
      <label className="mono param-name" htmlFor={id} data-tip={tip}>
        {field.name}
      </label>
      {choices ? (
        <select id={id} className="field" value={value} onChange={(event) => onValue(event.target.value)}>
          <option value="">{byDefault}</option>
          {choices.map((choice) => (
            <option key={choice}>{choice}</option>
          ))}
        </select>
      ) : (
        <input
          id={id}
          className="field mono"
          placeholder={byDefault}
          required={field.required}
          inputMode={field.type === "integer" ? "numeric" : field.type === "number" ? "decimal" : undefined}
          value={value}
          onChange={(event) => onValue(event.target.value)}
        />
      )}
    </div>
  );
}
