"""Calls of the store from an event loop: on a few threads, and again until they work where giving up would lose work."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from partita.core.store.port import Busy, Unavailable

log = logging.getLogger(__name__)

RETRY_S = 1.0
_THREADS = 4

Result = TypeVar("Result")


class StoreCalls:
    """`who` names the caller in the log."""

    def __init__(self, who: Callable[[], str]) -> None:
        self._who = who
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="store-calls")

    async def once(self, call: Callable[[], Result]) -> Result:
        return await asyncio.get_running_loop().run_in_executor(self._threads, call)

    async def insist(self, call: Callable[[], Result], what: str, *, refusals: int | None = None) -> Result:
        """Until it works: an outage of the database ends no attempt. Deciders refuse what has become stale meanwhile.

        With `refusals`, the error of the last of so many tries that were no outage is raised.
        """
        failures = refused = 0
        while True:
            try:
                return await self.once(call)
            except Exception as error:
                failures += 1
                refused += not is_outage(error)
                if refused and refused == refusals:
                    raise
                if failures in {1, 10} or failures % 60 == 0:
                    log.warning(
                        "%s cannot %s (try %d): %s", self._who(), what, failures, first_line(error),
                        exc_info=not is_outage(error),
                    )  # fmt: skip
                await asyncio.sleep(min(RETRY_S, 0.05 * 2**failures))

    def close(self) -> None:
        self._threads.shutdown(wait=True)


def first_line(error: Exception) -> str:
    return str(error).partition("\n")[0] or type(error).__name__


def is_outage(error: Exception) -> bool:
    return isinstance(error, Busy | Unavailable)
