"""Set-up names no host, hashes everything, and covers what pyproject.toml declares."""

import json
import re
import tomllib
from itertools import chain
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
LOCKS = sorted((ROOT / "requirements").glob("*.txt"))


def names_in(lock: Path) -> set[str]:
    return {
        line.partition("==")[0].partition("[")[0]
        for line in lock.read_text().splitlines()
        if re.match(r"[a-z0-9]", line)
    }


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.name)
def test_lock_is_hashed_and_names_no_host(lock: Path) -> None:
    text = lock.read_text()
    assert "://" not in text
    assert not re.search(r"^\s*--(?!hash)", text, re.MULTILINE), "only --hash options belong in a lock"
    for requirement in re.split(r"\n(?=[a-z0-9])", text.strip()):
        assert "--hash=sha256:" in requirement, requirement.splitlines()[0]


def test_every_declared_dependency_is_locked() -> None:
    pyproject = tomllib.loads((ROOT / "pyproject.toml").read_text())
    project, groups = pyproject["project"], pyproject["dependency-groups"]
    declared = {
        "dev.txt": [
            *project["dependencies"],
            *chain.from_iterable(project["optional-dependencies"].values()),
            *groups["dev"],
        ],
        "examples.txt": groups["examples"],
        "node.txt": groups["node"],
    }
    for lock, requirements in declared.items():
        wanted = {re.split(r"[\[<>=!~; ]", requirement, maxsplit=1)[0].lower() for requirement in requirements}
        assert wanted - names_in(ROOT / "requirements" / lock) == set(), (
            f"{lock} is behind pyproject.toml: run make lock"
        )


def test_the_pandas_that_the_data_set_declares_is_not_installed() -> None:
    assert "pandas" not in set().union(*map(names_in, LOCKS))


def test_npm_lock_records_no_registry() -> None:
    assert "omit-lockfile-registry-resolved=true" in (ROOT / "ui" / ".npmrc").read_text().split()
    lock = ROOT / "ui" / "package-lock.json"
    packages = json.loads(lock.read_text())["packages"] if lock.exists() else {}
    assert not [name for name, package in packages.items() if "resolved" in package and not package.get("link")]
