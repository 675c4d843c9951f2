"""Our schemas as a registry tells them to Confluent's clients."""

import json

import pytest

from tests.application import APPLICATION, CATALOG
from tests.http.conftest import Page
from verdict.adapters.kafka.schema_registry import RegisteredId, every_subject
from verdict.wire.topics import Topics


@pytest.mark.parametrize(
    "placed", [*every_subject(Topics(APPLICATION))], ids=lambda one: one.subject
)
def test_every_schema_is_found_by_its_id_and_by_its_subject(
    page: Page, placed: RegisteredId
) -> None:
    subject, schema = placed.subject, placed.schema
    by_id = page.browser.get(f"/schemas/ids/{schema.id}").json()
    by_subject = page.browser.get(f"/subjects/{subject}/versions/{schema.version}").json()

    assert json.loads(by_id["schema"]) == schema.schema
    assert by_subject == {
        "subject": subject, "version": schema.version, "id": schema.id, "schema": by_id["schema"],
    }  # fmt: skip
    places = page.browser.get(f"/schemas/ids/{schema.id}/versions").json()
    assert {"subject": subject, "version": schema.version} in places
    assert subject in page.browser.get("/subjects").json()
    versions = page.browser.get(f"/subjects/{subject}/versions").json()
    assert page.browser.get(f"/schemas/ids/{schema.id}/subjects").json() == [
        one["subject"] for one in places
    ]
    bare = page.browser.get(f"/subjects/{subject}/versions/{schema.version}/schema").json()
    assert bare == schema.schema
    latest = page.browser.get(f"/subjects/{subject}/versions/latest").json()
    assert latest["version"] == max(versions)


def test_the_parameters_of_other_clients_change_nothing_but_the_highest_id(page: Page) -> None:
    plain = page.browser.get("/schemas/ids/5").json()
    of_java = page.browser.get(
        "/schemas/ids/5?fetchMaxId=true&subject=order.commands-value&format="
    ).json()
    latest = page.browser.get("/subjects/order.commands-value/versions/latest?deleted=true").json()

    assert of_java == plain | {"maxId": max(CATALOG.schemas.by_id)}
    assert latest["id"] == 5


@pytest.mark.parametrize(
    "body",
    [
        b"", b"{}", b"[]", b'{"schema": 5}', b'{"schema": "["}', b'{"schema": "{}"}', b"[" * 10_000,
        b'{"schema": "{\\"__fastavro_parsed__\\": true}"}', b"\xff", b'{"schema": null}',
        json.dumps({"schema": "[" * 50_000}).encode(), b" " * (1024 * 1024 + 1),
    ],
)  # fmt: skip
def test_a_body_that_is_no_schema_is_named_so(page: Page, body: bytes) -> None:
    for path in ("/subjects/order.commands-value", "/subjects/order.commands-value/versions"):
        answer = page.browser.post(path, content=body)

        assert (answer.status_code, answer.json()["error_code"]) == (422, 42201)


def test_what_is_not_there_has_the_code_that_clients_know(page: Page) -> None:
    paths = (
        "/schemas/ids/999999999",
        "/subjects/x/versions",
        "/subjects/order.events-value/versions/99",
        "/schemas/ids/999999999/subjects",
        "/config/x",
        "/mode/x",
    )
    answers = [page.browser.get(path) for path in paths]

    assert [one.status_code for one in answers] == [404] * 6
    assert [one.json()["error_code"] for one in answers] == [
        40403, 40401, 40402, 40403, 40401, 40401,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("/config", {"compatibilityLevel": "BACKWARD_TRANSITIVE"}),
        ("/config/order.events-value", {"compatibilityLevel": "BACKWARD_TRANSITIVE"}),
        ("/mode", {"mode": "READONLY"}),
        ("/mode/order.events-value", {"mode": "READONLY"}),
        ("/schemas/types", ["AVRO"]),
    ],
)
def test_tools_learn_what_registry_it_is(page: Page, path: str, told: object) -> None:
    answer = page.browser.get(path)

    assert answer.json() == told
    assert answer.headers["content-type"] == "application/vnd.schemaregistry.v1+json"


def test_all_methods_of_an_address_are_named(page: Page) -> None:
    both = page.browser.options("/subjects/order.commands-value/versions")
    one = page.browser.delete("/subjects")

    assert (both.status_code, both.headers["allow"]) == (405, "GET, POST")
    assert (one.status_code, one.headers["allow"]) == (405, "GET")
