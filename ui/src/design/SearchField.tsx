// A search field whose value lives elsewhere (the URL): typing is local at once, and reported when it settles.
import { useEffect, useState } from "react";
import { Icon } from "./Icon";

type Props = {
  value: string;
  onValue: (text: string) => void;
  placeholder: string;
  testid?: string;
  width?: number;
  mono?: boolean;
  tip?: string;
};

const SETTLE_MS = 180;

export function SearchField({ value, onValue, placeholder, testid, width = 220, mono, tip }: Props) {
  const [typed, setTyped] = useState<string | null>(null);
  useEffect(() => {
    if (typed === null) return;
    if (typed === value) return setTyped(null);
    const timer = window.setTimeout(() => onValue(typed), SETTLE_MS);
    return () => window.clearTimeout(timer);
  }, [typed, value, onValue]);
  return (
    <span className="searchbox" style={{ width }} data-tip={tip}>
      <Icon name="search" size={14} />
      <input
        type="search"
        className={`field${mono ? " mono" : ""}`}
        aria-label={placeholder}
        placeholder={placeholder}
        data-testid={testid}
        spellCheck={false}
        value={typed ?? value}
        onChange={(event) => setTyped(event.target.value)}
        onKeyDown={(event) => event.key === "Enter" && typed !== null && onValue(typed)}
      />
    </span>
  );
}
