"""Sound events of the newest schema, read fast; all others go through `decode_event`."""

from collections.abc import Callable, Mapping

from verdict.model.message import Event
from verdict.model.recorded_event import RecordedEvent
from verdict.model.source import Source
from verdict.wire.avro.reader import row_reader
from verdict.wire.codec import HEADER_BYTES, prefix_of
from verdict.wire.schemas.files import SchemaVersion


def event_reader(
    newest: SchemaVersion, event_types: Mapping[str, type[Event]]
) -> Callable[[bytes], RecordedEvent | None]:
    """Return what reads a sound event of the newest schema, and returns None for all else."""
    if [field["name"] for field in newest.schema["fields"]] != [*RecordedEvent._fields]:
        raise TypeError(f"the fields of {newest.subject} are not those of RecordedEvent")
    read = row_reader(newest.schema, {"source": Source})
    prefix, new, namespace = prefix_of(newest), tuple.__new__, newest.schema["namespace"]
    classes = {f"{namespace}.{name}": kind for name, kind in event_types.items()}

    def event(value: bytes) -> RecordedEvent | None:
        if not value.startswith(prefix):
            return None
        try:
            (*fields, (name, payload)), end = read(value, HEADER_BYTES)
        except Exception:
            return None
        if end != len(value):
            return None
        checked = classes[name].model_validate(payload)
        return new(RecordedEvent, (*fields, checked))

    return event
