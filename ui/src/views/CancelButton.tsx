// Cancelling asks once, in place: what will stop, why, and the way back.
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { post } from "../api/client";
import { cancelPreview } from "../api/queries";
import { Icon } from "../design/Icon";
import { Confirm } from "./Confirm";

type Props = { path: string; noun: "run" | "task" | "backfill"; what: string; testid: string; small?: boolean };

export function CancelButton({ path, noun, what, testid, small = false }: Props) {
  const [asking, setAsking] = useState(false);
  if (asking) return <Asked path={path} noun={noun} what={what} testid={testid} onClose={() => setAsking(false)} />;
  return (
    <button
      type="button"
      className={`btn danger ${small ? "small" : ""}`}
      data-testid={testid}
      onClick={() => setAsking(true)}
    >
      <Icon name="stop" size={14} />
      Cancel {noun}
    </button>
  );
}

function Asked({ path, noun, what, testid, onClose }: Omit<Props, "small"> & { onClose: () => void }) {
  const preview = useQuery(cancelPreview(path));
  return (
    <Confirm
      label={`Cancel ${what}`}
      sentence={preview.data?.sentence ?? null}
      keep={`Keep ${noun}`}
      danger
      cli={preview.data?.cli}
      testid={testid}
      error={preview.error}
      onAgain={() => void preview.refetch()}
      onDo={(reason) => post(path, { reason })}
      onClose={onClose}
    />
  );
}
