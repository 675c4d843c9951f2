"""Our schemas as a registry gives them to Confluent's clients."""

import json

import pytest

from tests.application import APPLICATION
from tests.http.conftest import Page
from verdict.adapters.kafka.schema_registry import every_subject
from verdict.wire.topics import Topics

OURS = "/subjects/order.commands-value"


def test_every_schema_is_found_by_its_id_and_by_its_subject(page: Page) -> None:
    every = [*every_subject(Topics(APPLICATION))]
    for subject, schema in every:
        by_id = page.browser.get(f"/schemas/ids/{schema.id}?fetchMaxId=false&subject=x").json()
        by_subject = page.browser.get(f"/subjects/{subject}/versions/{schema.version}").json()
        versions = page.browser.get(f"/subjects/{subject}/versions").json()
        latest = page.browser.get(f"/subjects/{subject}/versions/latest?deleted=true").json()

        assert json.loads(by_id["schema"]) == schema.schema
        assert by_subject == by_id | {
            "subject": subject, "version": schema.version, "id": schema.id,
        }  # fmt: skip
        assert latest["version"] == max(versions)
    assert page.browser.get("/subjects").json() == sorted({one.subject for one in every})


@pytest.mark.parametrize(
    "body",
    [
        b"", b"{}", b"[]", b'{"schema": 5}', b'{"schema": "["}', b'{"schema": "{}"}', b"[" * 10_000,
        b'{"schema": "{\\"__fastavro_parsed__\\": true}"}', b"\xff", b'{"schema": null}',
        json.dumps({"schema": "[" * 50_000}).encode(),
    ],
)  # fmt: skip
def test_a_body_that_is_no_schema_is_named_so(page: Page, body: bytes) -> None:
    for path in (OURS, f"{OURS}/versions"):
        answer = page.browser.post(path, content=body)
        assert (answer.status_code, answer.json()["error_code"]) == (422, 42201)


def test_what_is_not_there_or_too_long_is_refused(page: Page) -> None:
    for path, code in (
        ("/schemas/ids/999999999", 40403), ("/schemas/ids/x", 40403), ("/config/x", 40401),
        ("/subjects/x/versions", 40401), ("/subjects/x/versions/1", 40401),
        ("/subjects/order.events-value/versions/99", 40402),
    ):  # fmt: skip
        answer = page.browser.get(path)
        assert (answer.status_code, answer.json()["error_code"]) == (404, code)
    assert page.browser.post(OURS, content=b" " * (1024 * 1024 + 1)).status_code == 413


@pytest.mark.parametrize("path", ["/config", "/config/order.events-value"])
def test_every_version_stays_readable(page: Page, path: str) -> None:
    answer = page.browser.get(path)

    assert answer.json() == {"compatibilityLevel": "BACKWARD_TRANSITIVE"}
    assert answer.headers["content-type"] == "application/vnd.schemaregistry.v1+json"
