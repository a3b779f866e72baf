"""The code fingerprint (DESIGN section 5): what moves it and what never does."""

from __future__ import annotations

import importlib
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from partita.sdk.fingerprint import Code, Sources, code_of, fingerprint_of
from partita.sdk.fingerprint.normal import prefixed

Project = Callable[[Mapping[str, str]], str]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Project]:
    """Writes a project, imports its module `job` and gives the fingerprint of its function `asset_code`."""
    count = 0
    known = set(sys.modules)

    def make(files: Mapping[str, str]) -> str:
        nonlocal count
        count += 1
        root = tmp_path / f"project{count}"
        for name, body in files.items():
            file = root / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(textwrap.dedent(body))
        for name in set(sys.modules) - known:
            if getattr(sys.modules[name], "__file__", None) and str(tmp_path) in str(sys.modules[name].__file__):
                del sys.modules[name]
        monkeypatch.setattr(sys, "path", [str(root), *[one for one in sys.path if str(tmp_path) not in one]])
        importlib.invalidate_caches()
        module = importlib.import_module("job")
        return fingerprint_of(module.asset_code, sources=Sources(root))

    yield make
    for name in set(sys.modules) - known:
        if str(tmp_path) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


PLAIN = "def asset_code(n):\n    return n + 1\n"


def test_formatting_docstrings_comments_and_annotations_change_nothing(project: Project) -> None:
    dressed = '''
    """A module docstring."""
    from __future__ import annotations
    UNUSED = 3

    # a comment
    def asset_code(
        n: int,  # why
    ) -> int:
        """What it does."""
        # how
        return (
            n
            + 1
        )
    '''
    assert project({"job.py": PLAIN}) == project({"job.py": dressed})


def test_the_same_project_in_another_folder_has_the_same_fingerprint(project: Project) -> None:
    files = {
        "job.py": "import helpers\ndef asset_code(n):\n    return helpers.inc(n)\n",
        "helpers.py": "def inc(n): return n + 1\n",
    }
    assert project(files) == project(files)


@pytest.mark.parametrize(
    "changed",
    [
        "def asset_code(n):\n    return n + 2\n",
        "def asset_code(n):\n    return n - 1\n",
        "def asset_code(n):\n    return n + 1.0\n",
        "def asset_code(m):\n    return m + 1\n",
        "async def asset_code(n):\n    return n + 1\n",
        "def asset_code(n, k=1):\n    return n + 1\n",
    ],
)
def test_any_change_of_the_body_changes_it(project: Project, changed: str) -> None:
    assert project({"job.py": PLAIN}) != project({"job.py": changed})


CALLERS = {
    "function": ("from helpers import step\ndef asset_code(n): return step(n)\n", "def step(n): return n * {0}\n"),
    "module attribute": (
        "import helpers\ndef asset_code(n): return helpers.step(n)\n",
        "def step(n): return n * {0}\n",
    ),
    "constant": ("from helpers import RATE\ndef asset_code(n): return n * RATE\n", "RATE = {0}\n"),
    "annotated constant": ("import helpers as h\ndef asset_code(n): return n * h.RATE\n", "RATE: int = {0}\n"),
    "class": (
        "from helpers import Rate\ndef asset_code(n): return Rate().of(n)\n",
        "class Rate:\n    def of(self, n): return n * {0}\n",
    ),
    "base class": (
        "from helpers import Rate\nclass Mine(Rate): pass\ndef asset_code(n): return Mine().of(n)\n",
        "class Rate:\n    def of(self, n): return n * {0}\n",
    ),
    "second hop": (
        "from helpers import step\ndef asset_code(n): return step(n)\n",
        "def deep(n): return n * {0}\ndef step(n): return deep(n)\n",
    ),
    "import inside the function": (
        "def asset_code(n):\n    from helpers import step\n    return step(n)\n",
        "def step(n): return n * {0}\n",
    ),
    "star import": ("from helpers import *\ndef asset_code(n): return step(n)\n", "def step(n): return n * {0}\n"),
    "decorator": (
        "from helpers import twice\n@twice\ndef asset_code(n): return n\n",
        "import functools\ndef twice(f):\n    @functools.wraps(f)\n    def inner(n): return f(n) * {0}\n    return inner\n",
    ),
    "changed in place": (
        "from helpers import RATES\ndef asset_code(n): return RATES[n]\n",
        "RATES = {{}}\nRATES['a'] = {0}\n",
    ),
    "updated in place": (
        "from helpers import RATES\ndef asset_code(n): return RATES[n]\n",
        "RATES = {{}}\nRATES.update(a={0})\n",
    ),
    "conditional": (
        "from helpers import R\ndef asset_code(n): return R\n",
        "if True:\n    R = {0}\nelse:\n    R = 0\n",
    ),
    "module as a value": ("import helpers\ndef asset_code(n): return getattr(helpers, n)\n", "R = {0}\n"),
    "lambda": ("from helpers import step\ndef asset_code(n): return step(n)\n", "step = lambda n: n * {0}\n"),
    "comprehension": ("from helpers import RATE\ndef asset_code(n): return [x * RATE for x in n]\n", "RATE = {0}\n"),
    "default value": ("from helpers import RATE\ndef asset_code(n, r=RATE): return n\n", "RATE = {0}\n"),
    "closure": (
        "from helpers import make\nasset_code = make({0})\n",
        "def make(rate):\n    def asset_code(n): return n * rate\n    return asset_code\n",
    ),
}


@pytest.mark.parametrize("caller", CALLERS.values(), ids=CALLERS)
def test_it_reaches_the_project_code_that_is_used(project: Project, caller: tuple[str, str]) -> None:
    job, helpers = caller
    prints = [project({"job.py": job.format(rate), "helpers.py": helpers.format(rate)}) for rate in (1, 2, 1)]
    assert prints[0] == prints[2]
    assert prints[0] != prints[1]


NAMED = {name: caller for name, caller in CALLERS.items() if name != "module as a value"}  # that one counts in whole


@pytest.mark.parametrize("caller", NAMED.values(), ids=NAMED)
def test_it_does_not_see_unused_neighbours(project: Project, caller: tuple[str, str]) -> None:
    job, helpers = (text.format(1) for text in caller)
    more = helpers + "\ndef unrelated(n):\n    return n ** 5\nOTHER = 17\n"
    assert project({"job.py": job, "helpers.py": helpers}) == project({"job.py": job + "\nX = 1\n", "helpers.py": more})


def test_relative_imports_and_reexports_in_packages(project: Project) -> None:
    def files(rate: int) -> dict[str, str]:
        return {
            "job.py": "from pkg import step\nimport pkg.rates\ndef asset_code(n): return step(n) + pkg.rates.MORE\n",
            "pkg/__init__.py": "from .inner import step\n",
            "pkg/inner.py": "from . import rates\ndef step(n): return n * rates.RATE\n",
            "pkg/rates.py": f"RATE = {rate}\nMORE = 1\n",
        }

    assert project(files(1)) != project(files(2))


def test_a_namespace_package_is_walked(project: Project) -> None:
    def files(rate: int) -> dict[str, str]:
        return {
            "job.py": "import ns.rates\ndef asset_code(n): return ns.rates.RATE\n",
            "ns/rates.py": f"RATE = {rate}\n",
        }

    assert project(files(1)) != project(files(2))


def test_which_name_means_which_code_counts(project: Project) -> None:
    job = "from helpers import f, g\ndef asset_code(n): return f(n) - g(n)\n"
    one = "def f(n): return n\ndef g(n): return n + 1\n"
    other = "def g(n): return n\ndef f(n): return n + 1\n"
    assert project({"job.py": job, "helpers.py": one}) != project({"job.py": job, "helpers.py": other})


def test_recursion_and_mutual_recursion_end(project: Project) -> None:
    body = "def asset_code(n): return other(n - 1) if n else 0\ndef other(n): return asset_code(n)\n"
    assert project({"job.py": body}) == project({"job.py": body + "# more\n"})
    assert project({"job.py": body}) != project({"job.py": body.replace("else 0", "else 1")})


def test_a_local_name_hides_the_module_constant(project: Project) -> None:
    job = "RATE = {0}\ndef asset_code(n):\n    RATE = 5\n    return RATE\n"
    assert project({"job.py": job.format(1)}) == project({"job.py": job.format(2)})


def test_options_of_the_declaration_are_not_code(project: Project) -> None:
    job = (
        "from partita.sdk.declare import asset\nfrom partita.sdk.policies import RetryPolicy\n"
        "@asset(retries=RetryPolicy({0}), io=None)\ndef asset_code() -> None: print('x')\n"
    )
    assert project({"job.py": job.format(1)}) == project({"job.py": job.format(2)})


def test_code_version_replaces_the_code() -> None:
    def one() -> int:
        return 1

    def two() -> int:
        return 2

    sources = Sources(Path(__file__).parent)
    assert fingerprint_of(one, sources=sources) != fingerprint_of(two, sources=sources)
    assert fingerprint_of(one, sources=sources, code_version="7") == fingerprint_of(
        two, sources=sources, code_version="7"
    )
    assert fingerprint_of(one, sources=sources, code_version="7") != fingerprint_of(
        one, sources=sources, code_version="8"
    )


@given(st.lists(st.binary(max_size=4)), st.lists(st.binary(max_size=4)))
def test_length_prefixing_is_injective(one: list[bytes], other: list[bytes]) -> None:
    assert (prefixed(one) == prefixed(other)) == (one == other)


def test_the_value_is_pinned(project: Project) -> None:
    """A fingerprint that changes with a release of partita or of Python would make whole histories stale."""
    files = {
        "job.py": "import helpers\ndef asset_code(n):\n    return helpers.inc(n)\n",
        "helpers.py": "def inc(n): return n + 1\n",
    }
    assert project(files) == "571ed066d4155b5cce420d2f3a517989"


IGNORING = """
    from partita.sdk import ignore_for_version

    FORMAT = "{form}"

    @ignore_for_version
    def told({arguments}):
        {body}

    class Reader:
        @ignore_for_version
        def show(self):
            {body}

        def read(self, n):
            return n + {plus}

    def asset_code(n):
        told(n)
        return Reader().read(n)
    """


def test_what_is_marked_to_be_ignored_and_all_that_only_it_reaches_changes_nothing(project: Project) -> None:
    words = {"form": "%d", "arguments": "n", "body": "print(FORMAT, n)", "plus": "1"}
    first = project({"job.py": IGNORING.format(**words)})
    assert project({"job.py": IGNORING.format(**{**words, "form": "%x"})}) == first
    assert project({"job.py": IGNORING.format(**{**words, "body": "raise OSError"})}) == first
    assert project({"job.py": IGNORING.format(**{**words, "arguments": "n, more=FORMAT"})}) == first
    assert project({"job.py": IGNORING.format(**{**words, "plus": "2"})}) != first
    assert project({"job.py": IGNORING.format(**words).replace("@ignore_for_version", "")}) != first
    aliased = IGNORING.format(**words).replace("import ignore_for_version", "import ignore_for_version as quiet")
    assert project({"job.py": aliased.replace("@ignore_for_version", "@quiet")}) == first


PARTS = """
    import helpers
    RATE = 2

    def twice(n):
        return n * RATE

    def asset_code(n):
        return helpers.plus(twice(n))
    """
HELPERS = "def plus(n):\n    return n + 1\n\ndef unused(n):\n    return n\n"


def parts_of(project: Project, files: Mapping[str, str], name: str = "asset_code") -> Code:
    project({**files, "job.py": files["job.py"] + f"\n    reached = {name}\n"})
    job = sys.modules["job"]
    return code_of(job.reached, sources=Sources(Path(str(job.__file__)).parent))


def test_the_parts_name_what_is_reached_and_tell_what_changed(project: Project) -> None:
    first = parts_of(project, {"job.py": PARTS, "helpers.py": HELPERS})
    assert first.own == "job.asset_code"
    assert set(first.parts) == {"job.asset_code", "job.twice", "job.RATE", "helpers.plus"}
    second = parts_of(project, {"job.py": PARTS, "helpers.py": HELPERS.replace("n + 1", "n + 2")})
    assert {name for name, digest in first.parts.items() if second.parts[name] != digest} == {"helpers.plus"}
    assert second.fingerprint != first.fingerprint


def test_a_part_keeps_its_digest_when_only_its_name_changes(project: Project) -> None:
    first = parts_of(project, {"job.py": PARTS, "helpers.py": HELPERS})
    renamed = PARTS.replace("asset_code", "other_name")
    second = parts_of(project, {"job.py": renamed + "\n    asset_code = None\n", "helpers.py": HELPERS}, "other_name")
    assert second.own == "job.other_name"
    assert second.parts[second.own] == first.parts[first.own]
    assert second.fingerprint == first.fingerprint, (
        "an asset whose function is renamed is made by the same code (ADR 10)"
    )


def test_an_explicit_version_has_no_parts() -> None:
    assert code_of(test_an_explicit_version_has_no_parts, sources=Sources(Path()), code_version="3").parts == {}
