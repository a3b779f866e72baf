"""Translates between the wire's messages and the frames of attempt processes.

Owns the mapping, and the cleaning of what user code may have put into texts. Refuses I/O. Frames come from a process that
ran user code, so nothing in them is trusted to be of the right type or size.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from partita.grpc.limits import MAX_LINE_CHARS, MAX_METADATA_BYTES
from partita.grpc.server.frames import Frame, FrameError
from partita.grpc.server.lines import clean_text
from partita.grpc.v1 import code_location_pb2 as pb

MAX_TRACEBACK_CHARS = 64 * 1024
MAX_EVALUATED_BYTES = 8 * 1024 * 1024
"""Above what the SDK refuses: user code can reach the channel."""


def request_frame(request: pb.ExecuteRequest) -> Frame:
    """The request as the runner reads it (`runner.request_of`)."""
    return {
        "attempt_id": request.attempt_id,
        "step": request.step,
        "attempt_number": request.attempt_number,
        "run_id": request.run_id,
        "fence": request.fence,
        "traceparent": request.traceparent,
        "params": request.params.decode("utf-8"),
        "evaluation": [request.evaluation.name, request.evaluation.given.decode("utf-8")]
        if request.HasField("evaluation")
        else None,
        "events": [[e.place, e.trigger, e.args.decode("utf-8"), e.payload.decode("utf-8")] for e in request.events],
        "cells": [[c.asset, c.partition, c.window_start_us, c.window_end_us] for c in request.cells],
        "inputs": [
            {
                "name": binding.name,
                "upstream": binding.upstream,
                "io": binding.io,
                "partitions_spec": binding.partitions_spec.decode("utf-8"),
                "cells": [[c.partition, c.data_version, c.location] for c in binding.cells],
            }
            for binding in request.inputs
        ],
    }


def cell_event(frame: Mapping[str, Any]) -> tuple[pb.ExecuteEvent, str]:
    """The outcome of a cell, and a sentence about what had to be left out of it (or "")."""
    metadata = clean_text(str(frame["metadata"]), max_chars=2 * MAX_METADATA_BYTES).encode()
    notice = ""
    if len(metadata) > MAX_METADATA_BYTES:
        notice = (
            f"metadata of {frame['asset']} [{frame['partition']}] dropped: over the limit of {MAX_METADATA_BYTES:,} bytes. "
            "Write bulk data as an asset and keep a reference to it"
        )
        metadata = b""
    outcome = pb.CellOutcome(
        asset=clean_text(frame["asset"]),
        partition=clean_text(frame["partition"]),
        kind=_enum(pb.CellOutcome.Kind, frame["kind"]),
        data_version=clean_text(frame["data_version"]),
        location=clean_text(frame["location"]),
        metadata=metadata,
        error=clean_text(frame["error"]),
    )
    return pb.ExecuteEvent(cell=outcome), notice


def check_event(frame: Mapping[str, Any]) -> tuple[pb.ExecuteEvent, str]:
    """The outcome of a check, and a sentence about what had to be left out of it (or "")."""
    detail = clean_text(str(frame["detail"]), max_chars=2 * MAX_METADATA_BYTES).encode()
    notice = ""
    if len(detail) > MAX_METADATA_BYTES:
        notice = f"detail of check {frame['check']} dropped: over the limit of {MAX_METADATA_BYTES:,} bytes"
        detail = b""
    outcome = pb.CheckOutcome(
        check=clean_text(frame["check"]),
        asset=clean_text(frame["asset"]),
        partition=clean_text(frame["partition"]),
        passed=bool(frame["passed"]),
        blocking=bool(frame["blocking"]),
        detail=detail,
    )
    return pb.ExecuteEvent(check=outcome), notice


def log_lines(frame: Mapping[str, Any]) -> list[pb.LogLine]:
    """The lines of one log entry."""
    at_us, level = int(frame["at_us"]), clean_text(frame["level"], 16)
    return [
        pb.LogLine(at_us=at_us, stream=pb.LogLine.LOG, level=level, text=clean_text(line, MAX_LINE_CHARS))
        for line in (frame["text"].split("\n") or [""])
    ]


def finished(frame: Mapping[str, Any]) -> pb.Finished:
    """What the child said about its end."""
    return pb.Finished(
        status=_enum(pb.Finished.Status, frame["status"]),
        error=clean_text(frame["error"]),
        traceback=clean_text(frame["traceback"], MAX_TRACEBACK_CHARS),
        retry_in_seconds=float(frame["retry_in_s"]),
        deferral=_deferral(frame.get("deferral")),
        added=[
            pb.AddedKeys(scheme=clean_text(scheme), keys=[clean_text(key) for key in keys])
            for scheme, keys in sorted((frame.get("added") or {}).items())
        ],
        evaluated=_evaluated(frame.get("evaluated")),
    )


def _evaluated(found: object) -> bytes:
    asked = str(found or "").encode()
    if len(asked) > MAX_EVALUATED_BYTES:
        raise FrameError(f"an evaluation asks for {len(asked):,} bytes, the limit is {MAX_EVALUATED_BYTES:,}")
    return asked


def _deferral(frame: Mapping[str, Any] | None) -> pb.Deferral | None:
    if frame is None:
        return None
    args = str(frame["args"]).encode()
    if len(args) > MAX_METADATA_BYTES:
        raise FrameError(f"the arguments of a trigger take {len(args):,} bytes, the limit is {MAX_METADATA_BYTES:,}")
    return pb.Deferral(
        place=int(frame["place"]),
        trigger=clean_text(frame["trigger"]),
        args=args,
        label=clean_text(frame["label"], MAX_LINE_CHARS),
        deadline_seconds=float(frame["deadline_s"]),
        poll_seconds=float(frame["poll_s"]),
    )


def _enum(kind: Any, value: object) -> Any:
    if value not in kind.values() or not value:
        raise FrameError(f"{kind.DESCRIPTOR.name} has no value {value!r}")
    return value
