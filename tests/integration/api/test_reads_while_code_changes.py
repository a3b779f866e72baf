"""What is read while other definitions become active is all of one version: the one that the reading began with."""

from __future__ import annotations

from typing import Any

import pytest

from partita.ui.api.services.board import Board


def test_a_list_is_of_the_definitions_that_it_began_with(world: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    world.activate([world.spec("before")], checks=())
    services = world.new_services()
    view = Board.view

    def activated_first(board: Board, *asked: Any) -> Any:
        world.activate([world.spec("afterwards")], checks=())
        return view(board, *asked)

    monkeypatch.setattr(Board, "view", activated_first)
    assert [one.key for one in services.assets.find().assets] == ["before"]
    assert [one.key for one in services.assets.find().assets] == ["afterwards"]
    world.activate([world.spec("before")], checks=())
    assert services.assets.detail("before").key == "before"
    world.activate([world.spec("before")], checks=())
    assert [node.key for node in services.assets.graph().nodes] == ["before"]
