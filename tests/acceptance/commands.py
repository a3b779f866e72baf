"""Commands as processes that are forked from a warm one, in which all that `partita` imports is loaded already.

More than half of what the acceptance tests computed was importing the same modules for every command. Each is a process of
its own all the same, with the environment, folder, output and exit code that it would have had; what it had to import, the next
one finds. How commands start from nothing is for `tests/integration/sdk/test_one_off.py` and `test_first_project.py`; what stays
up is always started from nothing.
"""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from partita.core.runtime.deployed import Deployed
from partita.core.runtime.stopping import STOP_WITH_PARENT

_FRONT = "partita.ui.cli"


class Commands:
    """The warm process. A context manager: it ends with the block, or with whoever holds the other end of its input."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="pt-cmd-")
        self._process = subprocess.Popen(
            [sys.executable, "-P", str(Path(__file__))],
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1"}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            start_new_session=True,
        )  # fmt: skip

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.communicate()
        self._folder.cleanup()

    def complete(
        self, arguments: Sequence[str], env: Mapping[str, str], folder: Path
    ) -> subprocess.CompletedProcess[str]:
        """Runs `partita ARGUMENTS` to its end."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        said = {name: Path(self._folder.name, name) for name in ("stdout", "stderr", "imported")}
        asked = {
            "arguments": arguments,
            "env": dict(env),
            "cwd": str(folder),
            **{name: str(file) for name, file in said.items()},
        }
        self._process.stdin.write(json.dumps(asked) + "\n")
        self._process.stdin.flush()
        ended = self._process.stdout.readline()
        assert ended, "the warm process ended"
        return subprocess.CompletedProcess(
            ["partita", *arguments], int(ended), said["stdout"].read_text(), said["stderr"].read_text()
        )


class Quick(Deployed):
    """A deployment whose commands are such processes."""

    def __init__(self, folder: Path, commands: Commands, *, env: Mapping[str, str] | None = None) -> None:
        super().__init__(folder, env=env)
        self._commands = commands

    def complete(self, *command: str) -> subprocess.CompletedProcess[str]:
        if self.env.get("PYTHONPATH") != os.environ.get("PYTHONPATH"):
            return super().complete(*command)  # of other code than what is loaded
        return self._commands.complete(command, self.env, self.folder)


def _serve() -> None:
    import_module(_FRONT)
    for line in sys.stdin:
        asked = json.loads(line)
        threads = len(os.listdir("/proc/self/task"))
        assert threads == 1, f"what is imported started {threads - 1} threads, and a fork would have none of them"
        gc.freeze()  # looked at by no collector: it would copy the pages that the processes share
        child = os.fork()
        if child == 0:
            _become(asked)
        _, status = os.waitpid(child, 0)
        imported = Path(asked["imported"])
        for name in imported.read_text().split() if imported.exists() else ():
            import_module(name)
        sys.stdout.write(f"{os.waitstatus_to_exitcode(status)}\n")
        sys.stdout.flush()


def _become(asked: Mapping[str, Any]) -> None:
    """The command, in a process that was just forked for it."""
    for number, (path, flags) in enumerate(
        (
            (os.devnull, os.O_RDONLY),
            *((asked[name], os.O_WRONLY | os.O_CREAT | os.O_TRUNC) for name in ("stdout", "stderr")),
        )
    ):
        opened = os.open(path, flags, 0o600)
        os.dup2(opened, number)
        os.close(opened)
    os.chdir(asked["cwd"])
    os.environ.clear()
    os.environ.update({name: value for name, value in asked["env"].items() if name != STOP_WITH_PARENT})
    code = import_module(_FRONT).run(asked["arguments"])
    Path(asked["imported"]).write_text("\n".join(name for name in tuple(sys.modules) if name.startswith("partita.")))
    sys.exit(code)


if __name__ == "__main__":
    _serve()
