"""Confluent's own clients ask the page for schemas, over HTTP, with their defaults."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.schema_registry import Schema, SchemaRegistryClient, SchemaRegistryError
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

from commands.order import PlaceOrder
from tests.application import APPLICATION, newest, receive
from tests.decide.desk import PLACE, command_record
from tests.model import Record
from tests.traffic import START, in_avro
from verdict.http.serving import Serving
from verdict.settings.load import settings_alone
from verdict.wire.schemas.files import SchemaVersion
from verdict.write_side.decide.parse import ReceivedCommand

TOPIC = "order.commands"
VALUE = SerializationContext(TOPIC, MessageField.VALUE)
FIELDS = {"command_id": "c-1", "aggregate_id": "order-1", "expected_version": 0}
COMMAND = FIELDS | {"payload": {"type": "PlaceOrder"} | PLACE.model_dump(mode="json")}


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[SchemaRegistryClient]:
    """Confluent's client of a page that is served."""
    with (
        Serving(settings_alone(APPLICATION, data_dir=tmp_path)) as serving,
        SchemaRegistryClient({"url": serving.url}) as client,
    ):
        yield client


@pytest.fixture
def ours() -> SchemaVersion:
    """The schema of the commands to orders."""
    return newest("order_command")


def other_words(schema: dict[str, Any]) -> str:
    """Return a schema as another tool would write it: it means the same for every reader."""
    fields = [{"doc": "a field"} | field for field in schema["fields"]]
    return json.dumps(schema | {"doc": "a command", "fields": fields}, indent=4)


@pytest.mark.parametrize(
    "conf",
    [
        {},
        {"normalize.schemas": True},
        {"auto.register.schemas": False},
        {"auto.register.schemas": False, "use.latest.version": True},
        {"auto.register.schemas": False, "use.schema.id": 5},
    ],
)
def test_what_a_serializer_writes_the_decider_reads(
    registry: SchemaRegistryClient, ours: SchemaVersion, conf: dict[str, Any]
) -> None:
    serializer = AvroSerializer(registry, other_words(ours.schema), conf=conf)
    name = f"{ours.schema['namespace']}.PlaceOrder"

    value = serializer(FIELDS | {"payload": (name, PLACE.model_dump(mode="json"))}, VALUE)

    assert value == in_avro("order", COMMAND)
    received = receive("order", command_record(Record(TOPIC, 0, 0, START, b"order-1", value)))
    assert isinstance(received, ReceivedCommand)
    assert received.payload == PlaceOrder.model_validate(PLACE.model_dump())


def test_what_the_client_writes_a_deserializer_reads(registry: SchemaRegistryClient) -> None:
    read = AvroDeserializer(registry)(in_avro("order", COMMAND), VALUE)

    assert isinstance(read, dict)
    assert (read["command_id"], read["payload"]["ticker"]) == ("c-1", PLACE.ticker)


def test_a_schema_that_is_not_ours_is_refused_as_registries_do(
    registry: SchemaRegistryClient, ours: SchemaVersion
) -> None:
    mine, less = Schema(json.dumps(ours.schema), "AVRO"), dict(ours.schema)
    less["fields"] = less["fields"][1:]
    others = Schema(json.dumps(less), "AVRO")
    none = Schema('{"type": "nothing"}', "AVRO")
    subject = f"{TOPIC}-value"
    asked: list[tuple[Callable[..., object], str, Schema]] = [
        (registry.register_schema, subject, others),
        (registry.register_schema, "mine-value", mine),
        (registry.register_schema, subject, none),
        (registry.lookup_schema, subject, others),
        (registry.lookup_schema, "mine-value", mine),
        (registry.lookup_schema, subject, none),
    ]

    refused = []
    for ask, of, schema in asked:
        with pytest.raises(SchemaRegistryError) as error:
            ask(of, schema)
        refused.append((error.value.http_status_code, error.value.error_code))

    assert refused == [
        (409, 409),
        (422, 42205),
        (422, 42201),
        (404, 40403),
        (404, 40401),
        (422, 42201),
    ]
    found = registry.lookup_schema(subject, mine)
    assert (found.schema_id, found.version, found.subject) == (ours.id, ours.version, subject)
    assert registry.register_schema(subject, mine) == ours.id
