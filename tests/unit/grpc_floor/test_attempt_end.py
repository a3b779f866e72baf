"""How an attempt ended is decided from three facts: what we decided, what the child said, how it went."""

from __future__ import annotations

import signal

import pytest

from partita.grpc.server.attempt import Exit, Stop, StopCause, decide_finish
from partita.grpc.v1 import code_location_pb2 as pb

CANCEL = Stop(StopCause.CANCELLED, "not needed")
TIMEOUT = Stop(StopCause.TIMED_OUT, "too slow")
SHUTDOWN = Stop(StopCause.SHUTDOWN, "stopping")


def said(status: pb.Finished.Status) -> pb.Finished:
    return pb.Finished(status=status, error="its words", traceback="its trace")


@pytest.mark.parametrize(
    ("stop", "word", "code", "expected"),
    [
        (None, pb.Finished.SUCCESS, 0, pb.Finished.SUCCESS),
        (None, pb.Finished.FAILED, 0, pb.Finished.FAILED),
        (None, pb.Finished.RETRY_LATER, 0, pb.Finished.RETRY_LATER),
        (None, pb.Finished.SUCCESS, -signal.SIGSEGV, pb.Finished.SUCCESS),
        (None, None, 0, pb.Finished.LOST),
        (None, None, 3, pb.Finished.LOST),
        (None, None, -signal.SIGKILL, pb.Finished.LOST),
        (None, None, None, pb.Finished.LOST),
        (CANCEL, None, -signal.SIGKILL, pb.Finished.CANCELLED),
        (CANCEL, pb.Finished.FAILED, 0, pb.Finished.CANCELLED),
        (CANCEL, pb.Finished.SUCCESS, 0, pb.Finished.SUCCESS),
        (CANCEL, pb.Finished.SKIPPED, 0, pb.Finished.SKIPPED),
        (TIMEOUT, None, -signal.SIGTERM, pb.Finished.TIMED_OUT),
        (TIMEOUT, pb.Finished.LOST, 0, pb.Finished.TIMED_OUT),
        (SHUTDOWN, None, -signal.SIGKILL, pb.Finished.LOST),
        (SHUTDOWN, pb.Finished.FAILED, 0, pb.Finished.LOST),
    ],
)
def test_the_end(
    stop: Stop | None, word: pb.Finished.Status | None, code: int | None, expected: pb.Finished.Status
) -> None:
    end = decide_finish(stop, None if word is None else said(word), Exit(code, peak_rss_bytes=7, cpu_s=0.5))
    assert end.status == expected
    assert (end.peak_rss_bytes, end.cpu_seconds) == (7, 0.5)
    if stop is not None and end.status not in (pb.Finished.SUCCESS, pb.Finished.SKIPPED):
        assert end.error == stop.reason
        assert end.traceback == ("" if word is None else "its trace")


def test_a_loss_names_the_signal_the_fault_or_the_death_of_the_zygote() -> None:
    assert "SIGKILL" in decide_finish(None, None, Exit(-9)).error
    assert decide_finish(None, None, Exit(-9), "broke its channel").error == "broke its channel"
    assert decide_finish(None, None, Exit(None, "the zygote died")).error == "the zygote died"
