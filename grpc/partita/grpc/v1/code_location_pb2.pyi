from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class GetStatusRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ModuleStatus(_message.Message):
    __slots__ = ("name", "ok", "error", "import_seconds", "warning")
    NAME_FIELD_NUMBER: _ClassVar[int]
    OK_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    IMPORT_SECONDS_FIELD_NUMBER: _ClassVar[int]
    WARNING_FIELD_NUMBER: _ClassVar[int]
    name: str
    ok: bool
    error: str
    import_seconds: float
    warning: str
    def __init__(self, name: _Optional[str] = ..., ok: _Optional[bool] = ..., error: _Optional[str] = ..., import_seconds: _Optional[float] = ..., warning: _Optional[str] = ...) -> None: ...

class VersionStatus(_message.Message):
    __slots__ = ("version", "accepts_new", "running_attempts")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    ACCEPTS_NEW_FIELD_NUMBER: _ClassVar[int]
    RUNNING_ATTEMPTS_FIELD_NUMBER: _ClassVar[int]
    version: str
    accepts_new: bool
    running_attempts: int
    def __init__(self, version: _Optional[str] = ..., accepts_new: _Optional[bool] = ..., running_attempts: _Optional[int] = ...) -> None: ...

class LocationStatus(_message.Message):
    __slots__ = ("location", "active_version", "versions", "modules", "server_id", "loading", "error")
    LOCATION_FIELD_NUMBER: _ClassVar[int]
    ACTIVE_VERSION_FIELD_NUMBER: _ClassVar[int]
    VERSIONS_FIELD_NUMBER: _ClassVar[int]
    MODULES_FIELD_NUMBER: _ClassVar[int]
    SERVER_ID_FIELD_NUMBER: _ClassVar[int]
    LOADING_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    location: str
    active_version: str
    versions: _containers.RepeatedCompositeFieldContainer[VersionStatus]
    modules: _containers.RepeatedCompositeFieldContainer[ModuleStatus]
    server_id: str
    loading: bool
    error: str
    def __init__(self, location: _Optional[str] = ..., active_version: _Optional[str] = ..., versions: _Optional[_Iterable[_Union[VersionStatus, _Mapping]]] = ..., modules: _Optional[_Iterable[_Union[ModuleStatus, _Mapping]]] = ..., server_id: _Optional[str] = ..., loading: _Optional[bool] = ..., error: _Optional[str] = ...) -> None: ...

class GetDefinitionsRequest(_message.Message):
    __slots__ = ("version", "known_hash")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    KNOWN_HASH_FIELD_NUMBER: _ClassVar[int]
    version: str
    known_hash: str
    def __init__(self, version: _Optional[str] = ..., known_hash: _Optional[str] = ...) -> None: ...

class DefinitionsChunk(_message.Message):
    __slots__ = ("header", "body")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    BODY_FIELD_NUMBER: _ClassVar[int]
    header: DefinitionsHeader
    body: bytes
    def __init__(self, header: _Optional[_Union[DefinitionsHeader, _Mapping]] = ..., body: _Optional[bytes] = ...) -> None: ...

class DefinitionsHeader(_message.Message):
    __slots__ = ("hash", "unchanged", "total_bytes")
    HASH_FIELD_NUMBER: _ClassVar[int]
    UNCHANGED_FIELD_NUMBER: _ClassVar[int]
    TOTAL_BYTES_FIELD_NUMBER: _ClassVar[int]
    hash: str
    unchanged: bool
    total_bytes: int
    def __init__(self, hash: _Optional[str] = ..., unchanged: _Optional[bool] = ..., total_bytes: _Optional[int] = ...) -> None: ...

class ReloadRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class InputCell(_message.Message):
    __slots__ = ("partition", "data_version", "location")
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    DATA_VERSION_FIELD_NUMBER: _ClassVar[int]
    LOCATION_FIELD_NUMBER: _ClassVar[int]
    partition: str
    data_version: str
    location: str
    def __init__(self, partition: _Optional[str] = ..., data_version: _Optional[str] = ..., location: _Optional[str] = ...) -> None: ...

class InputBinding(_message.Message):
    __slots__ = ("name", "upstream", "io", "partitions_spec", "cells")
    NAME_FIELD_NUMBER: _ClassVar[int]
    UPSTREAM_FIELD_NUMBER: _ClassVar[int]
    IO_FIELD_NUMBER: _ClassVar[int]
    PARTITIONS_SPEC_FIELD_NUMBER: _ClassVar[int]
    CELLS_FIELD_NUMBER: _ClassVar[int]
    name: str
    upstream: str
    io: str
    partitions_spec: bytes
    cells: _containers.RepeatedCompositeFieldContainer[InputCell]
    def __init__(self, name: _Optional[str] = ..., upstream: _Optional[str] = ..., io: _Optional[str] = ..., partitions_spec: _Optional[bytes] = ..., cells: _Optional[_Iterable[_Union[InputCell, _Mapping]]] = ...) -> None: ...

class TargetCell(_message.Message):
    __slots__ = ("asset", "partition", "window_start_us", "window_end_us")
    ASSET_FIELD_NUMBER: _ClassVar[int]
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    WINDOW_START_US_FIELD_NUMBER: _ClassVar[int]
    WINDOW_END_US_FIELD_NUMBER: _ClassVar[int]
    asset: str
    partition: str
    window_start_us: int
    window_end_us: int
    def __init__(self, asset: _Optional[str] = ..., partition: _Optional[str] = ..., window_start_us: _Optional[int] = ..., window_end_us: _Optional[int] = ...) -> None: ...

class ExecuteRequest(_message.Message):
    __slots__ = ("attempt_id", "version", "step", "attempt_number", "run_id", "cells", "inputs", "params", "timeout_seconds", "grace_seconds", "fence", "events", "evaluation", "traceparent")
    ATTEMPT_ID_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    STEP_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_NUMBER_FIELD_NUMBER: _ClassVar[int]
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    CELLS_FIELD_NUMBER: _ClassVar[int]
    INPUTS_FIELD_NUMBER: _ClassVar[int]
    PARAMS_FIELD_NUMBER: _ClassVar[int]
    TIMEOUT_SECONDS_FIELD_NUMBER: _ClassVar[int]
    GRACE_SECONDS_FIELD_NUMBER: _ClassVar[int]
    FENCE_FIELD_NUMBER: _ClassVar[int]
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    EVALUATION_FIELD_NUMBER: _ClassVar[int]
    TRACEPARENT_FIELD_NUMBER: _ClassVar[int]
    attempt_id: str
    version: str
    step: str
    attempt_number: int
    run_id: int
    cells: _containers.RepeatedCompositeFieldContainer[TargetCell]
    inputs: _containers.RepeatedCompositeFieldContainer[InputBinding]
    params: bytes
    timeout_seconds: float
    grace_seconds: float
    fence: int
    events: _containers.RepeatedCompositeFieldContainer[WaitEvent]
    evaluation: Evaluation
    traceparent: str
    def __init__(self, attempt_id: _Optional[str] = ..., version: _Optional[str] = ..., step: _Optional[str] = ..., attempt_number: _Optional[int] = ..., run_id: _Optional[int] = ..., cells: _Optional[_Iterable[_Union[TargetCell, _Mapping]]] = ..., inputs: _Optional[_Iterable[_Union[InputBinding, _Mapping]]] = ..., params: _Optional[bytes] = ..., timeout_seconds: _Optional[float] = ..., grace_seconds: _Optional[float] = ..., fence: _Optional[int] = ..., events: _Optional[_Iterable[_Union[WaitEvent, _Mapping]]] = ..., evaluation: _Optional[_Union[Evaluation, _Mapping]] = ..., traceparent: _Optional[str] = ...) -> None: ...

class Evaluation(_message.Message):
    __slots__ = ("name", "given")
    NAME_FIELD_NUMBER: _ClassVar[int]
    GIVEN_FIELD_NUMBER: _ClassVar[int]
    name: str
    given: bytes
    def __init__(self, name: _Optional[str] = ..., given: _Optional[bytes] = ...) -> None: ...

class WaitEvent(_message.Message):
    __slots__ = ("place", "trigger", "args", "payload")
    PLACE_FIELD_NUMBER: _ClassVar[int]
    TRIGGER_FIELD_NUMBER: _ClassVar[int]
    ARGS_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_FIELD_NUMBER: _ClassVar[int]
    place: int
    trigger: str
    args: bytes
    payload: bytes
    def __init__(self, place: _Optional[int] = ..., trigger: _Optional[str] = ..., args: _Optional[bytes] = ..., payload: _Optional[bytes] = ...) -> None: ...

class Deferral(_message.Message):
    __slots__ = ("place", "trigger", "args", "label", "deadline_seconds", "poll_seconds")
    PLACE_FIELD_NUMBER: _ClassVar[int]
    TRIGGER_FIELD_NUMBER: _ClassVar[int]
    ARGS_FIELD_NUMBER: _ClassVar[int]
    LABEL_FIELD_NUMBER: _ClassVar[int]
    DEADLINE_SECONDS_FIELD_NUMBER: _ClassVar[int]
    POLL_SECONDS_FIELD_NUMBER: _ClassVar[int]
    place: int
    trigger: str
    args: bytes
    label: str
    deadline_seconds: float
    poll_seconds: float
    def __init__(self, place: _Optional[int] = ..., trigger: _Optional[str] = ..., args: _Optional[bytes] = ..., label: _Optional[str] = ..., deadline_seconds: _Optional[float] = ..., poll_seconds: _Optional[float] = ...) -> None: ...

class ExecuteEvents(_message.Message):
    __slots__ = ("events",)
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    events: _containers.RepeatedCompositeFieldContainer[ExecuteEvent]
    def __init__(self, events: _Optional[_Iterable[_Union[ExecuteEvent, _Mapping]]] = ...) -> None: ...

class ExecuteEvent(_message.Message):
    __slots__ = ("started", "log", "cell", "check", "finished")
    STARTED_FIELD_NUMBER: _ClassVar[int]
    LOG_FIELD_NUMBER: _ClassVar[int]
    CELL_FIELD_NUMBER: _ClassVar[int]
    CHECK_FIELD_NUMBER: _ClassVar[int]
    FINISHED_FIELD_NUMBER: _ClassVar[int]
    started: Started
    log: LogLines
    cell: CellOutcome
    check: CheckOutcome
    finished: Finished
    def __init__(self, started: _Optional[_Union[Started, _Mapping]] = ..., log: _Optional[_Union[LogLines, _Mapping]] = ..., cell: _Optional[_Union[CellOutcome, _Mapping]] = ..., check: _Optional[_Union[CheckOutcome, _Mapping]] = ..., finished: _Optional[_Union[Finished, _Mapping]] = ...) -> None: ...

class Started(_message.Message):
    __slots__ = ("pid", "at_us")
    PID_FIELD_NUMBER: _ClassVar[int]
    AT_US_FIELD_NUMBER: _ClassVar[int]
    pid: int
    at_us: int
    def __init__(self, pid: _Optional[int] = ..., at_us: _Optional[int] = ...) -> None: ...

class LogLine(_message.Message):
    __slots__ = ("at_us", "stream", "level", "text")
    class Stream(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        STREAM_UNSPECIFIED: _ClassVar[LogLine.Stream]
        STDOUT: _ClassVar[LogLine.Stream]
        STDERR: _ClassVar[LogLine.Stream]
        LOG: _ClassVar[LogLine.Stream]
        SYSTEM: _ClassVar[LogLine.Stream]
    STREAM_UNSPECIFIED: LogLine.Stream
    STDOUT: LogLine.Stream
    STDERR: LogLine.Stream
    LOG: LogLine.Stream
    SYSTEM: LogLine.Stream
    AT_US_FIELD_NUMBER: _ClassVar[int]
    STREAM_FIELD_NUMBER: _ClassVar[int]
    LEVEL_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    at_us: int
    stream: LogLine.Stream
    level: str
    text: str
    def __init__(self, at_us: _Optional[int] = ..., stream: _Optional[_Union[LogLine.Stream, str]] = ..., level: _Optional[str] = ..., text: _Optional[str] = ...) -> None: ...

class LogLines(_message.Message):
    __slots__ = ("lines",)
    LINES_FIELD_NUMBER: _ClassVar[int]
    lines: _containers.RepeatedCompositeFieldContainer[LogLine]
    def __init__(self, lines: _Optional[_Iterable[_Union[LogLine, _Mapping]]] = ...) -> None: ...

class CellOutcome(_message.Message):
    __slots__ = ("asset", "partition", "kind", "data_version", "location", "metadata", "error")
    class Kind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        KIND_UNSPECIFIED: _ClassVar[CellOutcome.Kind]
        WRITTEN: _ClassVar[CellOutcome.Kind]
        SKIPPED: _ClassVar[CellOutcome.Kind]
        FAILED: _ClassVar[CellOutcome.Kind]
    KIND_UNSPECIFIED: CellOutcome.Kind
    WRITTEN: CellOutcome.Kind
    SKIPPED: CellOutcome.Kind
    FAILED: CellOutcome.Kind
    ASSET_FIELD_NUMBER: _ClassVar[int]
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    DATA_VERSION_FIELD_NUMBER: _ClassVar[int]
    LOCATION_FIELD_NUMBER: _ClassVar[int]
    METADATA_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    asset: str
    partition: str
    kind: CellOutcome.Kind
    data_version: str
    location: str
    metadata: bytes
    error: str
    def __init__(self, asset: _Optional[str] = ..., partition: _Optional[str] = ..., kind: _Optional[_Union[CellOutcome.Kind, str]] = ..., data_version: _Optional[str] = ..., location: _Optional[str] = ..., metadata: _Optional[bytes] = ..., error: _Optional[str] = ...) -> None: ...

class CheckOutcome(_message.Message):
    __slots__ = ("check", "asset", "partition", "passed", "blocking", "detail")
    CHECK_FIELD_NUMBER: _ClassVar[int]
    ASSET_FIELD_NUMBER: _ClassVar[int]
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    PASSED_FIELD_NUMBER: _ClassVar[int]
    BLOCKING_FIELD_NUMBER: _ClassVar[int]
    DETAIL_FIELD_NUMBER: _ClassVar[int]
    check: str
    asset: str
    partition: str
    passed: bool
    blocking: bool
    detail: bytes
    def __init__(self, check: _Optional[str] = ..., asset: _Optional[str] = ..., partition: _Optional[str] = ..., passed: _Optional[bool] = ..., blocking: _Optional[bool] = ..., detail: _Optional[bytes] = ...) -> None: ...

class Finished(_message.Message):
    __slots__ = ("status", "error", "traceback", "retry_in_seconds", "at_us", "peak_rss_bytes", "cpu_seconds", "deferral", "added", "evaluated")
    class Status(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        STATUS_UNSPECIFIED: _ClassVar[Finished.Status]
        SUCCESS: _ClassVar[Finished.Status]
        FAILED: _ClassVar[Finished.Status]
        RETRY_LATER: _ClassVar[Finished.Status]
        TIMED_OUT: _ClassVar[Finished.Status]
        CANCELLED: _ClassVar[Finished.Status]
        LOST: _ClassVar[Finished.Status]
        VERSION_GONE: _ClassVar[Finished.Status]
        SKIPPED: _ClassVar[Finished.Status]
        FAILED_FOR_GOOD: _ClassVar[Finished.Status]
        DEFERRED: _ClassVar[Finished.Status]
    STATUS_UNSPECIFIED: Finished.Status
    SUCCESS: Finished.Status
    FAILED: Finished.Status
    RETRY_LATER: Finished.Status
    TIMED_OUT: Finished.Status
    CANCELLED: Finished.Status
    LOST: Finished.Status
    VERSION_GONE: Finished.Status
    SKIPPED: Finished.Status
    FAILED_FOR_GOOD: Finished.Status
    DEFERRED: Finished.Status
    STATUS_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    TRACEBACK_FIELD_NUMBER: _ClassVar[int]
    RETRY_IN_SECONDS_FIELD_NUMBER: _ClassVar[int]
    AT_US_FIELD_NUMBER: _ClassVar[int]
    PEAK_RSS_BYTES_FIELD_NUMBER: _ClassVar[int]
    CPU_SECONDS_FIELD_NUMBER: _ClassVar[int]
    DEFERRAL_FIELD_NUMBER: _ClassVar[int]
    ADDED_FIELD_NUMBER: _ClassVar[int]
    EVALUATED_FIELD_NUMBER: _ClassVar[int]
    status: Finished.Status
    error: str
    traceback: str
    retry_in_seconds: float
    at_us: int
    peak_rss_bytes: int
    cpu_seconds: float
    deferral: Deferral
    added: _containers.RepeatedCompositeFieldContainer[AddedKeys]
    evaluated: bytes
    def __init__(self, status: _Optional[_Union[Finished.Status, str]] = ..., error: _Optional[str] = ..., traceback: _Optional[str] = ..., retry_in_seconds: _Optional[float] = ..., at_us: _Optional[int] = ..., peak_rss_bytes: _Optional[int] = ..., cpu_seconds: _Optional[float] = ..., deferral: _Optional[_Union[Deferral, _Mapping]] = ..., added: _Optional[_Iterable[_Union[AddedKeys, _Mapping]]] = ..., evaluated: _Optional[bytes] = ...) -> None: ...

class AddedKeys(_message.Message):
    __slots__ = ("scheme", "keys")
    SCHEME_FIELD_NUMBER: _ClassVar[int]
    KEYS_FIELD_NUMBER: _ClassVar[int]
    scheme: str
    keys: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, scheme: _Optional[str] = ..., keys: _Optional[_Iterable[str]] = ...) -> None: ...

class CancelRequest(_message.Message):
    __slots__ = ("attempt_id", "reason")
    ATTEMPT_ID_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    attempt_id: str
    reason: str
    def __init__(self, attempt_id: _Optional[str] = ..., reason: _Optional[str] = ...) -> None: ...

class CancelReply(_message.Message):
    __slots__ = ("known",)
    KNOWN_FIELD_NUMBER: _ClassVar[int]
    known: bool
    def __init__(self, known: _Optional[bool] = ...) -> None: ...

class TriggerCommands(_message.Message):
    __slots__ = ("commands",)
    COMMANDS_FIELD_NUMBER: _ClassVar[int]
    commands: _containers.RepeatedCompositeFieldContainer[TriggerCommand]
    def __init__(self, commands: _Optional[_Iterable[_Union[TriggerCommand, _Mapping]]] = ...) -> None: ...

class TriggerCommand(_message.Message):
    __slots__ = ("open", "watch", "unwatch")
    OPEN_FIELD_NUMBER: _ClassVar[int]
    WATCH_FIELD_NUMBER: _ClassVar[int]
    UNWATCH_FIELD_NUMBER: _ClassVar[int]
    open: OpenTriggers
    watch: WatchTrigger
    unwatch: UnwatchTrigger
    def __init__(self, open: _Optional[_Union[OpenTriggers, _Mapping]] = ..., watch: _Optional[_Union[WatchTrigger, _Mapping]] = ..., unwatch: _Optional[_Union[UnwatchTrigger, _Mapping]] = ...) -> None: ...

class OpenTriggers(_message.Message):
    __slots__ = ("version",)
    VERSION_FIELD_NUMBER: _ClassVar[int]
    version: str
    def __init__(self, version: _Optional[str] = ...) -> None: ...

class WatchTrigger(_message.Message):
    __slots__ = ("wait", "trigger", "args", "poll_seconds", "since_us")
    WAIT_FIELD_NUMBER: _ClassVar[int]
    TRIGGER_FIELD_NUMBER: _ClassVar[int]
    ARGS_FIELD_NUMBER: _ClassVar[int]
    POLL_SECONDS_FIELD_NUMBER: _ClassVar[int]
    SINCE_US_FIELD_NUMBER: _ClassVar[int]
    wait: str
    trigger: str
    args: bytes
    poll_seconds: float
    since_us: int
    def __init__(self, wait: _Optional[str] = ..., trigger: _Optional[str] = ..., args: _Optional[bytes] = ..., poll_seconds: _Optional[float] = ..., since_us: _Optional[int] = ...) -> None: ...

class UnwatchTrigger(_message.Message):
    __slots__ = ("wait",)
    WAIT_FIELD_NUMBER: _ClassVar[int]
    wait: str
    def __init__(self, wait: _Optional[str] = ...) -> None: ...

class TriggerEvents(_message.Message):
    __slots__ = ("events",)
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    events: _containers.RepeatedCompositeFieldContainer[TriggerEvent]
    def __init__(self, events: _Optional[_Iterable[_Union[TriggerEvent, _Mapping]]] = ...) -> None: ...

class TriggerEvent(_message.Message):
    __slots__ = ("fired", "broken")
    FIRED_FIELD_NUMBER: _ClassVar[int]
    BROKEN_FIELD_NUMBER: _ClassVar[int]
    fired: TriggerFired
    broken: TriggerBroken
    def __init__(self, fired: _Optional[_Union[TriggerFired, _Mapping]] = ..., broken: _Optional[_Union[TriggerBroken, _Mapping]] = ...) -> None: ...

class TriggerFired(_message.Message):
    __slots__ = ("wait", "payload")
    WAIT_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_FIELD_NUMBER: _ClassVar[int]
    wait: str
    payload: bytes
    def __init__(self, wait: _Optional[str] = ..., payload: _Optional[bytes] = ...) -> None: ...

class TriggerBroken(_message.Message):
    __slots__ = ("wait", "error", "traceback")
    WAIT_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    TRACEBACK_FIELD_NUMBER: _ClassVar[int]
    wait: str
    error: str
    traceback: str
    def __init__(self, wait: _Optional[str] = ..., error: _Optional[str] = ..., traceback: _Optional[str] = ...) -> None: ...
