"""The descriptors between the supervisor and one attempt: a channel for frames, pipes for stdout and stderr.

Owns opening all of them or none. Refuses to read or write them.
"""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Ends:
    """The descriptors of one attempt. `upload` is a second handle of `channel`, so that either may be closed first."""

    channel: socket.socket
    upload: socket.socket
    stdout: int
    stderr: int
    theirs: tuple[int, int, int]

    def close_ours(self) -> None:
        """Close our side: nobody answers on the other."""
        self.channel.close()
        self.upload.close()
        close_all((self.stdout, self.stderr))


def open_ends() -> Ends:
    """Open all of them, or none and raise OSError."""
    opened: list[int] = []
    try:
        opened += [end.detach() for end in socket.socketpair()]
        opened += os.pipe()
        opened += os.pipe()
        opened.append(os.dup(opened[0]))
    except OSError:
        close_all(tuple(opened))
        raise
    ours, theirs, stdout, stdout_in, stderr, stderr_in, upload_fd = opened
    upload = socket.socket(fileno=upload_fd)
    upload.setblocking(False)
    return Ends(socket.socket(fileno=ours), upload, stdout, stderr, (theirs, stdout_in, stderr_in))


def close_all(fds: tuple[int, ...]) -> None:
    """Close descriptors that are certainly open."""
    for fd in fds:
        os.close(fd)
