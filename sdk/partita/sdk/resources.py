"""Resources: what a step needs besides data (a connection, a client), declared as a class and found by its type.

Owns configuration from fields and environment, and the life of the objects: made once per process at first use, set
up in the process that uses them, torn down at its end. Refuses to print values, which may be credentials.
"""

from __future__ import annotations

import dataclasses
import os
import sys
from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import Any, Self, TypeVar, dataclass_transform, get_args, get_type_hints

from partita.assets import DefinitionError
from partita.sdk.secrets import find_secret, remember

R = TypeVar("R", bound="Resource")


@dataclass_transform(kw_only_default=True, eq_default=False, field_specifiers=(dataclasses.field,))
class Resource:
    """Base of resources. Annotated fields are its configuration, given by keyword or by the environment.

        class Warehouse(Resource):
            path: str
            threads: int = 2

    reads `WAREHOUSE_PATH` and `WAREHOUSE_THREADS` (`env_prefix` replaces the class name) unless an instance is handed
    to `materialize(resources=[...])`. A field of the type `SecretStr` is looked up as the secret of that name
    (`warehouse_token`) first, when a step runs. A pydantic model works as well: `class Warehouse(BaseModel, Resource)`.

    >>> class Warehouse(Resource):
    ...     path: str
    ...     threads: int = 2
    >>> Warehouse.from_env({"WAREHOUSE_PATH": "/data/shop.db", "WAREHOUSE_THREADS": "4"}).threads
    4
    >>> Warehouse.from_env({})
    Traceback (most recent call last):
        ...
    partita.assets.errors.DefinitionError: resource Warehouse is not configured: WAREHOUSE_PATH is not set; ...
    """

    def __init_subclass__(cls, *, env_prefix: str | None = None, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.__partita_env_prefix__ = cls.__name__.upper() if env_prefix is None else env_prefix.upper()  # type: ignore[attr-defined]
        # Kept, because annotations are evaluated at first use and the module may have been imported anew by then.
        cls.__partita_globals__ = vars(sys.modules[cls.__module__])  # type: ignore[attr-defined]
        if not _is_pydantic(cls):
            dataclasses.dataclass(kw_only=True, eq=False, repr=False)(cls)

    def setup(self) -> None:
        """Called once before the first use, in the process that runs the step."""

    def teardown(self) -> None:
        """Called once at the end of that process' work, in reverse order of set-up."""

    @classmethod
    def from_env(cls, environ: Mapping[str, str] | None = None) -> Self:
        """Make the resource from its environment variables and defaults; names every variable that is missing."""
        env = os.environ if environ is None else environ
        given: dict[str, Any] = {}
        missing: list[str] = []
        for name, annotation, required in _fields(cls):
            variable = f"{cls.__partita_env_prefix__}_{name.upper()}"  # type: ignore[attr-defined]
            text = _text_of(variable, annotation, environ, env)
            if text is not None:
                given[name] = _parse(text, annotation, variable)
            elif required:
                missing.append(variable)
        if missing:
            raise DefinitionError(
                f"resource {cls.__name__} is not configured: {', '.join(missing)} is not set",
                rule="a field without a default comes from the environment of the code location",
                fix=f"set {missing[0]}, give the field a default, or hand in an instance",
            )
        return cls(**given)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {' '.join(name for name, _, _ in _fields(type(self)))}>"


class ResourceScope:
    """The resources of one process' work: made lazily, one of each class, torn down in reverse order at the end."""

    def __init__(self, given: Iterable[Resource] = ()) -> None:
        self._given: dict[type[Resource], Resource] = {type(one): one for one in given}
        self._ready: dict[type[Resource], Resource] = {}

    def get(self, kind: type[R]) -> R:
        """The ready resource of that class (or of a subclass that was handed in)."""
        if kind not in self._ready:
            made = self._find_given(kind) or kind.from_env()
            made.setup()
            self._ready[kind] = made
        found = self._ready[kind]
        assert isinstance(found, kind)
        return found

    def close(self) -> None:
        """Tear down in reverse order; the first error is raised after all were torn down."""
        errors: list[Exception] = []
        while self._ready:
            _, one = self._ready.popitem()
            try:
                one.teardown()
            except Exception as error:
                errors.append(error)
        if errors:
            raise errors[0]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    def _find_given(self, kind: type[R]) -> R | None:
        if kind in self._given:
            exact = self._given[kind]
            assert isinstance(exact, kind)
            return exact
        return next((one for one in self._given.values() if isinstance(one, kind)), None)


def _is_pydantic(cls: type) -> bool:
    return any(base.__module__.startswith("pydantic.") for base in cls.__mro__)


def _fields(cls: type[Resource]) -> list[tuple[str, Any, bool]]:
    """Name, annotation and whether it must be given."""
    if _is_pydantic(cls):
        models: Mapping[str, Any] = cls.model_fields  # type: ignore[attr-defined]
        return [(name, field.annotation, field.is_required()) for name, field in models.items()]
    hints: dict[str, Any] = {}
    for base in reversed([one for one in cls.__mro__ if issubclass(one, Resource) and one is not Resource]):
        hints |= get_type_hints(base, vars(base)["__partita_globals__"], include_extras=True)
    return [
        (
            field.name,
            hints[field.name],
            field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING,
        )
        for field in dataclasses.fields(cls)  # type: ignore[arg-type]
        if field.init
    ]


def _text_of(variable: str, annotation: Any, environ: Mapping[str, str] | None, env: Mapping[str, str]) -> str | None:
    """What configures a field; a secret one (`SecretStr`) is looked up as such first."""
    if not _is_secret(annotation):
        return env.get(variable)
    found = find_secret(variable.lower(), environ)
    if found is None and variable in env:
        remember(env[variable])
        return env[variable]
    return found


def _is_secret(annotation: Any) -> bool:
    from pydantic import SecretStr

    return annotation is SecretStr or SecretStr in get_args(annotation)


def _parse(text: str, annotation: Any, variable: str) -> Any:
    from pydantic import TypeAdapter, ValidationError

    adapter: TypeAdapter[Any] = TypeAdapter(annotation)
    try:
        try:
            return adapter.validate_strings(text)
        except ValidationError:
            return adapter.validate_json(text)  # lists and dicts are written as JSON
    except ValidationError as error:
        raise DefinitionError(
            f"{variable} does not fit {annotation}",
            rule=error.errors(include_input=False)[0]["msg"],  # never the value: it may be a credential
            fix="correct the environment of the code location",
        ) from None
