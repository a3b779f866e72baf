// The command palette: views, assets, recent runs, and a few verbs. Ranked by how early and how tightly the text matches.
import { useQuery } from "@tanstack/react-query";
import { useNavigate, useRouter } from "@tanstack/react-router";
import { useEffect, useId, useRef, useState } from "react";
import { assets, summary } from "../api/queries";
import type { Counts } from "../api/types";
import { Icon, type IconName } from "../design/Icon";
import { MiniBar } from "../design/StateChip";
import { StateGlyph } from "../design/StateGlyph";
import { Dialog } from "./Dialog";
import { JUMPS } from "./keys";
import { matchScore } from "./match";
import { setTheme } from "./theme";

type Item = {
  id: string;
  text: string;
  hint: string;
  icon?: IconName;
  state?: string;
  counts?: Counts;
  mono?: boolean;
  go: () => void;
};

const LIMIT = 40;

function useItems(): Item[] {
  const navigate = useNavigate();
  const router = useRouter();
  const found = useQuery(assets());
  const recent = useQuery(summary());
  const views: Item[] = Object.values(JUMPS).map(({ to, label }) => ({
    id: to,
    text: label,
    hint: "View",
    icon: "right",
    go: () => void navigate({ to }),
  }));
  const verbs: Item[] = (["light", "dark", "system"] as const).map((theme) => ({
    id: `theme-${theme}`,
    text: `Switch to the ${theme} theme`,
    hint: "Command",
    icon: "auto",
    go: () => setTheme(theme),
  }));
  const keyed: Item[] = (found.data?.assets ?? []).map((asset) => ({
    id: `asset-${asset.id}`,
    text: asset.key,
    hint: asset.group ?? asset.location,
    counts: asset.counts,
    mono: true,
    go: () => void navigate({ to: "/asset", search: { key: asset.key } }),
  }));
  const runs = [...(recent.data?.running_runs ?? []), ...(recent.data?.recent_runs ?? [])];
  const seen = new Set<number>();
  const runItems: Item[] = runs
    .filter((run) => !seen.has(run.id) && seen.add(run.id))
    .map((run) => ({
      id: `run-${run.id}`,
      text: `Run ${run.id}: ${run.cause.text}`,
      hint: "Run",
      state: run.state,
      go: () => void router.navigate({ to: "/runs/$runId", params: { runId: String(run.id) } }),
    }));
  return [...views, ...keyed, ...runItems, ...verbs];
}

export function Palette({ onClose }: { onClose: () => void }) {
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const listId = useId();
  const list = useRef<HTMLDivElement>(null);
  const items = useItems();
  const shown = items
    .map((item) => ({ item, score: matchScore(item.text, text) }))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score)
    .slice(0, LIMIT)
    .map(({ item }) => item);
  const index = Math.min(at, Math.max(0, shown.length - 1));

  useEffect(() => {
    list.current?.querySelector(`[data-index="${index}"]`)?.scrollIntoView({ block: "nearest" });
  }, [index]);

  const pick = (item: Item) => {
    onClose();
    item.go();
  };
  return (
    <Dialog label="Search" onClose={onClose} className="palette">
      <div className="palette-head">
        <Icon name="search" />
        <input
          role="combobox"
          aria-expanded="true"
          aria-controls={listId}
          aria-activedescendant={shown[index] ? `${listId}-${index}` : undefined}
          aria-label="Search assets, runs and views"
          data-testid="palette-input"
          placeholder="Search assets, runs, views, commands"
          value={text}
          onChange={(event) => {
            setText(event.target.value);
            setAt(0);
          }}
          onKeyDown={(event) => {
            if (event.key === "ArrowDown") setAt(Math.min(index + 1, shown.length - 1));
            else if (event.key === "ArrowUp") setAt(Math.max(index - 1, 0));
            else if (event.key === "Enter" && shown[index]) pick(shown[index]);
            else return;
            event.preventDefault();
          }}
        />
        <kbd>Esc</kbd>
      </div>
      <div className="palette-list" role="listbox" id={listId} ref={list} aria-label="Results">
        {shown.map((item, i) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the combobox above owns the keyboard
          <div
            key={item.id}
            id={`${listId}-${i}`}
            data-index={i}
            role="option"
            tabIndex={-1}
            aria-selected={i === index}
            className="palette-item"
            onClick={() => pick(item)}
            onPointerMove={() => setAt(i)}
          >
            {item.state ? <StateGlyph state={item.state} /> : <Icon name={item.icon ?? "table"} size={14} />}
            <span className={item.mono ? "key grow" : "grow"}>{item.text}</span>
            {item.counts && (
              <span style={{ width: 72 }}>
                <MiniBar counts={item.counts} />
              </span>
            )}
            <span className="quiet hint">{item.hint}</span>
          </div>
        ))}
        {shown.length === 0 && <p className="palette-none quiet">Nothing matches “{text}”.</p>}
      </div>
    </Dialog>
  );
}
