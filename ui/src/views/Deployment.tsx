// What a version changes: a candidate that waits or is refused against the active one, else the last activation.
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { locationDiff } from "../api/queries";
import type { LocationDiff } from "../api/types";
import { CopyButton } from "../design/Copy";
import { Loaded, Skeleton } from "../design/Feedback";
import { StateGlyph } from "../design/StateGlyph";
import { shortHash } from "../lib/format";

type Changed = LocationDiff["assets"][number];

const KINDS: Record<Changed["kind"], { state: string; word: string }> = {
  added: { state: "fresh", word: "added" },
  removed: { state: "cancelled", word: "removed" },
  changed: { state: "stale", word: "changed" },
  settings: { state: "unchanged", word: "settings" },
  below: { state: "upstream_stale", word: "below" },
};

export function Deployment({ location }: { location: string }) {
  const query = useQuery(locationDiff(location));
  return (
    <div className="module" data-testid="deployment" data-waiting={query.data?.waiting}>
      <Loaded query={query} skeleton={<Skeleton rows={2} />}>
        {(diff) => <Diff diff={diff} />}
      </Loaded>
    </div>
  );
}

function Diff({ diff }: { diff: LocationDiff }) {
  const refused = diff.waiting && diff.problems.length > 0;
  return (
    <>
      <p className="row wrap">
        <strong className={refused ? "tone-red" : undefined}>
          {refused ? "The new version is refused" : diff.waiting ? "A new version waits" : "Last activation"}
        </strong>
        <span className="quiet">
          {diff.against && (
            <span className="mono" data-tip={diff.against}>
              {shortHash(diff.against)}
            </span>
          )}
          {diff.against && " → "}
          {diff.version && (
            <span className="mono" data-tip={diff.version}>
              {shortHash(diff.version)}
            </span>
          )}
        </span>
        <span className="grow">{diff.sentence}</span>
        {diff.problems.length > 0 && <CopyButton text={diff.problems.join("\n")} what="Copy problems" label />}
      </p>
      {diff.problems.map((problem) => (
        <p key={problem} className="tone-red row">
          <StateGlyph state="failed" />
          <span className="grow">{problem}</span>
        </p>
      ))}
      {(diff.assets.length > 0 || diff.checks.length > 0) && (
        <ul className="diff-assets">
          {diff.assets.map((one) => (
            <Row key={`${one.kind}${one.key}`} one={one} waiting={diff.waiting} />
          ))}
          {diff.renames.map((one) => (
            <li key={`${one.before}${one.after}`} className="quiet">
              <span className="mono">{one.before}</span> is likely <span className="mono">{one.after}</span> now (
              {one.because}); as it stands, its history stays behind.
            </li>
          ))}
          {diff.checks.map((check) => (
            <li key={check} className="quiet">
              Check {check}
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

function Row({ one, waiting }: { one: Changed; waiting: boolean }) {
  const kind = KINDS[one.kind];
  return (
    <li data-testid="diff-asset" data-kind={one.kind}>
      <p className="row">
        <StateGlyph state={kind.state} />
        <span className="diff-kind">{kind.word}</span>
        {one.kind === "removed" || one.kind === "added" ? (
          <span className="mono">{one.key}</span>
        ) : (
          <Link className="link mono" to="/asset" search={{ key: one.key }}>
            {one.key}
          </Link>
        )}
        {one.partitions && !waiting && (
          <Link className="link" to="/asset" search={{ key: one.key, scheme: "derive" }}>
            Choose what becomes of its cells
          </Link>
        )}
      </p>
      {one.lines.map((line) => (
        <p key={line} className="quiet diff-line">
          {line}
        </p>
      ))}
    </li>
  );
}
