"""The examples in docstrings of the model run."""

from __future__ import annotations

import doctest
from importlib import import_module
from pkgutil import walk_packages

import pytest

import partita.assets

MODULES = sorted(one.name for one in walk_packages(partita.assets.__path__, "partita.assets."))


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    module = import_module(name)
    failed, _ = doctest.testmod(module, extraglobs=vars(partita.assets))
    assert failed == 0
