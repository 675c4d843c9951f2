"""Confluent's own clients ask the page for schemas, over HTTP, with their defaults."""

import json
from collections.abc import Iterator
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
    documented = [{"doc": "a field"} | field for field in ours.schema["fields"]]
    same = ours.schema | {"doc": "as another tool would write it", "fields": documented}
    serializer = AvroSerializer(registry, json.dumps(same, indent=4), conf=conf)
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
    mine = Schema(json.dumps(ours.schema), "AVRO")
    others = Schema(json.dumps(ours.schema | {"fields": ours.schema["fields"][1:]}), "AVRO")
    none = Schema('{"type": "nothing"}', "AVRO")
    subject = f"{TOPIC}-value"
    for ask, of, schema, code in (
        (registry.register_schema, subject, others, (409, 409)),
        (registry.register_schema, "mine-value", mine, (422, 42205)),
        (registry.register_schema, subject, none, (422, 42201)),
        (registry.lookup_schema, subject, others, (404, 40403)),
        (registry.lookup_schema, "mine-value", mine, (404, 40401)),
        (registry.lookup_schema, subject, none, (422, 42201)),
    ):
        with pytest.raises(SchemaRegistryError) as error:
            ask(of, schema)
        assert (error.value.http_status_code, error.value.error_code) == code

    found = registry.lookup_schema(subject, mine)
    assert (found.schema_id, found.version, found.subject) == (ours.id, ours.version, subject)
    assert registry.register_schema(subject, mine) == ours.id
