"""What an import costs, told by module names and never by time."""

import json
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).parents[3]
CONTROL_PLANE_PACKAGES = {
    "sqlalchemy",
    "fastapi",
    "alembic",
    "duckdb",
    "psycopg",
    "uvicorn",
    "starlette",
    "numpy",
    "pyarrow",
}

WALK = """
import importlib, pkgutil
import partita.core
for found in pkgutil.walk_packages(partita.core.__path__, "partita.core."):
    # Alembic's scripts run inside Alembic only; a __main__ would start a process.
    if not {"migrations", "__main__"} & set(found.name.split(".")):
        importlib.import_module(found.name)
"""
VERSION = """
from partita.ui.cli import main
sys.argv = ["partita", "--version"]
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
"""
PLAN = """
from partita.core import starting
with starting.imports():
    from partita.core.catalog.load import CatalogCache
    from partita.core.config import load_config
    from partita.core.planner import PlanRequest, plan
    from partita.core.runtime.deployment import Deployment
"""
# What only those need who launch, decide about tasks or tell people of them.
NOT_PLANNING = {
    "partita.core.duties.values",
    "partita.core.store.postgres.tx",
    "partita.core.store.values_alerts",
    "partita.core.store.values_waits",
    "partita.core.planner.diff",
    "partita.core.planner.launch",
    "partita.core.planner.render",
    "partita.core.cells.kept",
    "partita.core.catalog.activation",
}


def loaded_after(code: str) -> dict[str, str | None]:
    """Modules (and their files) that a fresh interpreter holds after some code; warnings are errors there too."""
    script = (
        f"import json, sys\n{code}\n"
        "held = {name: getattr(module, '__file__', None) for name, module in sys.modules.items()}\n"
        "print('\\n' + json.dumps(held))"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    held: dict[str, str | None] = json.loads(done.stdout.splitlines()[-1])
    return held


def tops(held: dict[str, str | None]) -> set[str]:
    return {name.partition(".")[0] for name in held}


def test_importing_the_sdk_loads_nothing_of_the_control_plane() -> None:
    held = loaded_after("import partita.sdk")
    assert not tops(held) & CONTROL_PLANE_PACKAGES
    assert not [name for name in held if name.startswith(("partita.core", "partita.ui"))]


def test_version_loads_nothing_of_the_control_plane() -> None:
    assert not tops(loaded_after(VERSION)) & CONTROL_PLANE_PACKAGES


def test_what_plans_loads_only_what_planning_needs() -> None:
    """Issue 3, plan_cold: a plan of a hundred assets takes longer to import than to make."""
    held = loaded_after(PLAN)
    assert "partita.core.planner.plan" in held
    assert not tops(held) & (CONTROL_PLANE_PACKAGES | {"grpc", "typer", "networkx"}) - {"psycopg", "numpy"}
    assert not held.keys() & NOT_PLANNING


def test_the_environment_is_as_before_after_the_imports_of_a_command() -> None:
    """The processes that run people's code are started with it."""
    code = "import os; before = dict(os.environ)\n" + PLAN + "assert dict(os.environ) == before"
    assert "numpy" in loaded_after(code)


def test_version_is_that_of_the_distribution() -> None:
    done = subprocess.run(
        [sys.executable, "-c", f"import sys\n{VERSION}"],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=120,
        check=True,
    )
    assert version("partita") in done.stdout


def test_the_control_plane_never_loads_user_code() -> None:
    """Law 1: all of `partita.core` loads neither the SDK nor the code-location server nor a module of a user."""
    held = loaded_after(WALK)
    assert not [name for name in held if name.startswith(("partita.sdk", "partita.grpc.server"))]
    ours = {ROOT / floor / "partita" for floor in ("core", "grpc", "assets")}
    foreign = {
        name: file
        for name, file in held.items()
        if file
        and Path(file).is_relative_to(ROOT)
        and "site-packages" not in file
        and not any(Path(file).is_relative_to(o) for o in ours)
    }
    assert not foreign
