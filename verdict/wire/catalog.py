"""The aggregates of an application with their codecs, made once for each application."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

from verdict.model.aggregate import Aggregate
from verdict.model.application import Application
from verdict.model.message import Event, Message
from verdict.model.recorded_event import RecordedEvent
from verdict.model.source import Source
from verdict.wire.avro.envelope import SoundCommands
from verdict.wire.avro.reader import Reader, avro_reader, row_reader
from verdict.wire.avro.writer import Writer, avro_writer, field_writer
from verdict.wire.codec import HEADER_BYTES, Codec, prefix_of
from verdict.wire.schemas.derive import RecordSchema
from verdict.wire.schemas.files import SchemaFiles, SchemaVersion


class EventWriter(NamedTuple):
    """Writes events of the newest schema piece by piece, each after `prefix`."""

    prefix: bytes
    write_payload: Writer


@dataclass(frozen=True, eq=False)
class AggregateContext:
    """One aggregate type with its codecs, each made at its first use.

    So a damaged schema file affects only its subject. `application_loader` sends it to workers by
    name.
    """

    application: Application
    aggregate: Aggregate[Any]
    schemas: SchemaFiles
    name: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", self.aggregate.name)

    @cached_property
    def commands(self) -> Codec:
        """Commands of any schema."""
        return Codec(f"{self.name}_command", self.schemas)

    @cached_property
    def events(self) -> Codec:
        """Events of any schema."""
        return Codec(f"{self.name}_event", self.schemas)

    @cached_property
    def sound_commands(self) -> SoundCommands:
        """Reads commands as our clients write them."""
        return SoundCommands(self.schemas.newest(f"{self.name}_command"), self.aggregate)

    @cached_property
    def read_event(self) -> Callable[[bytes], RecordedEvent | None]:
        """Reads a sound event of the newest schema; gives None for other bytes."""
        newest = self.schemas.newest(f"{self.name}_event")
        return _event_reader(newest, self.aggregate.event_types)

    @cached_property
    def event_writer(self) -> EventWriter:
        """Writes the newest schema of its events."""
        newest = self.schemas.newest(f"{self.name}_event")
        return EventWriter(prefix_of(newest), field_writer(newest.schema, "payload"))

    @cached_property
    def state_schema(self) -> Any:
        """The Avro schema of its state, for snapshots."""
        return RecordSchema("snapshot", {}).record(self.aggregate.state)

    @cached_property
    def write_state(self) -> Writer:
        """Writes its state."""
        return avro_writer(self.state_schema)

    @cached_property
    def read_state(self) -> Reader:
        """Reads the fields of its state."""
        return avro_reader(self.state_schema)

    @cached_property
    def validated_state(self) -> Callable[[Any], Any]:
        """Makes a state of fields; raises for what its class does not allow."""
        validate: Callable[[Any], Any] = self.aggregate.state.__pydantic_validator__.validate_python
        return validate

    def event_type(self, fullname: str) -> type[Event]:
        """Return the class of an event by its full name in Avro; raises `KeyError`."""
        return self.aggregate.event_types[fullname.rpartition(".")[2]]


class Catalog:
    """The aggregates of one application, each with its codecs."""

    def __init__(self, application: Application) -> None:
        self.application = application
        self.schemas = SchemaFiles(application)
        self._contexts = {
            name: AggregateContext(application, application.aggregate(name), self.schemas)
            for name in application.aggregate_types
        }

    def __getitem__(self, aggregate_type: str) -> AggregateContext:
        """Return one aggregate; raises `UnknownAggregateError`."""
        found = self._contexts.get(aggregate_type)
        return found or self._contexts[self.application.aggregate(aggregate_type).name]

    def __iter__(self) -> Iterator[AggregateContext]:
        return iter(self._contexts.values())

    def of(self, kind: type[Message]) -> AggregateContext:
        """Return the aggregate of a command or event; raises `LookupError`."""
        return self._contexts[self.application.aggregate_of(kind)]


@lru_cache(maxsize=16)
def catalog_of(application: Application) -> Catalog:
    """Return the catalog of an application. Nothing empties this cache: the files are committed."""
    return Catalog(application)


def _event_reader(
    newest: SchemaVersion, event_types: Mapping[str, type[Event]]
) -> Callable[[bytes], RecordedEvent | None]:
    """Return what reads a sound event of the newest schema, and gives None for other bytes."""
    if [field["name"] for field in newest.schema["fields"]] != [*RecordedEvent._fields]:
        raise TypeError(f"the fields of {newest.subject} are not those of RecordedEvent")
    read = row_reader(newest.schema, {"source": Source})
    prefix, new, namespace = prefix_of(newest), tuple.__new__, newest.schema["namespace"]
    checked = {
        f"{namespace}.{name}": kind.__pydantic_validator__.validate_python
        for name, kind in event_types.items()
    }

    def event(value: bytes) -> RecordedEvent | None:
        if not value.startswith(prefix):
            return None
        try:
            (*fields, (name, payload)), end = read(value, HEADER_BYTES)
        except Exception:
            return None
        if end != len(value):
            return None
        return new(RecordedEvent, (*fields, checked[name](payload)))

    return event
