"""`@check`: a test of one asset's written and unpublished data, recorded beside the asset and run in its attempt."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec

from partita.assets import DefinitionError, asset_key
from partita.sdk.collector import caller, current
from partita.sdk.definitions import CheckDef
from partita.sdk.handles import CheckFunction
from partita.sdk.option_types import check_function, check_options, description_of
from partita.sdk.outcomes import CheckResult
from partita.sdk.references import HasKey
from partita.sdk.signature import signature_of

P = ParamSpec("P")


class _CheckDecorator:
    def __init__(
        self,
        asset: str | HasKey,
        *,
        name: str | None,
        blocking: bool,
        description: str | None,
        code_version: str | None,
    ) -> None:
        if not isinstance(asset, str | HasKey):
            raise DefinitionError(
                f"check({asset!r})", rule="a check names an asset of this location, or its key", fix="name the asset"
            )
        given = {"name": name, "blocking": blocking, "description": description, "code_version": code_version}
        check_options(given, f"check of {asset if isinstance(asset, str) else asset.key}")
        self._asset = asset_key(asset) if isinstance(asset, str) else asset
        self._name = name
        self._blocking = blocking
        self._description = description
        self._code_version = code_version

    def __call__(self, function: Callable[P, bool | CheckResult]) -> CheckFunction[P, bool | CheckResult]:
        site = caller(1)
        name = self._name or str(getattr(function, "__name__", function))
        check_function(function, f"check {name!r}")
        signature = signature_of(function, owner=f"check {name!r}", local_names=site.local_names)
        if signature.returns not in (bool, CheckResult, bool | CheckResult, Any):
            raise DefinitionError(
                f"check {name!r} returns {signature.returns!r}", rule="a check returns bool or CheckResult"
            )
        made = CheckDef(
            name=name,
            asset=self._asset,
            function=function,
            signature=signature,
            blocking=self._blocking,
            description=description_of(function, self._description),
            code_version=self._code_version,
            place=site.place,
        )
        current().add_check(made)
        return CheckFunction(function, made)


def check(
    asset: str | HasKey,
    /,
    *,
    name: str | None = None,
    blocking: bool = False,
    description: str | None = None,
    code_version: str | None = None,
) -> _CheckDecorator:
    """Declare a check of one asset. It runs in the attempt, per partition, on the written and unpublished data.

    The parameter named like the asset receives the cell; others may be the step's own inputs, the Context, resources.
    A cell whose `blocking` check fails is not published.

    >>> @asset
    ... def orders() -> Relation:
    ...     return Relation.from_rows([{"amount": -1}])
    >>> @check(orders, blocking=True)
    ... def amounts_are_positive(orders: Relation) -> bool:
    ...     return orders.sql("select bool_and(amount > 0) from self").scalar()
    >>> materialize(orders, raise_on_error=False).success
    False
    """
    return _CheckDecorator(asset, name=name, blocking=blocking, description=description, code_version=code_version)
