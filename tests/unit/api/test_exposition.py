"""The text format of Prometheus: names, kinds, labels with anything in them."""

from __future__ import annotations

import re

from partita.ui.api.services.metrics import Metric, exposition


def test_a_metric_says_what_it_is_before_its_samples() -> None:
    text = exposition([Metric("partita_tasks", "gauge", "Tasks.", (({"state": "queued"}, 3.0), ({}, 0.125)))])
    assert text == (
        '# HELP partita_tasks Tasks.\n# TYPE partita_tasks gauge\npartita_tasks{state="queued"} 3\npartita_tasks 0.125\n'
    )


def test_names_of_pools_are_data() -> None:
    """Law 9: quotes, backslashes and line ends in a label are escaped."""
    text = exposition([Metric("m", "gauge", "h", (({"pool": 'a "b" \\ c\nd'}, 1.0),))])
    [line] = [line for line in text.splitlines() if not line.startswith("#")]
    assert line == r'm{pool="a \"b\" \\ c\nd"} 1'


def test_numbers_are_numbers() -> None:
    text = exposition([Metric("m", "counter", "h", tuple(({}, value) for value in (0.0, 1e15, 1 / 3, 12_345_678.0)))])
    values = [line.split()[-1] for line in text.splitlines() if not line.startswith("#")]
    assert all(re.fullmatch(r"[0-9.]+(e[+-]?[0-9]+)?", value) for value in values)
    assert [float(value) for value in values] == [0.0, 1e15, round(1 / 3, 12), 12_345_678.0]
