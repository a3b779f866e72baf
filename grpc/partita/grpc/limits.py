"""The sizes and times that both ends of the wire agree on.

Owns channel options and message limits; refuses to import gRPC, so that the zygote may read it too.
"""

from __future__ import annotations

MAX_MESSAGE_BYTES = 64 * 1024 * 1024
"""Per message, either way. gRPC's own default (4 MiB) is less than one task of 12,000 cells with its inputs."""

CHUNK_BYTES = 256 * 1024
"""One body chunk of a snapshot."""

EVENT_BATCH_BYTES = 1024 * 1024
"""About the largest message of an Execute stream: a batch is cut when it grows past this."""

FLUSH_AFTER_S = 0.02
"""The longest that an event waits for company before its batch is sent."""

MAX_LINE_CHARS = 16 * 1024
"""A longer log line is cut, and says so."""

MAX_METADATA_BYTES = 64 * 1024
"""S-209: metadata of one cell, as JSON."""

DEFAULT_GRACE_S = 10.0
"""Between SIGTERM and SIGKILL when the request names no grace period."""

KEEPALIVE_S = 20.0
"""An idle connection is probed this often, so that a peer which vanished without a word is noticed."""

KEEPALIVE_TIMEOUT_S = 10.0

CONNECT_S = 10.0
"""A connection that is not up by then is given up: calls fail as unavailable, and it is tried again."""

_SHARED_OPTIONS: tuple[tuple[str, int], ...] = (
    ("grpc.max_send_message_length", MAX_MESSAGE_BYTES),
    ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES),
    ("grpc.keepalive_time_ms", int(KEEPALIVE_S * 1000)),
    ("grpc.keepalive_timeout_ms", int(KEEPALIVE_TIMEOUT_S * 1000)),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.max_pings_without_data", 0),
)

CLIENT_OPTIONS: tuple[tuple[str, int], ...] = (
    *_SHARED_OPTIONS,
    # A restarted server must be found again within a second, not after gRPC's two minutes of back-off.
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 1000),
    # In spite of its name this is the least time that each try to connect gets, with the handshake: with little of it, a
    # machine under load loses attempts to servers that are up.
    ("grpc.min_reconnect_backoff_ms", int(CONNECT_S * 1000)),
    # Loopback and cluster addresses never go through a proxy of the environment.
    ("grpc.enable_http_proxy", 0),
)

SERVER_OPTIONS: tuple[tuple[str, int], ...] = (
    *_SHARED_OPTIONS,
    ("grpc.http2.min_ping_interval_without_data_ms", int(KEEPALIVE_S * 500)),
    # Two servers must not share one port silently, which is gRPC's default on Linux.
    ("grpc.so_reuseport", 0),
)
