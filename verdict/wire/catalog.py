"""What an application declares, with all that its bytes need: made once, and handed down."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

from verdict.model.aggregate import Aggregate
from verdict.model.application import Application
from verdict.model.message import Event, Message
from verdict.model.recorded_event import RecordedEvent
from verdict.wire.avro.reader import Reader, avro_reader
from verdict.wire.avro.writer import Writer, avro_writer, field_writer
from verdict.wire.codec import Codec, prefix_of
from verdict.wire.event_reader import event_reader
from verdict.wire.schemas.derive import RecordSchema
from verdict.wire.schemas.files import SchemaFiles
from verdict.wire.sound_commands import SoundCommands


class EventWriter(NamedTuple):
    """Writes events of the newest schema piece by piece: `prefix` is before each of them."""

    prefix: bytes
    write_payload: Writer


@dataclass(frozen=True, eq=False)
class AggregateContext:
    """One aggregate type with its codecs: what commands, events and snapshots are read by.

    Each is made when it is needed first, so a damaged schema file stops nothing but its subject.
    Workers get it by name, see `application_loader`.

    Args:
        application: That declares the aggregate.
        aggregate: The rules.
        schemas: The schema files of the application.

    Attributes:
        name: The aggregate type.
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
        """Reads commands that are as our clients write them."""
        return SoundCommands(self.schemas.newest(f"{self.name}_command"), self.aggregate)

    @cached_property
    def read_event(self) -> Callable[[bytes], RecordedEvent | None]:
        """Read a sound event of the newest schema; None for all else."""
        newest = self.schemas.newest(f"{self.name}_event")
        return event_reader(newest, self.aggregate.event_types)

    @cached_property
    def event_writer(self) -> EventWriter:
        """Writes the newest schema of its events."""
        newest = self.schemas.newest(f"{self.name}_event")
        return EventWriter(prefix_of(newest), field_writer(newest.schema, "payload"))

    @cached_property
    def state_schema(self) -> Any:
        """The Avro schema of its state, which no schema file has."""
        return RecordSchema("snapshot", {}).record(self.aggregate.state)

    @cached_property
    def write_state(self) -> Writer:
        """Writes its state."""
        return avro_writer(self.state_schema)

    @cached_property
    def read_state(self) -> Reader:
        """Reads the fields of its state."""
        return avro_reader(self.state_schema, names=False)

    @cached_property
    def validated_state(self) -> Callable[[Any], Any]:
        """Return a state of these fields; raises for what its class does not allow."""
        validate: Callable[[Any], Any] = self.aggregate.state.__pydantic_validator__.validate_python
        return validate

    def event_type(self, fullname: str) -> type[Event]:
        """Return the class of an event by its full name in Avro.

        Raises:
            KeyError: There is none.
        """
        return self.aggregate.event_types[fullname.rpartition(".")[2]]


class Catalog:
    """The aggregates of one application, each with its codecs.

    Args:
        application: Of which.
    """

    def __init__(self, application: Application) -> None:
        self.application = application
        self.schemas = SchemaFiles(application)
        self._contexts = {
            name: AggregateContext(application, application.aggregate(name), self.schemas)
            for name in application.aggregate_types
        }

    def __getitem__(self, aggregate_type: str) -> AggregateContext:
        """Return one aggregate.

        Raises:
            UnknownAggregateError: The application does not declare it.
        """
        found = self._contexts.get(aggregate_type)
        return found or self._contexts[self.application.aggregate(aggregate_type).name]

    def __iter__(self) -> Iterator[AggregateContext]:
        return iter(self._contexts.values())

    def of(self, kind: type[Message]) -> AggregateContext:
        """Return the aggregate that has this class among its commands or events.

        Raises:
            LookupError: None has.
        """
        return self._contexts[self.application.aggregate_of(kind)]


@lru_cache(maxsize=16)
def catalog_of(application: Application) -> Catalog:
    """Return the catalog of an application; that of the same one is not made again.

    It depends on nothing but the application and its committed schema files, so nothing empties
    this cache.
    """
    return Catalog(application)
