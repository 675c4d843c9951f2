"""Our schemas by the interface of a schema registry, for tools that ask one.

verdict itself reads and writes without. Confluent's deserializers find here what the ids in our
records mean, and its serializers the id of a schema that is ours. Others are not registered, so the
registry has no state.
"""

import json
from collections.abc import Callable, Sequence
from typing import Any

from fastapi import FastAPI, Request, Response
from fastavro.schema import parse_schema
from pydantic import BaseModel, Field
from starlette.concurrency import run_in_threadpool

from verdict.adapters.kafka.schema_registry import CONTENT, RegisteredId, every_subject, is_same
from verdict.http.answers import JsonAnswer
from verdict.http.auth import read
from verdict.settings.settings import Settings
from verdict.wire.catalog import catalog_of
from verdict.wire.schemas.files import SchemaVersion

COMPATIBILITY, MODE = "BACKWARD_TRANSITIVE", "READONLY"  # what is read once is read for ever
NO_SUBJECT, NO_VERSION, NO_SCHEMA = 40401, 40402, 40403  # as clients know them
INCOMPATIBLE, INVALID, NOT_PERMITTED = 409, 42201, 42205
SCHEMA_BYTES = 1024 * 1024
SCHEMA_SENT = {
    "type": "object",
    "properties": {"schema": {"type": "string", "description": "Avro, as JSON in a text."}},
    "required": ["schema"],
}


TAG = "schema registry"


class RegistryError(BaseModel):
    """An error as clients of schema registries read it."""

    error_code: int
    message: str


class RegisteredSchema(BaseModel):
    """A schema."""

    schema_: str = Field(alias="schema", description="The Avro schema, as JSON in a text.")


class SchemaOfId(RegisteredSchema):
    """A schema, and the highest id that there is, if it was asked for."""

    maxId: int | None = None  # noqa: N815 - as clients know it


class SubjectVersion(BaseModel):
    """Where a schema is placed."""

    subject: str
    version: int


class SubjectSchema(SubjectVersion, RegisteredSchema):
    """A version of a subject, and its schema."""

    id: int


class Compatibility(BaseModel):
    """What a new version of a schema must be able to read."""

    compatibilityLevel: str  # noqa: N815 - as clients know it


class Mode(BaseModel):
    """Whether schemas can be put in."""

    mode: str


class RegistryJson(JsonAnswer):
    """JSON as registries send it."""

    media_type = CONTENT


class Registry:
    """Answers as a registry that holds what `verdict schemas publish` would put there."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def schema(self, id: int, fetchMaxId: bool = False) -> Response:  # noqa: N803  (their name)
        """Answer with the schema of an id."""
        known = catalog_of(self._settings.application).schemas.by_id
        found = known.get(id)
        if found is None:
            return _none(NO_SCHEMA, f"schema id {id} is unknown here")
        most = {"maxId": max(known)} if fetchMaxId else {}
        return RegistryJson({"schema": json.dumps(found.schema)} | most)

    def placed(self, id: int) -> Response:
        """Answer with the subjects that have the schema of an id."""
        found = [{"subject": s, "version": schema.version} for s, schema in self._having(id)]
        return RegistryJson(found) if found else _none(NO_SCHEMA, f"schema id {id} is unknown here")

    def having(self, id: int) -> Response:
        """Answer with the names alone of these subjects."""
        found = [one.subject for one in self._having(id)]
        return RegistryJson(found) if found else _none(NO_SCHEMA, f"schema id {id} is unknown here")

    def subjects(self) -> Response:
        """Answer with the subjects, one for each topic."""
        return RegistryJson(sorted({one.subject for one in every_subject(self._settings.topics)}))

    def versions(self, subject: str) -> Response:
        """Answer with the versions of a subject."""
        found = [one.schema.version for one in self._of(subject)]
        return RegistryJson(found) if found else _no_subject(subject)

    def version(self, subject: str, version: str) -> Response:
        """Answer with one version of a subject, or its `latest`."""
        found = self._one(subject, version)
        return found if isinstance(found, Response) else _described(subject, found)

    def bare(self, subject: str, version: str) -> Response:
        """Answer with the schema alone of one version."""
        found = self._one(subject, version)
        return found if isinstance(found, Response) else RegistryJson(found.schema)

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
            return registry_error(422, why, NOT_PERMITTED)
        return found or registry_error(
            INCOMPATIBLE,
            f"no version of {subject} has this schema, and none can be added: take the one of "
            f"/subjects/{subject}/versions/latest",
        )

    async def _given(self, request: Request, subject: str) -> Response | None:
        """Return the answer to a schema that is registered, or none at all; None: another one."""
        body = await read(request, SCHEMA_BYTES)
        if body is None:
            return registry_error(422, f"a schema has {SCHEMA_BYTES} bytes at most", INVALID)
        return await run_in_threadpool(self._same, subject, body)

    def _same(self, subject: str, body: bytes) -> Response | None:
        try:
            text = json.loads(body)["schema"]
            parse_schema(json.loads(text))
            same = [one.schema for one in self._of(subject) if is_same(text, one.schema)]
        except Exception as error:  # any failure is the fault of bytes that anyone may send
            return registry_error(422, f"this is no Avro schema: {error}"[:500], INVALID)
        return _described(subject, same[-1]) if same else None

    def compatibility(self) -> Response:
        """Answer with what a new version of any schema must be able to read."""
        return RegistryJson({"compatibilityLevel": COMPATIBILITY})

    def subject_compatibility(self, subject: str) -> Response:
        """Answer with the same, of a subject that there is."""
        return self.compatibility() if self._of(subject) else _no_subject(subject)

    def mode(self) -> Response:
        """Answer that no schema is registered here."""
        return RegistryJson({"mode": MODE})

    def subject_mode(self, subject: str) -> Response:
        """Answer with the same, of a subject that there is."""
        return self.mode() if self._of(subject) else _no_subject(subject)

    def types(self) -> Response:
        """Answer with the one kind of schema that there is."""
        return RegistryJson(["AVRO"])

    def _one(self, subject: str, version: str) -> SchemaVersion | Response:
        versions = {str(one.schema.version): one for one in self._of(subject)}
        if not versions:
            return _no_subject(subject)
        newest = max(versions.values(), key=lambda one: one.schema.version)
        found = versions | {"latest": newest, "-1": newest}
        if version not in found:
            return _none(NO_VERSION, f"{subject} has no version {version!r}")
        return found[version].schema

    def _having(self, id: int) -> Sequence[RegisteredId]:
        return [one for one in every_subject(self._settings.topics) if one.schema.id == id]

    def _of(self, subject: str) -> Sequence[RegisteredId]:
        return [one for one in every_subject(self._settings.topics) if one.subject == subject]


def _described(subject: str, found: SchemaVersion) -> Response:
    about = {"subject": subject, "version": found.version, "id": found.id}
    return RegistryJson(about | {"schema": json.dumps(found.schema)})


def _no_subject(subject: str) -> Response:
    return _none(NO_SUBJECT, f"no subject {subject!r}")


def _none(code: int, said: str) -> Response:
    return registry_error(404, said, code)


def registry_error(status: int, said: str, code: int | None = None) -> Response:
    """Return an error as registries send it, with the status as its code if there is no other."""
    return RegistryJson({"error_code": code or status, "message": said}, status)


def is_of_registry(request: Request) -> bool:
    """Tell whether a request is one to the registry."""
    return TAG in getattr(request.scope.get("route"), "tags", ())


def add_registry(page: FastAPI, settings: Settings) -> None:
    """Let tools ask for schemas."""
    registry = Registry(settings)
    answers: dict[str, tuple[Callable[..., Response], str, Any, str]] = {
        "/schemas/ids/{id}": (
            registry.schema, "get_schema", SchemaOfId,
            "The Avro schema of an id, as registries tell it.",
        ),
        "/schemas/ids/{id}/versions": (
            registry.placed, "list_schema_versions", list[SubjectVersion],
            "The subjects that have it, and versions.",
        ),
        "/schemas/ids/{id}/subjects": (
            registry.having, "list_schema_subjects", list[str], "The subjects that have it.",
        ),
        "/schemas/types": (registry.types, "list_schema_types", list[str], "`AVRO` alone."),
        "/subjects": (
            registry.subjects, "list_subjects", list[str], "All subjects: `<topic>-value`.",
        ),
        "/subjects/{subject}/versions": (
            registry.versions, "list_subject_versions", list[int], "The versions of a subject.",
        ),
        "/subjects/{subject}/versions/{version}": (
            registry.version, "get_subject_version", SubjectSchema, "One version, or `latest`.",
        ),
        "/subjects/{subject}/versions/{version}/schema": (
            registry.bare, "get_subject_schema", Any, "Its schema alone.",
        ),
        "/config": (
            registry.compatibility, "get_compatibility", Compatibility,
            "What new versions must be able to read.",
        ),
        "/config/{subject}": (
            registry.subject_compatibility, "get_subject_compatibility", Compatibility,
            "The same, of a subject.",
        ),
        "/mode": (registry.mode, "get_mode", Mode, "No schema is registered: `READONLY`."),
        "/mode/{subject}": (
            registry.subject_mode, "get_subject_mode", Mode, "The same, of a subject.",
        ),
    }  # fmt: skip
    none: dict[int | str, dict[str, Any]] = {
        404: {"model": RegistryError, "description": "There is no such schema or subject."},
        422: {"model": RegistryError, "description": "A parameter does not have its form."},
    }
    refused: dict[int | str, dict[str, Any]] = {
        409: {"model": RegistryError, "description": "No version of the subject has this schema."},
        422: {"model": RegistryError, "description": "It is no schema, or none can be added."},
    }
    for path, (answer, operation_id, model, summary) in answers.items():
        page.add_api_route(
            path,
            answer,
            summary=summary,
            operation_id=operation_id,
            tags=[TAG],
            response_class=RegistryJson,
            response_model=model,
            responses=none if "{" in path else {},
        )
    for path, take, operation_id, summary in (
        (
            "/subjects/{subject}", registry.look_up, "look_up_schema",
            "The version of a subject that has the schema of the body.",
        ),
        (
            "/subjects/{subject}/versions", registry.register, "register_schema",
            "The same, for serializers that register: no other schema is taken in.",
        ),
    ):  # fmt: skip
        page.add_api_route(
            path,
            take,
            methods=["POST"],
            summary=summary,
            operation_id=operation_id,
            tags=[TAG],
            response_class=RegistryJson,
            response_model=SubjectSchema,
            responses=none | refused,
            openapi_extra={"requestBody": {"content": {CONTENT: {"schema": SCHEMA_SENT}}}},
        )
