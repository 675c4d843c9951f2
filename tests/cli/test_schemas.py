"""Schemas in a registry: a server that does what Confluent's documentation says of the API."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from tests.application import APPLICATION, CATALOG, newest
from tests.cli.conftest import Run
from verdict.wire.topics import Topics

LOGIN = "Basic dmVyZGljdDpzZWNyZXQ="  # verdict:secret


class Registry(ThreadingHTTPServer):
    """Subjects with versions, ids for all, and modes: an id is taken in the mode IMPORT only."""

    def __init__(self) -> None:
        self.ids: dict[int, str] = {}
        self.subjects: dict[str, dict[int, int]] = {}
        self.modes: dict[str, str] = {}
        self.posts = 0
        super().__init__(("127.0.0.1", 0), Answering)

    @property
    def url(self) -> str:
        return f"http://verdict:secret@127.0.0.1:{self.server_address[1]}/"

    def post(self, subject: str, asked: dict[str, Any]) -> tuple[int, Any]:
        if self.modes.get(subject) != "IMPORT":
            return 422, {"error_code": 42205, "message": f"Subject {subject} is not in import mode"}
        self.posts += 1
        # a registry writes schemas in its own way
        self.ids[asked["id"]] = json.dumps(json.loads(asked["schema"]), separators=(",", ":"))
        self.subjects.setdefault(subject, {})[asked["version"]] = asked["id"]
        return 200, {"id": asked["id"]}


class Answering(BaseHTTPRequestHandler):
    """One request."""

    def answer(self) -> None:
        registry = self.server
        assert isinstance(registry, Registry)
        length = int(self.headers.get("Content-Length") or 0)
        asked: Any = json.loads(self.rfile.read(length)) if length else None
        path = self.path.partition("?")[0].strip("/").split("/")
        found: tuple[int, Any] = (404, {"error_code": 40401, "message": "not found"})
        if self.headers["Authorization"] != LOGIN:
            found = (401, {"message": "Unauthorized"})
        elif path[0] == "mode" and self.command == "PUT":
            registry.modes[path[1]] = asked["mode"]
            found = (200, asked)
        elif path[0] == "mode":
            found = (200, {"mode": registry.modes.pop(path[1])})
        elif self.command == "POST":
            found = registry.post(path[1], asked)
        elif path[0] == "schemas" and int(path[2]) in registry.ids:
            found = (200, {"schema": registry.ids[int(path[2])]})
        elif path[0] == "subjects" and int(path[3]) in registry.subjects.get(path[1], {}):
            found = (200, {"id": registry.subjects[path[1]][int(path[3])]})
        self.send_response(found[0])
        self.end_headers()
        self.wfile.write(json.dumps(found[1]).encode())

    do_GET = do_PUT = do_POST = do_DELETE = answer

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def registry() -> Iterator[Registry]:
    """Return an empty registry that answers."""
    with Registry() as server:
        answering = threading.Thread(target=server.serve_forever)
        answering.start()
        yield server
        server.shutdown()
        answering.join()


def test_every_topic_gets_its_schemas_under_the_ids_that_records_carry(
    run: Run, registry: Registry
) -> None:
    published = run("schemas", "publish", "--registry", registry.url, "--json")
    again = run("schemas", "publish", "--registry", registry.url)
    checked = run("schemas", "check", "--registry", registry.url, "--json")

    [answer] = published.lines
    assert registry.ids.keys() == CATALOG.schemas.by_id.keys()
    assert len(answer["published"]) == registry.posts
    topics = [topic.name for topic in Topics(APPLICATION).all() if "." in topic.name]
    assert {f"{topic}-value" for topic in topics} <= registry.subjects.keys()
    order = newest("order_event")
    assert registry.subjects["order.events-value"][order.version] == order.id
    assert registry.modes == {}  # left as it was
    assert "0 schemas published" in again.stderr
    assert "secret" not in published.stdout + published.stderr
    assert (checked.exit_code, checked.lines[0]["lacking"]) == (0, [])


def test_what_a_registry_lacks_is_named(run: Run, registry: Registry) -> None:
    run("schemas", "publish", "--registry", registry.url)
    del registry.subjects["order.events-value"]

    lacking = run("schemas", "check", "--registry", registry.url)

    assert lacking.exit_code == 1
    assert "lacks 1 schemas, the first: order.events-value v1" in lacking.stderr


def test_an_id_that_is_taken_by_something_else_is_refused_before_anything_is_written(
    run: Run, registry: Registry
) -> None:
    registry.ids[newest("order_event").id] = '"string"'

    refused = run("schemas", "publish", "--registry", registry.url)

    assert refused.exit_code == 1
    assert f"schema id {newest('order_event').id}" in refused.stderr
    assert "that is verdict's alone" in refused.stderr
    assert registry.posts == 0


def test_a_forbidden_write_shows_the_message_of_the_registry(run: Run, registry: Registry) -> None:
    refused = run("schemas", "publish", "--registry", registry.url.replace("secret", "guess"))

    assert refused.exit_code == 1
    assert "401" in refused.stderr
    assert "guess" not in refused.stderr


def test_a_registry_that_does_not_answer_ends_with_5(run: Run) -> None:
    assert run("schemas", "check", "--registry", "http://127.0.0.1:1").exit_code == 5
