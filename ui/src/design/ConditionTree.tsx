// The tree of a condition: what each part says, and whether it holds.
import type { ConditionPart } from "../api/types";
import { StateGlyph } from "./StateGlyph";
import "./condition.css";

export function ConditionTree({ part }: { part: ConditionPart }) {
  return (
    <ul className="condition">
      <li>
        <span className="row">
          <StateGlyph state={part.holds ? "fresh" : "missing"} />
          <code>{part.text}</code>
          <span className="visually-hidden">{part.holds ? "holds" : "does not hold"}</span>
        </span>
        {part.parts.map((one, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a condition keep their places
          <ConditionTree key={at} part={one} />
        ))}
      </li>
    </ul>
  );
}
