// The list twin of the strip: every partition with its state in words, a page at a time, filtered by state.
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { partitions } from "../../api/queries";
import type { AssetDetail } from "../../api/types";
import { Loaded } from "../../design/Feedback";
import { Pager } from "../../design/Pager";
import { StateChip, StateCounts } from "../../design/StateChip";
import { Time } from "../../design/Time";
import { useZone } from "../../lib/clock";
import { partitionLabel, shortHash, wall } from "../../lib/format";

const PAGE = 100;

type Props = {
  asset: AssetDetail;
  state: string | undefined;
  onState: (state: string | null) => void;
  onOpen: (partition: string) => void;
};

export function PartitionList({ asset, state, onState, onOpen }: Props) {
  const [page, setPage] = useState(0);
  const zone = useZone();
  const timed = asset.partitions.tz !== null;
  const query = useQuery(partitions(asset.key, { state, offset: page * PAGE, limit: PAGE }));
  return (
    <div className="stack">
      <StateCounts
        counts={asset.counts}
        active={state}
        label="Filter by state"
        onPick={(next) => {
          setPage(0);
          onState(next);
        }}
      />
      <Loaded query={query}>
        {(found) => (
          <>
            <table className="table">
              <thead>
                <tr>
                  <th>Partition</th>
                  {timed && <th>Covers from</th>}
                  {timed && <th>Due at</th>}
                  <th>State</th>
                  <th>Reason</th>
                  <th>Version</th>
                  <th>Published</th>
                </tr>
              </thead>
              <tbody>
                {found.items.map((item) => (
                  <tr key={item.partition} className="go" onClick={() => onOpen(item.partition)}>
                    <td>
                      <button type="button" className="link-button key" onClick={() => onOpen(item.partition)}>
                        {partitionLabel(item.partition, asset.partitions_kind === "multi")}
                      </button>
                    </td>
                    {timed && <td>{item.window_start && wall(item.window_start, zone)}</td>}
                    {timed && <td>{item.due_at && wall(item.due_at, zone)}</td>}
                    <td>
                      <StateChip state={item.state} />
                    </td>
                    <td className="mid">{item.reason}</td>
                    <td className="mono">{shortHash(item.data_version)}</td>
                    <td>
                      <Time at={item.published_at} />
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
            <Pager page={page} size={PAGE} total={found.total} onPage={setPage} what="partitions" />
          </>
        )}
      </Loaded>
    </div>
  );
}
