"""Frames survive any way of cutting the stream."""

from __future__ import annotations

import socket
import struct
import threading
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from partita.grpc.server import frames

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters()),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=12,
)
some_frames = st.lists(st.dictionaries(st.text(), json_values, max_size=3), max_size=5)


@given(some_frames, st.lists(st.integers(1, 40)))
def test_any_cut_of_the_stream_gives_the_same_frames(sent: list[dict[str, Any]], sizes: list[int]) -> None:
    stream = b"".join(map(frames.encode, sent))
    buffer, received = frames.FrameBuffer(), []
    for size in [*sizes, len(stream)]:
        received += buffer.feed(stream[:size])
        stream = stream[size:]
    assert received == sent
    assert buffer.pending == 0


def test_lone_surrogates_of_user_text_survive() -> None:
    assert frames.FrameBuffer().feed(frames.encode({"text": "\ud800"})) == [{"text": "\ud800"}]


@pytest.mark.parametrize("stream", [b"\xff\xff\xff\xff", struct.pack(">I", 2) + b"[]", struct.pack(">I", 1) + b"x"])
def test_a_stream_that_is_not_ours_is_refused(stream: bytes) -> None:
    with pytest.raises(frames.FrameError):
        frames.FrameBuffer().feed(stream)


def test_blocking_send_and_receive_carry_what_no_socket_buffer_holds() -> None:
    ours, theirs = socket.socketpair()
    frame = {"text": "x" * 5_000_000}
    with ours, theirs:
        sender = threading.Thread(target=frames.send, args=(ours, frame))
        sender.start()
        assert frames.receive(theirs) == frame
        sender.join()
        ours.shutdown(socket.SHUT_WR)
        assert frames.receive(theirs) is None


def test_an_end_within_a_frame_is_told_from_an_end_between_frames() -> None:
    ours, theirs = socket.socketpair()
    with theirs:
        with ours:
            ours.sendall(frames.encode({"text": "cut"})[:-1])
        with pytest.raises(frames.FrameError, match="ends inside a frame"):
            frames.receive(theirs)
