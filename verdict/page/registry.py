"""Our schemas by the interface of a schema registry, for tools that ask one.

verdict itself reads and writes without. Confluent's deserializers find here what the ids in our
records mean, and its serializers the id of a schema that is ours. Others are not registered, so the
registry has no state.
"""

import json
from collections.abc import Callable, Sequence

from fastapi import FastAPI, Request, Response
from fastavro.schema import parse_schema
from starlette.concurrency import run_in_threadpool

from verdict.configuration.settings import Settings
from verdict.kafka.schema_registry import CONTENT, Placed, every_subject, is_same
from verdict.page.answers import Json
from verdict.page.door import read
from verdict.wire.schema_files import SchemaVersion, by_id

COMPATIBILITY, MODE = "BACKWARD_TRANSITIVE", "READONLY"  # what is read once is read for ever
NO_SUBJECT, NO_VERSION, NO_SCHEMA = 40401, 40402, 40403  # as clients know them
INCOMPATIBLE, INVALID, NOT_PERMITTED = 409, 42201, 42205
SCHEMA_BYTES = 1024 * 1024


class Told(Json):
    """JSON as registries send it."""

    media_type = CONTENT


class Registry:
    """Answers as a registry that holds what `verdict schemas publish` would put there."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def schema(self, id: int, fetchMaxId: bool = False) -> Response:  # noqa: N803  (their name)
        """Answer with the schema of an id."""
        found = by_id().get(id)
        if found is None:
            return _none(NO_SCHEMA, f"schema id {id} is unknown here")
        most = {"maxId": max(by_id())} if fetchMaxId else {}
        return Told({"schema": json.dumps(found.schema)} | most)

    def placed(self, id: int) -> Response:
        """Answer with the subjects that have the schema of an id."""
        found = [{"subject": s, "version": schema.version} for s, schema in self._having(id)]
        return Told(found) if found else _none(NO_SCHEMA, f"schema id {id} is unknown here")

    def having(self, id: int) -> Response:
        """Answer with the names alone of these subjects."""
        found = [one.subject for one in self._having(id)]
        return Told(found) if found else _none(NO_SCHEMA, f"schema id {id} is unknown here")

    def subjects(self) -> Response:
        """Answer with the subjects, one for each topic."""
        return Told(sorted({one.subject for one in every_subject(self._settings.topics)}))

    def versions(self, subject: str) -> Response:
        """Answer with the versions of a subject."""
        found = [one.schema.version for one in self._of(subject)]
        return Told(found) if found else _none(NO_SUBJECT, f"no subject {subject!r}")

    def version(self, subject: str, version: str) -> Response:
        """Answer with one version of a subject, or its `latest`."""
        found = self._one(subject, version)
        return found if isinstance(found, Response) else _described(subject, found)

    def bare(self, subject: str, version: str) -> Response:
        """Answer with the schema alone of one version."""
        found = self._one(subject, version)
        return found if isinstance(found, Response) else Told(found.schema)

    async def look_up(self, request: Request, subject: str) -> Response:
        """Answer with the version of a subject that has this schema."""
        found = await self._given(request, subject)
        if found is None and not self._of(subject):
            return _none(NO_SUBJECT, f"no subject {subject!r}")
        return found or _none(NO_SCHEMA, f"no version of {subject} has this schema")

    async def register(self, request: Request, subject: str) -> Response:
        """Answer with the version of a subject that has this schema; take in no other one."""
        found = await self._given(request, subject)
        if found is None and not self._of(subject):
            why = f"there is no subject {subject!r}, and none can be added: see /subjects"
            return _failed(NOT_PERMITTED, why, 422)
        return found or _failed(
            INCOMPATIBLE,
            f"no version of {subject} has this schema, and none can be added: take the one of "
            f"/subjects/{subject}/versions/latest",
            409,
        )

    async def _given(self, request: Request, subject: str) -> Response | None:
        """Return the answer to a schema that is registered, or none at all; None: another one."""
        body = await read(request, SCHEMA_BYTES)
        if body is None:
            return _failed(INVALID, f"a schema has {SCHEMA_BYTES} bytes at most", 422)
        return await run_in_threadpool(self._same, subject, body)

    def _same(self, subject: str, body: bytes) -> Response | None:
        try:
            text = json.loads(body)["schema"]
            parse_schema(json.loads(text))
            same = [one.schema for one in self._of(subject) if is_same(text, one.schema)]
        except Exception as error:  # any failure is the fault of bytes that anyone may send
            return _failed(INVALID, f"this is no Avro schema: {error}"[:500], 422)
        return _described(subject, same[-1]) if same else None

    def compatibility(self, subject: str | None = None) -> Response:
        """Answer with what a new version of any schema must be able to read."""
        return self._of_any(subject, {"compatibilityLevel": COMPATIBILITY})

    def mode(self, subject: str | None = None) -> Response:
        """Answer that no schema is registered here."""
        return self._of_any(subject, {"mode": MODE})

    def types(self) -> Response:
        """Answer with the one kind of schema that there is."""
        return Told(["AVRO"])

    def _one(self, subject: str, version: str) -> SchemaVersion | Response:
        versions = {str(one.schema.version): one for one in self._of(subject)}
        if not versions:
            return _none(NO_SUBJECT, f"no subject {subject!r}")
        newest = max(versions.values(), key=lambda one: one.schema.version)
        found = versions | {"latest": newest, "-1": newest}
        if version not in found:
            return _none(NO_VERSION, f"{subject} has no version {version!r}")
        return found[version].schema

    def _of_any(self, subject: str | None, answer: dict[str, str]) -> Response:
        if subject is None or self._of(subject):
            return Told(answer)
        return _none(NO_SUBJECT, f"no subject {subject!r}")

    def _having(self, id: int) -> Sequence[Placed]:
        return [one for one in every_subject(self._settings.topics) if one.schema.id == id]

    def _of(self, subject: str) -> Sequence[Placed]:
        return [one for one in every_subject(self._settings.topics) if one.subject == subject]


def _described(subject: str, found: SchemaVersion) -> Response:
    about = {"subject": subject, "version": found.version, "id": found.id}
    return Told(about | {"schema": json.dumps(found.schema)})


def _none(code: int, said: str) -> Response:
    return _failed(code, said, 404)


def _failed(code: int, said: str, status: int) -> Response:
    return Told({"error_code": code, "message": said}, status)


def add_registry(page: FastAPI, settings: Settings) -> None:
    """Let tools ask for schemas."""
    registry = Registry(settings)
    answers: dict[str, tuple[Callable[..., Response], str]] = {
        "/schemas/ids/{id}": (registry.schema, "The Avro schema of an id, as registries tell it."),
        "/schemas/ids/{id}/versions": (registry.placed, "The subjects that have it, and versions."),
        "/schemas/ids/{id}/subjects": (registry.having, "The subjects that have it."),
        "/schemas/types": (registry.types, "`AVRO` alone."),
        "/subjects": (registry.subjects, "All subjects: `<topic>-value`."),
        "/subjects/{subject}/versions": (registry.versions, "The versions of a subject."),
        "/subjects/{subject}/versions/{version}": (registry.version, "One version, or `latest`."),
        "/subjects/{subject}/versions/{version}/schema": (registry.bare, "Its schema alone."),
        "/config": (registry.compatibility, "What new versions must be able to read."),
        "/config/{subject}": (registry.compatibility, "The same, of a subject."),
        "/mode": (registry.mode, "No schema is registered: `READONLY`."),
        "/mode/{subject}": (registry.mode, "The same, of a subject."),
    }
    for path, (answer, summary) in answers.items():
        page.add_api_route(path, answer, summary=summary)
    page.add_api_route(
        "/subjects/{subject}",
        registry.look_up,
        methods=["POST"],
        summary="The version of a subject that has the schema of the body.",
    )
    page.add_api_route(
        "/subjects/{subject}/versions",
        registry.register,
        methods=["POST"],
        summary="The same, for serializers that register: no other schema is taken in.",
    )
