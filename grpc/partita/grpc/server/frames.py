"""Length-prefixed JSON frames over a stream socket: how supervisor, zygote and attempt children talk.

Owns the framing and the blocking helpers of the two sides without an event loop. Refuses to interpret frames, and to
import gRPC or asyncio: the zygote imports this module.
"""

from __future__ import annotations

import json
import socket
import struct
from typing import Any

Frame = dict[str, Any]

MAX_FRAME_BYTES = 512 * 1024 * 1024
"""Far above any snapshot; a larger length means that the stream is not ours."""

_HEADER = struct.Struct(">I")
_READ_BYTES = 256 * 1024


class FrameError(Exception):
    """A stream that is not a sequence of frames, or ends inside one."""


def encode(frame: Frame) -> bytes:
    """Return the bytes of one frame. The JSON is ASCII, so lone surrogates in user text survive the trip."""
    body = json.dumps(frame, separators=(",", ":")).encode("ascii")
    if len(body) > MAX_FRAME_BYTES:
        raise FrameError(f"a frame of {len(body):,} bytes is over the limit of {MAX_FRAME_BYTES:,}")
    return _HEADER.pack(len(body)) + body


class FrameBuffer:
    """Cuts a byte stream into frames. Feed it whatever arrived; it keeps what is not complete yet."""

    def __init__(self) -> None:
        self._bytes = bytearray()

    def __repr__(self) -> str:
        return f"<FrameBuffer pending={len(self._bytes)}>"

    @property
    def pending(self) -> int:
        """Bytes of a frame that has not arrived in full."""
        return len(self._bytes)

    def feed(self, chunk: bytes) -> list[Frame]:
        """Return the frames that are complete now. Raises FrameError when the stream is not ours."""
        self._bytes += chunk
        frames: list[Frame] = []
        start = 0
        while len(self._bytes) - start >= _HEADER.size:
            (size,) = _HEADER.unpack_from(self._bytes, start)
            if size > MAX_FRAME_BYTES:
                raise FrameError(f"a frame announces {size:,} bytes, the limit is {MAX_FRAME_BYTES:,}")
            end = start + _HEADER.size + size
            if len(self._bytes) < end:
                break
            frames.append(_decode(bytes(self._bytes[start + _HEADER.size : end])))
            start = end
        del self._bytes[:start]
        return frames


def _decode(body: bytes) -> Frame:
    try:
        frame = json.loads(body)
    except ValueError as error:
        raise FrameError(f"a frame is not JSON: {error}") from error
    if not isinstance(frame, dict):
        raise FrameError(f"a frame is a JSON object, this one is {type(frame).__name__}")
    return frame


def send(channel: socket.socket, frame: Frame) -> None:
    """Send one frame on a blocking socket."""
    channel.sendall(encode(frame))


def receive(channel: socket.socket) -> Frame | None:
    """Read exactly one frame from a blocking socket; None when the peer closed between frames."""
    header = _read_exactly(channel, _HEADER.size, at_boundary=True)
    if not header:
        return None
    (size,) = _HEADER.unpack(header)
    if size > MAX_FRAME_BYTES:
        raise FrameError(f"a frame announces {size:,} bytes, the limit is {MAX_FRAME_BYTES:,}")
    return _decode(_read_exactly(channel, size, at_boundary=False))


def _read_exactly(channel: socket.socket, size: int, *, at_boundary: bool) -> bytes:
    got = bytearray()
    while len(got) < size:
        chunk = channel.recv(min(_READ_BYTES, size - len(got)))
        if not chunk:
            if at_boundary and not got:
                return b""
            raise FrameError(f"the stream ends inside a frame: {len(got)} of {size} bytes")
        got += chunk
    return bytes(got)
