"""The configuration of one deployment: `partita.toml` beside the user's project, overridden by PARTITA_* variables.

Owns: finding and reading the file, its schema, the paths derived from it. Every process of a deployment reads the same file.
Refuses: unknown settings and locations that nothing can load, each with the line's name and the fix.
"""

from __future__ import annotations

import os
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from partita.assets import PartitaError, reserved_pool, suggest
from partita.assets.queues import served_queues
from partita.core.config_alerts import AlertConfig, MaintenanceConfig, OwnerConfig, check_names, unset_variables

FILE_NAME = "partita.toml"


class ConfigError(PartitaError):
    """The configuration cannot be used; the message names the file, the setting and the fix."""


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


class LocationConfig(_Section):
    """One code location. With `address` its server runs elsewhere; without, `partita dev` starts it."""

    name: str = Field(pattern=r"^[A-Za-z0-9_.-]+$")
    modules: tuple[str, ...] = ()
    root: Path = Path()
    python: Path | None = None
    address: str | None = None
    env: Mapping[str, str] = Field(default_factory=dict)
    max_running: int | None = Field(default=None, ge=1)

    @model_validator(mode="after")
    def _loadable(self) -> Self:
        if not self.modules and self.address is None:
            raise ValueError(f"location `{self.name}` names neither `modules` to load nor the `address` of a server")
        return self


class DatabaseConfig(_Section):
    """`replica_url`: a read replica, which pages of history are read from."""

    url: str | None = None
    replica_url: str | None = None
    pool_size: int = Field(default=8, ge=2)


class WorkerConfig(_Section):
    """`capacity` attempts at a time, of tasks of these `queues` (None: of the default one, and it spreads them over all code
    servers); a worker that is silent for `lease_s` loses all of them."""

    capacity: int = Field(default=8, ge=1)
    queues: tuple[str, ...] | None = None
    lease_s: float = Field(default=30.0, gt=1)
    grace_s: float = Field(default=10.0, ge=0)

    @field_validator("queues")
    @classmethod
    def _named(cls, queues: tuple[str, ...] | None) -> tuple[str, ...] | None:
        try:
            return None if queues is None else served_queues(queues, "it")
        except PartitaError as refused:
            raise ValueError(str(refused)) from None


class TriggererConfig(_Section):
    """`capacity` waits at a time; what a triggerer watches that is silent for `lease_s` goes to the others."""

    capacity: int = Field(default=20_000, ge=1)
    lease_s: float = Field(default=30.0, gt=1)


class ApiConfig(_Section):
    """`public_url`: where people reach the UI; messages link to it."""

    public_url: str | None = None
    host: str = "127.0.0.1"
    port: int = Field(default=4040, ge=0, le=65535)


class ServerConfig(_Section):
    """Tasks pinned to a version that no server has any more wait `version_grace_s` for it; then they are planned again."""

    import_timeout_s: float = Field(default=60.0, gt=0)
    version_grace_s: float = Field(default=600.0, ge=0)


class AutomationConfig(_Section):
    """An automatic request of more than `max_cells` cells waits for a person, at most `approval_days` since it last changed."""

    max_cells: int = Field(default=500, ge=0)
    approval_days: float = Field(default=14.0, gt=0)


class LimitsConfig(_Section):
    """At most `max_running` tasks hold slots at once, of all locations together, and `max_active_per_run` of each run that
    is of no backfill and was given no limit of its own; None = only pools limit it."""

    max_running: int | None = Field(default=None, ge=1)
    max_active_per_run: int | None = Field(default=None, ge=1)


class LaneConfig(_Section):
    """`weight`: its part among the lanes that wait for the same slots; None = as built in, 1 for a lane of your own.
    `reserved` of each pool is kept for it."""

    weight: int | None = Field(default=None, ge=1, le=1_000)
    reserved: float = Field(default=0.0, ge=0, lt=1)


class RetentionConfig(_Section):
    """Finished history older than `days` is exported to `folder` and deleted; 0: it is kept for ever. A relative folder is one of
    the home folder; all schedulers share it."""

    days: float = Field(default=90.0, ge=0)
    folder: Path = Path("archive")

    @field_validator("days")
    @classmethod
    def _long_enough(cls, days: float) -> float:
        if 0 < days < 1:
            raise ValueError(
                "history is kept for a day at least (0: for ever): what is shown of it must not vanish meanwhile"
            )
        return days


class DevConfig(_Section):
    """`partita dev`: with `reload` it loads a location again when a module under its root changes."""

    reload: bool = True


class Config(_Section):
    """A whole `partita.toml`. `file` is where it was read; relative paths in it are relative to its folder."""

    file: Path
    home: Path = Path(".partita")
    locations: tuple[LocationConfig, ...] = ()
    database: DatabaseConfig = DatabaseConfig()
    worker: WorkerConfig = WorkerConfig()
    triggerer: TriggererConfig = TriggererConfig()
    api: ApiConfig = ApiConfig()
    code_server: ServerConfig = ServerConfig()
    dev: DevConfig = DevConfig()
    automation: AutomationConfig = AutomationConfig()
    limits: LimitsConfig = LimitsConfig()
    retention: RetentionConfig = RetentionConfig()
    pools: Mapping[str, Annotated[int, Field(ge=0)]] = Field(default_factory=dict)
    lanes: Mapping[str, LaneConfig] = Field(default_factory=dict)
    alerts: tuple[AlertConfig, ...] = ()
    owners: Mapping[str, OwnerConfig] = Field(default_factory=dict)
    maintenance: tuple[MaintenanceConfig, ...] = ()

    @model_validator(mode="after")
    def _one_name_each(self) -> Self:
        names = [location.name for location in self.locations]
        twice = {name for name in names if names.count(name) > 1}
        if twice:
            raise ValueError(f"location `{min(twice)}` is configured twice; give each [[location]] a name of its own")
        return self

    @model_validator(mode="after")
    def _no_caps_as_pools(self) -> Self:
        for name in self.pools:
            if reserved_pool(name):
                raise ValueError(
                    f"pool `{name}` has the name of a cap; caps are `max_running` under [limits] and [[location]], "
                    "`max_active_per_run` under [limits], and `max_active` of assets, backfills and runs"
                )
        return self

    @model_validator(mode="after")
    def _something_for_everybody(self) -> Self:
        reserved = sum(lane.reserved for lane in self.lanes.values())
        if reserved >= 1:
            raise ValueError(
                f"the lanes reserve {reserved:g} of each pool together; it has to be under 1, so that something is left for "
                "those that reserve nothing"
            )
        return self

    @property
    def folder(self) -> Path:
        return self.file.parent

    @property
    def logs(self) -> Path:
        return self.home / "logs"

    @property
    def postgres(self) -> Path:
        return self.home / "postgres"

    @property
    def archive(self) -> Path:
        """Where exported history is."""
        return self.home / self.retention.folder

    @property
    def announcements(self) -> Path:
        """Where code servers of this host say their address (`<location>-<server id>.json`)."""
        return self.home / "servers"

    def location(self, name: str) -> LocationConfig:
        for location in self.locations:
            if location.name == name:
                return location
        known = [location.name for location in self.locations]
        raise ConfigError(
            what=f"there is no location `{name}`",
            rule=f"{self.file.name} configures {', '.join(known) or 'none'}",
            fix=suggest(name, known) or f"add a [[location]] with this name to {self.file.name}",
        )


# Tables that come several times: their name in the file, and what each is.
_TABLES: Mapping[str, tuple[str, type[BaseModel]]] = {
    "locations": ("location", LocationConfig),
    "alerts": ("alert", AlertConfig),
    "maintenance": ("maintenance", MaintenanceConfig),
}


def load_config(start: Path | None = None, *, environ: Mapping[str, str] | None = None) -> Config:
    """Reads the nearest `partita.toml` at or above `start` (default: PARTITA_PROJECT, else the current folder).

    Raises ConfigError. PARTITA_HOME, PARTITA_DATABASE_URL, PARTITA_DATABASE_REPLICA_URL and PARTITA_API_PORT override the file.
    """
    environ = os.environ if environ is None else environ
    file = _find((start or Path(environ.get("PARTITA_PROJECT", "."))).absolute())
    try:
        content = tomllib.loads(file.read_text())
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(what=f"{file} is not valid TOML", rule=str(error), fix="mend that line") from error
    for name in content.keys() & {"locations", "alerts", "file"}:  # names of the model that are no settings
        raise _no_setting(f"{file.name}: `{name}`", name, _settings(()))
    content["locations"] = content.pop("location", [])
    content["alerts"] = content.pop("alert", [])
    try:
        config = Config(file=file, **content)
    except ValidationError as error:
        raise _explained(file, error) from error
    try:
        check_names(config.alerts)
    except ValueError as error:
        raise ConfigError(what=f"{file.name} cannot be used", rule=str(error), fix="correct it") from error
    return _resolved(config, environ)


def check_addresses(config: Config, *, environ: Mapping[str, str] | None = None) -> None:
    """Raises ConfigError when an address of an alert is to come from a variable that this process has not. For those that send:
    whoever only asks why a task waits, or checks the code in CI, needs no secrets."""
    unset = unset_variables(config.alerts, config.owners, os.environ if environ is None else environ)
    if unset:
        where, variable = unset[0]
        raise ConfigError(
            what=f"{config.file.name}: {where}: the variable {variable} is not set",
            rule="`to` takes an address from it, and schedulers send the messages",
            fix=f"set {variable} for this process, or take ${variable} out of `to`",
        )


def _find(start: Path) -> Path:
    if start.is_file():
        return start
    for folder in (start, *start.parents):
        if (folder / FILE_NAME).is_file():
            return folder / FILE_NAME
    raise ConfigError(
        what=f"no {FILE_NAME} in {start} or above it",
        rule="every command of a deployment reads the same file",
        fix="run it in the project's folder, or set PARTITA_PROJECT to that folder",
    )


def _explained(file: Path, error: ValidationError) -> ConfigError:
    first = error.errors()[0]
    loc = first["loc"]
    table = _TABLES.get(str(loc[0])) if len(loc) > 1 and isinstance(loc[1], int) else None
    place = f"[[{table[0]}]] {int(loc[1]) + 1}" if table is not None else ""
    setting = ".".join(str(part) for part in (loc[2:] if place else loc))
    what = f"{file.name}: " + ", ".join(part for part in (place, f"`{setting}`" if setting else "") if part)
    if first["type"] == "extra_forbidden":
        return _no_setting(what, str(loc[-1]), _settings(loc[:-1]))
    message = str(first["msg"]).removeprefix("Value error, ")
    return ConfigError(what=f"{what.removesuffix(': ')} cannot be used", rule=message, fix="correct it")


def _no_setting(what: str, name: str, known: list[str]) -> ConfigError:
    return ConfigError(
        what=f"{what} is no setting",
        rule=f"the settings there are {', '.join(known)}",
        fix=suggest(name, known) or "remove it",
    )


def _settings(table: tuple[int | str, ...]) -> list[str]:
    """The names that may stand in a table of the file, as they are written there."""
    if not table:
        return [_TABLES[name][0] if name in _TABLES else name for name in Config.model_fields if name != "file"]
    named = _TABLES.get(str(table[0]))
    kind = Config.model_fields[str(table[0])].annotation if named is None else named[1]
    return list(getattr(kind, "model_fields", {}))


def _resolved(config: Config, environ: Mapping[str, str]) -> Config:
    folder = config.file.parent
    home = Path(environ["PARTITA_HOME"]) if environ.get("PARTITA_HOME") else folder / config.home
    changes: dict[str, object] = {
        "home": home.absolute(),
        "locations": tuple(
            location.model_copy(
                update={
                    "root": (folder / location.root).absolute(),
                    # Not resolved: a virtual environment's python is a link whose place tells the environment.
                    "python": (folder / location.python).absolute() if location.python else Path(sys.executable),
                }
            )
            for location in config.locations
        ),
    }
    urls = {"url": environ.get("PARTITA_DATABASE_URL"), "replica_url": environ.get("PARTITA_DATABASE_REPLICA_URL")}
    if any(urls.values()):
        given = {name: url for name, url in urls.items() if url}
        changes["database"] = config.database.model_copy(update=given)
    if port := environ.get("PARTITA_API_PORT"):
        if not port.isdecimal() or int(port) > 65_535:
            raise ConfigError(
                what=f"PARTITA_API_PORT is {port!r}",
                rule="a port is a number from 0 to 65535",
                fix="correct or unset it",
            )
        changes["api"] = config.api.model_copy(update={"port": int(port)})
    return config.model_copy(update=changes)
