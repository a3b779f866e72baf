"""Who may import what on this floor: the client knows no user-code side, the zygote knows no gRPC."""

from __future__ import annotations

import subprocess
import sys

import pytest


def loaded_after(statement: str) -> set[str]:
    code = f"{statement}\nimport sys\nprint('\\n'.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


@pytest.mark.parametrize(
    "module", ["partita.grpc.client", "partita.grpc.v1.code_location_pb2_grpc", "partita.grpc.limits"]
)
def test_the_control_planes_side_loads_neither_sdk_nor_server(module: str) -> None:
    loaded = loaded_after(f"import {module}")
    assert module in loaded
    assert not {name for name in loaded if name.startswith(("partita.sdk", "partita.grpc.server"))}


@pytest.mark.parametrize("module", ["partita.grpc.server.zygote", "partita.grpc.server.runner"])
def test_the_side_that_forks_loads_neither_grpc_nor_protobuf_nor_asyncio(module: str) -> None:
    loaded = loaded_after(f"import {module}")
    assert module in loaded
    assert not {name for name in loaded if name.partition(".")[0] in ("grpc", "google", "asyncio")}


def test_the_supervisor_loads_no_user_side() -> None:
    loaded = loaded_after("import partita.grpc.server.app")
    assert not {name for name in loaded if name.startswith("partita.sdk")}
