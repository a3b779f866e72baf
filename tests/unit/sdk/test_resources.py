"""Resources: configuration from the environment, life, and silence about values (S-035)."""

from __future__ import annotations

import pytest
from pydantic import BaseModel, SecretStr

from partita.assets import DefinitionError
from partita.sdk import Resource
from partita.sdk.resources import ResourceScope


class Plain(Resource):
    url: str
    sizes: tuple[int, ...] = (1,)
    loud: bool = False


class Prefixed(Resource, env_prefix="shop"):
    token: str


class Modelled(BaseModel, Resource):
    token: SecretStr
    retries: int = 3


class Child(Plain):
    more: int = 0


def test_fields_come_from_the_environment_and_are_converted() -> None:
    made = Plain.from_env({"PLAIN_URL": "u", "PLAIN_SIZES": "[3, 4]", "PLAIN_LOUD": "true"})
    assert (made.url, made.sizes, made.loud) == ("u", (3, 4), True)
    assert Prefixed.from_env({"SHOP_TOKEN": "t"}).token == "t"
    assert Child.from_env({"CHILD_URL": "u", "CHILD_MORE": "2"}).more == 2


def test_a_pydantic_model_is_a_resource_too() -> None:
    made = Modelled.from_env({"MODELLED_TOKEN": "s3cret", "MODELLED_RETRIES": "5"})
    assert (made.token.get_secret_value(), made.retries) == ("s3cret", 5)


def test_all_missing_variables_are_named_and_no_value_is_shown() -> None:
    with pytest.raises(DefinitionError, match="resource Plain is not configured: PLAIN_URL is not set"):
        Plain.from_env({})
    with pytest.raises(DefinitionError) as caught:
        Plain.from_env({"PLAIN_URL": "u", "PLAIN_LOUD": "s3cret"})
    assert "PLAIN_LOUD" in str(caught.value)
    assert "s3cret" not in str(caught.value)
    assert "s3cret" not in repr(Plain(url="s3cret"))


class Logged(Resource):
    log: list[str]

    def setup(self) -> None:
        self.log.append(f"+{type(self).__name__}")

    def teardown(self) -> None:
        self.log.append(f"-{type(self).__name__}")
        if isinstance(self, Second):
            raise RuntimeError("stuck")


class First(Logged):
    pass


class Second(Logged):
    pass


def test_each_is_made_once_at_first_use_and_torn_down_in_reverse_even_when_one_fails() -> None:
    log: list[str] = []
    scope = ResourceScope([First(log=log), Second(log=log)])
    assert log == []
    assert scope.get(First) is scope.get(First)
    scope.get(Second)
    with pytest.raises(RuntimeError, match="stuck"):
        scope.close()
    assert log == ["+First", "+Second", "-Second", "-First"]


def test_a_given_subclass_stands_for_its_base() -> None:
    given = Child(url="u")
    assert ResourceScope([given]).get(Plain) is given
