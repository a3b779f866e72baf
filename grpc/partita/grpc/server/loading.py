"""What a zygote is to import, what it then holds, and how that fails.

Owns these values and their frames. Refuses processes (`warm`) and which version serves (`supervisor`).
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from partita.grpc.server import frames
from partita.grpc.v1 import code_location_pb2 as pb


@dataclass(frozen=True, slots=True)
class LoadOrder:
    """What a zygote is to import. `left_out` names modules not to touch, with the error that they are reported with."""

    location: str
    root: Path
    modules: tuple[str, ...]
    left_out: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Loaded:
    """What a zygote holds. `version` is the hash of `snapshot`, which is canonical JSON."""

    version: str
    snapshot: bytes
    steps: Mapping[str, Mapping[str, str]]
    modules: tuple[pb.ModuleStatus, ...]
    evaluators: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def unit(self, request: pb.ExecuteRequest) -> Mapping[str, str]:
        """How the process of a request is started, and what it must find on disk should it have to load."""
        return self.evaluators[request.evaluation.name] if request.HasField("evaluation") else self.steps[request.step]

    def unknown(self, request: pb.ExecuteRequest) -> str:
        """What of a request this version does not have; empty: it has all."""
        if request.HasField("evaluation"):
            name = request.evaluation.name
            if name in self.evaluators:
                return ""
            return f"version {self.version[:12]} has no observer, schedule or sensor {name!r}"
        if request.step in self.steps:
            return ""
        near = difflib.get_close_matches(request.step, self.steps, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        return f"version {self.version[:12]} has no step {request.step!r}{hint}"


class LocationFailed(Exception):
    """Nothing could be loaded, and no single module is to blame."""


class ModuleKilled(Exception):
    """Importing one module hung or took the process down; the others deserve another process."""

    def __init__(self, module: str, why: str) -> None:
        super().__init__(f"{module}: {why}")
        self.module = module
        self.why = why


def order_frame(order: LoadOrder) -> dict[str, Any]:
    """The order as a frame carries it."""
    return {
        "location": order.location,
        "root": str(order.root),
        "modules": list(order.modules),
        "left_out": dict(order.left_out),
    }


def loaded(frame: frames.Frame) -> Loaded:
    """What the zygote's `ready` frame says."""
    modules = tuple(
        pb.ModuleStatus(
            name=module["name"],
            ok=module["ok"],
            error=module["error"],
            import_seconds=module["import_s"],
            warning=module["warning"],
        )
        for module in frame["modules"]
    )
    return Loaded(frame["hash"], frame["snapshot"].encode("utf-8"), frame["steps"], modules, frame["evaluators"])
