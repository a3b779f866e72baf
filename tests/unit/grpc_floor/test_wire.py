"""Messages, frames and the values of the SDK say the same."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from partita.grpc import limits
from partita.grpc.server import frames, runner, wire
from partita.grpc.v1 import code_location_pb2 as pb
from partita.sdk.runtime import CellKind, InputBinding, InputCell, StepRequest, StepStatus, TargetCell


def test_a_request_reaches_the_sdk_unchanged() -> None:
    message = pb.ExecuteRequest(
        attempt_id="a1",
        version="v",
        step="shop:orders",
        attempt_number=2,
        run_id=7,
        fence=2**63,
        traceparent="00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        params=b'{"days": 3}',
        cells=[pb.TargetCell(asset="orders", partition='["2013","Zürich"]', window_start_us=-5, window_end_us=9)],
        inputs=[
            pb.InputBinding(
                name="raw",
                upstream="raw/orders",
                io="lake",
                partitions_spec=b'{"kind":"static"}',
                cells=[pb.InputCell(partition="p", data_version="d", location="lake:x")],
            )
        ],
    )
    (frame,) = frames.FrameBuffer().feed(frames.encode(wire.request_frame(message)))
    assert runner.request_of(frame) == StepRequest(
        attempt_id="a1",
        step="shop:orders",
        cells=(TargetCell("orders", '["2013","Zürich"]', -5, 9),),
        inputs=(InputBinding("raw", "raw/orders", "lake", b'{"kind":"static"}', (InputCell("p", "d", "lake:x"),)),),
        params={"days": 3},
        attempt_number=2,
        run_id=7,
        fence=2**63,
        traceparent="00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
    )


def test_no_params_means_the_defaults() -> None:
    assert runner.request_of(wire.request_frame(pb.ExecuteRequest())).params is None


@pytest.mark.parametrize("kind", list(CellKind))
def test_cell_kinds_have_one_value(kind: CellKind) -> None:
    assert pb.CellOutcome.Kind.Name(kind.value) == kind.name


@pytest.mark.parametrize("status", list(StepStatus))
def test_statuses_have_one_value(status: StepStatus) -> None:
    assert pb.Finished.Status.Name(status.value) == status.name


def cell_frame(**changes: Any) -> dict[str, Any]:
    frame = {
        "asset": "a",
        "partition": "p",
        "kind": 1,
        "data_version": "v",
        "location": "l",
        "metadata": "",
        "error": "",
    }
    return {**frame, **changes}


def test_metadata_over_the_limit_is_dropped_and_said() -> None:
    """S-209: 64 KB a cell."""
    event, notice = wire.cell_event(cell_frame(metadata=json.dumps({"rows": 3})))
    assert (json.loads(event.cell.metadata), notice) == ({"rows": 3}, "")
    event, notice = wire.cell_event(cell_frame(metadata=json.dumps({"x": "y" * limits.MAX_METADATA_BYTES})))
    assert event.cell.metadata == b""
    assert "over the limit of 65,536 bytes" in notice


@pytest.mark.parametrize("kind", [0, 99, "1", None])
def test_a_made_up_kind_breaks_the_channel_not_the_server(kind: object) -> None:
    with pytest.raises(frames.FrameError):
        wire.cell_event(cell_frame(kind=kind))


def test_texts_of_user_code_are_made_fit_for_the_wire() -> None:
    frame = {"status": 2, "error": "\ud800\x00", "traceback": "x" * 200_000, "retry_in_s": -1}
    finished = wire.finished(frame)
    assert pb.Finished.FromString(finished.SerializeToString()).error == "?\N{REPLACEMENT CHARACTER}"
    assert len(finished.traceback) < 70_000


def test_log_entries_become_lines() -> None:
    lines = wire.log_lines({"at_us": 5, "level": "INFO", "text": "one\ntwo"})
    assert [(line.text, line.level, line.at_us, line.stream) for line in lines] == [
        ("one", "INFO", 5, pb.LogLine.LOG),
        ("two", "INFO", 5, pb.LogLine.LOG),
    ]


@pytest.mark.parametrize("name", sorted({name for name, _ in (*limits.CLIENT_OPTIONS, *limits.SERVER_OPTIONS)}))
def test_every_channel_option_exists(name: str) -> None:
    """gRPC ignores an option that it does not know; a misspelt one once made a server end idle streams for "abuse"."""
    core = find_spec("grpc._cython.cygrpc")
    assert core is not None
    assert core.origin is not None
    assert name.encode() + b"\0" in Path(core.origin).read_bytes()
