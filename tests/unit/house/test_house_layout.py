"""The five folders are portions of one namespace package and shadow nothing."""

import ast
import tomllib
from collections.abc import Container, Iterable, Iterator
from importlib.metadata import distribution
from pathlib import Path

import grimp
import pytest

ROOT = Path(__file__).parents[3]
FLOORS = ("assets", "sdk", "grpc", "core", "ui")  # lowest first


def modules_of(floor: str) -> list[Path]:
    return sorted((ROOT / floor / "partita").rglob("*.py"))


def imports_of(source: Path) -> Iterator[tuple[int, str]]:
    """Line and target of every import of a partita module in a file, those inside functions too."""
    for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"), source.name)):
        match node:
            case ast.Import(names=names):
                targets = [alias.name for alias in names]
            case ast.ImportFrom(module=str(module), names=names, level=0):
                targets = [f"{module}.{alias.name}" for alias in names]
            case _:
                continue
        for target in targets:
            if target.startswith("partita."):
                yield node.lineno, target


def breaches(sources: Iterable[Path], *, refused: Container[str], depth: int) -> list[str]:
    """Imports whose first `depth` names, joined, are refused; as `file:line imports module`."""
    return [
        f"{source.relative_to(ROOT)}:{line} imports {target}"
        for source in sources
        for line, target in imports_of(source)
        if ".".join(target.split(".")[:depth]) in refused
    ]


def test_root_folder_grpc_does_not_shadow_grpcio() -> None:
    import grpc

    assert hasattr(grpc, "aio")
    assert grpc.__file__ is not None
    assert "site-packages" in grpc.__file__


@pytest.mark.parametrize("floor", FLOORS)
def test_floor_is_a_namespace_portion(floor: str) -> None:
    assert not (ROOT / floor / "__init__.py").exists(), f"{floor}/ would become a package of its own"
    assert not (ROOT / floor / "partita" / "__init__.py").exists(), "partita must stay a PEP 420 namespace package"
    assert (ROOT / floor / "partita" / floor / "__init__.py").is_file()
    assert (ROOT / floor / "partita" / floor / "py.typed").is_file()


@pytest.mark.parametrize("floor", FLOORS)
def test_portion_holds_only_its_own_floor(floor: str) -> None:
    portion = ROOT / floor / "partita"
    assert [path.name for path in portion.iterdir() if path.name != "__pycache__"] == [floor]


@pytest.mark.parametrize("floor", FLOORS)
def test_floor_imports_only_downwards(floor: str) -> None:
    above = {f"partita.{upper}" for upper in FLOORS[FLOORS.index(floor) + 1 :]}
    assert not breaches(modules_of(floor), refused=above, depth=2)


def test_core_meets_user_code_only_through_the_client() -> None:
    assert not breaches(modules_of("core"), refused={"partita.sdk"}, depth=2)
    assert not breaches(modules_of("core"), refused={"partita.grpc.server"}, depth=3)


def test_only_the_server_end_of_the_wire_imports_the_sdk() -> None:
    portion = ROOT / "grpc" / "partita" / "grpc"
    outside = [path for path in modules_of("grpc") if path.relative_to(portion).parts[0] not in {"server", "server.py"}]
    assert not breaches(outside, refused={"partita.sdk"}, depth=2)
    assert not breaches(outside, refused={"partita.grpc.server"}, depth=3)


def test_every_form_of_import_is_read(tmp_path: Path) -> None:
    """The guard itself: at the top, by `from`, and inside a function."""
    wrong = tmp_path / "wrong.py"
    wrong.write_text("import partita.sdk.io\nfrom partita import sdk\ndef f():\n    from partita.sdk.io import lake\n")
    assert [target for _, target in imports_of(wrong)] == ["partita.sdk.io", "partita.sdk", "partita.sdk.io.lake"]


def test_import_linter_sees_every_module() -> None:
    """Its graph covers the namespace portions: a floor that it does not find would pass every contract."""
    graph = grimp.build_graph(*(f"partita.{floor}" for floor in FLOORS))
    found = {name for name in graph.modules if name.startswith("partita.")}
    for floor in FLOORS:
        portion = ROOT / floor
        expected = {
            ".".join(path.relative_to(portion).with_suffix("").parts).removesuffix(".__init__")
            for path in modules_of(floor)
            if all(
                (parent / "__init__.py").exists()
                for parent in path.parents
                if parent.is_relative_to(portion / "partita" / floor)
            )
        }
        assert expected <= found


def test_one_distribution_with_one_version() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    installed = distribution("partita")
    assert installed.version == project["version"]
    assert [script.value for script in installed.entry_points if script.name == "partita"] == ["partita.ui.cli:main"]
