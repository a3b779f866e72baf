// Copies text and says so in place. Works without the async clipboard too (plain http on another host has none).
import { useEffect, useState } from "react";
import { Icon } from "./Icon";

async function copy(text: string): Promise<void> {
  if (navigator.clipboard && window.isSecureContext) return navigator.clipboard.writeText(text);
  const area = document.createElement("textarea");
  area.value = text;
  area.style.position = "fixed";
  area.style.opacity = "0";
  document.body.append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
}

export function CopyButton({ text, what, label = false }: { text: string; what: string; label?: boolean }) {
  const [done, setDone] = useState(false);
  useEffect(() => {
    if (!done) return;
    const timer = window.setTimeout(() => setDone(false), 1500);
    return () => window.clearTimeout(timer);
  }, [done]);
  return (
    <button
      type="button"
      className={`btn bare small${label ? "" : " icon"}`}
      aria-label={label ? undefined : what}
      data-tip={label ? undefined : what}
      onClick={(event) => {
        event.stopPropagation();
        void copy(text).then(() => setDone(true));
      }}
    >
      <Icon name={done ? "check" : "copy"} size={14} />
      {label && (done ? "Copied" : what)}
    </button>
  );
}
