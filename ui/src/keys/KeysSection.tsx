// The keys of one dynamic scheme: a page of them, those that are no more, and the way to add and remove.
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { dynamicKeys } from "../api/queries";
import type { KeyPage } from "../api/types";
import { Command, Loaded } from "../design/Feedback";
import { Icon } from "../design/Icon";
import { Pager } from "../design/Pager";
import { SearchField } from "../design/SearchField";
import { Time } from "../design/Time";
import { count, plural } from "../lib/format";
import { KeysDialog } from "./KeysDialog";
import "./keys.css";

const PAGE = 50;

type Props = { scheme: string; onOpen?: (key: string) => void };

export function KeysSection({ scheme, onOpen }: Props) {
  const [page, setPage] = useState(0);
  const [search, setSearch] = useState("");
  const [ended, setEnded] = useState(false);
  const [picked, setPicked] = useState<ReadonlySet<string>>(new Set());
  const [dialog, setDialog] = useState<"add" | "remove" | null>(null);
  const query = useQuery(dynamicKeys(scheme, { ended, search: search || undefined, offset: page * PAGE, limit: PAGE }));
  const turn = (to: boolean) => {
    setEnded(to);
    setPage(0);
    setPicked(new Set());
  };
  const done = () => {
    setDialog(null);
    setPicked(new Set());
  };
  return (
    <section className="section" data-testid="keys">
      <header className="keys-head">
        <h2>Keys</h2>
        <span className="quiet grow">
          <span className="mono">{scheme}</span>
          {query.data && `, ${count(query.data.scheme.present)} of at most ${count(query.data.scheme.cap)}`}
        </span>
        {/* In the place of the search: a button more would move the table under the pointer. */}
        {picked.size > 0 ? (
          <button type="button" className="btn danger" data-testid="remove-keys" onClick={() => setDialog("remove")}>
            Remove {plural(picked.size, "key")}
          </button>
        ) : (
          <SearchField
            value={search}
            onValue={(text) => {
              setSearch(text);
              setPage(0);
            }}
            placeholder="Find a key"
            width={180}
            mono
          />
        )}
        <span className="segmented">
          <button type="button" aria-pressed={!ended} onClick={() => turn(false)}>
            Present
          </button>
          <button type="button" aria-pressed={ended} onClick={() => turn(true)}>
            Ended
          </button>
        </span>
        <button type="button" className="btn" data-testid="add-keys" onClick={() => setDialog("add")}>
          <Icon name="plus" size={12} />
          Add keys
        </button>
      </header>
      <Loaded query={query}>
        {(found) =>
          found.total === 0 ? (
            <Nothing scheme={scheme} search={search} ended={ended} />
          ) : (
            <>
              <Rows found={found} ended={ended} picked={picked} onPick={setPicked} onOpen={onOpen} />
              <Pager page={page} size={PAGE} total={found.total} onPage={setPage} what="keys" />
            </>
          )
        }
      </Loaded>
      {dialog && (
        <KeysDialog
          verb={dialog}
          scheme={scheme}
          keys={dialog === "remove" ? [...picked] : []}
          onClose={() => setDialog(null)}
          onDone={done}
        />
      )}
    </section>
  );
}

function Nothing({ scheme, search, ended }: { scheme: string; search: string; ended: boolean }) {
  if (search) return <p className="quiet">No key contains “{search}”.</p>;
  if (ended) return <p className="quiet">No key was removed or has expired.</p>;
  return (
    <p className="mid">
      No keys yet: add the first, here or with <Command text={`partita partitions add ${scheme} KEY`} />
    </p>
  );
}

type RowsProps = {
  found: KeyPage;
  ended: boolean;
  picked: ReadonlySet<string>;
  onPick: (picked: ReadonlySet<string>) => void;
  onOpen?: (key: string) => void;
};

function Rows({ found, ended, picked, onPick, onOpen }: RowsProps) {
  const toggle = (keys: string[], on: boolean) => {
    const next = new Set(picked);
    for (const key of keys) on ? next.add(key) : next.delete(key);
    onPick(next);
  };
  const shown = found.items.map((item) => item.key);
  return (
    <table className="table keys-table">
      <thead>
        <tr>
          {!ended && (
            <th className="keys-pick">
              <input
                type="checkbox"
                aria-label="Select the keys of this page"
                checked={shown.every((key) => picked.has(key))}
                onChange={(event) => toggle(shown, event.target.checked)}
              />
            </th>
          )}
          <th>Key</th>
          <th>Added</th>
          <th>By</th>
          <th>{ended ? "Ended" : "Expires"}</th>
          {ended && <th>How</th>}
          <th>Metadata</th>
        </tr>
      </thead>
      <tbody>
        {found.items.map((item) => (
          <tr key={`${item.key} ${item.added_at}`}>
            {!ended && (
              <td className="keys-pick">
                <input
                  type="checkbox"
                  aria-label={`Select ${item.key}`}
                  checked={picked.has(item.key)}
                  onChange={(event) => toggle([item.key], event.target.checked)}
                />
              </td>
            )}
            <td>
              {onOpen ? (
                <button type="button" className="link-button key" onClick={() => onOpen(item.key)}>
                  {item.key}
                </button>
              ) : (
                <span className="key">{item.key}</span>
              )}
            </td>
            <td>
              <Time at={item.added_at} />
            </td>
            <td className="mid">{item.added_by}</td>
            <td>
              <Time at={ended ? item.ended_at : item.expires_at} />
            </td>
            {ended && (
              <td className="mid">{item.ended_by === "ttl" ? "time to live" : `removed by ${item.ended_by}`}</td>
            )}
            <td className="mid keys-metadata">
              {Object.entries(item.metadata)
                .map(([name, value]) => `${name}=${value}`)
                .join(", ")}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
