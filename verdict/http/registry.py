"""The interface of a schema registry, for other tools: verdict itself needs none.

Confluent's deserializers find here the schemas of the ids in our records, and its serializers the
id of a schema. Other schemas cannot be registered, so the registry has no state.
"""

import json
from collections.abc import Callable, Sequence
from typing import Any

from fastapi import FastAPI, Request, Response
from fastavro.schema import parse_schema
from pydantic import BaseModel, Field
from starlette.concurrency import run_in_threadpool

from verdict.adapters.kafka.schema_registry import CONTENT, RegisteredId, every_subject, is_same
from verdict.http.auth import read
from verdict.http.responses import Described, JsonLine
from verdict.settings.settings import Settings
from verdict.wire.catalog import catalog_of
from verdict.wire.schemas.files import SchemaVersion

COMPATIBILITY, MODE = "BACKWARD_TRANSITIVE", "READONLY"  # every version stays readable
NO_SUBJECT, NO_VERSION, NO_SCHEMA = 40401, 40402, 40403  # codes that clients know
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
    """A schema, and the highest id if the request wanted it."""

    maxId: int | None = None  # noqa: N815 - as clients know it


class SubjectVersion(BaseModel):
    """A version of a subject."""

    subject: str
    version: int


class SubjectSchema(SubjectVersion, RegisteredSchema):
    """A version of a subject, and its schema."""

    id: int


class Compatibility(BaseModel):
    """What a new version of a schema must be able to read."""

    compatibilityLevel: str  # noqa: N815 - as clients know it


class Mode(BaseModel):
    """Whether schemas can be registered."""

    mode: str


class RegistryJson(JsonLine):
    """JSON as registries send it."""

    media_type = CONTENT


UNKNOWN: Described = {
    404: {"model": RegistryError, "description": "There is no such schema or subject."},
    422: {"model": RegistryError, "description": "A parameter does not have its form."},
}
REFUSED: Described = {
    409: {"model": RegistryError, "description": "No version of the subject has this schema."},
    422: {"model": RegistryError, "description": "It is no schema, or none can be added."},
}


class Registry:
    """The registry that `verdict schemas publish` would fill; nothing can be added."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def schema(self, id: int, fetchMaxId: bool = False) -> Response:  # noqa: N803  (their name)
        """Return the Avro schema of an id."""
        known = catalog_of(self._settings.application).schemas.by_id
        if (found := known.get(id)) is None:
            return _unknown_id(id)
        most = {"maxId": max(known)} if fetchMaxId else {}
        return RegistryJson({"schema": json.dumps(found.schema)} | most)

    def schema_versions(self, id: int) -> Response:
        """Return the subjects that have a schema, and the version of each."""
        found = [{"subject": one.subject, "version": one.schema.version} for one in self._with(id)]
        return RegistryJson(found) if found else _unknown_id(id)

    def schema_subjects(self, id: int) -> Response:
        """Return the subjects that have a schema."""
        found = [one.subject for one in self._with(id)]
        return RegistryJson(found) if found else _unknown_id(id)

    def types(self) -> Response:
        """Return `AVRO` alone."""
        return RegistryJson(["AVRO"])

    def subjects(self) -> Response:
        """Return all subjects: `<topic>-value`."""
        return RegistryJson(sorted({one.subject for one in every_subject(self._settings.topics)}))

    def versions(self, subject: str) -> Response:
        """Return the versions of a subject."""
        found = [one.schema.version for one in self._of(subject)]
        return RegistryJson(found) if found else _unknown_subject(subject)

    def version(self, subject: str, version: str) -> Response:
        """Return one version of a subject, or its `latest`."""
        found = self._one(subject, version)
        return found if isinstance(found, Response) else _described(subject, found)

    def bare(self, subject: str, version: str) -> Response:
        """Return the schema alone of one version."""
        found = self._one(subject, version)
        return found if isinstance(found, Response) else RegistryJson(found.schema)

    def compatibility(self) -> Response:
        """Return what new versions must be able to read."""
        return RegistryJson({"compatibilityLevel": COMPATIBILITY})

    def subject_compatibility(self, subject: str) -> Response:
        """Return the same for a subject."""
        return self.compatibility() if self._of(subject) else _unknown_subject(subject)

    def mode(self) -> Response:
        """Return `READONLY`: no schema can be registered."""
        return RegistryJson({"mode": MODE})

    def subject_mode(self, subject: str) -> Response:
        """Return the same for a subject."""
        return self.mode() if self._of(subject) else _unknown_subject(subject)

    async def look_up(self, request: Request, subject: str) -> Response:
        """Return the version of a subject that has the schema of the body."""
        found = await self._find(request, subject)
        if found is None and not self._of(subject):
            return _unknown_subject(subject)
        return found or registry_error(404, f"no version of {subject} has this schema", NO_SCHEMA)

    async def register(self, request: Request, subject: str) -> Response:
        """Return the same, for serializers that register; no other schema is accepted."""
        found = await self._find(request, subject)
        if found is None and not self._of(subject):
            why = f"there is no subject {subject!r}, and none can be added: see /subjects"
            return registry_error(422, why, NOT_PERMITTED)
        return found or registry_error(
            INCOMPATIBLE,
            f"no version of {subject} has this schema, and none can be added: use the one of "
            f"/subjects/{subject}/versions/latest",
        )

    async def _find(self, request: Request, subject: str) -> Response | None:
        """Return a response with the schema of the body, or about a wrong body; None: unknown."""
        body = await read(request, SCHEMA_BYTES)
        if body is None:
            return registry_error(422, f"a schema has at most {SCHEMA_BYTES} bytes", INVALID)
        return await run_in_threadpool(self._same, subject, body)

    def _same(self, subject: str, body: bytes) -> Response | None:
        try:
            text = json.loads(body)["schema"]
            parse_schema(json.loads(text))
            same = [one.schema for one in self._of(subject) if is_same(text, one.schema)]
        except Exception as error:  # anyone may send these bytes
            return registry_error(422, f"this is no Avro schema: {error}"[:500], INVALID)
        return _described(subject, same[-1]) if same else None

    def _one(self, subject: str, version: str) -> SchemaVersion | Response:
        versions = {str(one.schema.version): one for one in self._of(subject)}
        if not versions:
            return _unknown_subject(subject)
        newest = max(versions.values(), key=lambda one: one.schema.version)
        found = versions | {"latest": newest, "-1": newest}
        if version not in found:
            return registry_error(404, f"{subject} has no version {version!r}", NO_VERSION)
        return found[version].schema

    def _with(self, id: int) -> Sequence[RegisteredId]:
        return [one for one in every_subject(self._settings.topics) if one.schema.id == id]

    def _of(self, subject: str) -> Sequence[RegisteredId]:
        return [one for one in every_subject(self._settings.topics) if one.subject == subject]


def _described(subject: str, found: SchemaVersion) -> Response:
    about = {"subject": subject, "version": found.version, "id": found.id}
    return RegistryJson(about | {"schema": json.dumps(found.schema)})


def _unknown_subject(subject: str) -> Response:
    return registry_error(404, f"no subject {subject!r}", NO_SUBJECT)


def _unknown_id(id: int) -> Response:
    return registry_error(404, f"schema id {id} is unknown here", NO_SCHEMA)


def registry_error(status: int, message: str, code: int | None = None) -> Response:
    """Return an error as registries send it; without a code, the status is the code."""
    return RegistryJson({"error_code": code or status, "message": message}, status)


def is_of_registry(request: Request) -> bool:
    """Return whether a request is one to the registry."""
    return TAG in getattr(request.scope.get("route"), "tags", ())


def add_registry(page: FastAPI, settings: Settings) -> None:
    """Add the routes of a registry."""
    registry = Registry(settings)
    routes: dict[str, tuple[Callable[..., Response], str, Any]] = {
        "/schemas/ids/{id}": (registry.schema, "get_schema", SchemaOfId),
        "/schemas/ids/{id}/versions": (
            registry.schema_versions, "list_schema_versions", list[SubjectVersion],
        ),
        "/schemas/ids/{id}/subjects": (
            registry.schema_subjects, "list_schema_subjects", list[str],
        ),
        "/schemas/types": (registry.types, "list_schema_types", list[str]),
        "/subjects": (registry.subjects, "list_subjects", list[str]),
        "/subjects/{subject}/versions": (registry.versions, "list_subject_versions", list[int]),
        "/subjects/{subject}/versions/{version}": (
            registry.version, "get_subject_version", SubjectSchema,
        ),
        "/subjects/{subject}/versions/{version}/schema": (
            registry.bare, "get_subject_schema", Any,
        ),
        "/config": (registry.compatibility, "get_compatibility", Compatibility),
        "/config/{subject}": (
            registry.subject_compatibility, "get_subject_compatibility", Compatibility,
        ),
        "/mode": (registry.mode, "get_mode", Mode),
        "/mode/{subject}": (registry.subject_mode, "get_subject_mode", Mode),
    }  # fmt: skip
    for path, (route, operation_id, model) in routes.items():
        page.add_api_route(
            path,
            route,
            summary=route.__doc__,
            operation_id=operation_id,
            tags=[TAG],
            response_class=RegistryJson,
            response_model=model,
            responses=UNKNOWN if "{" in path else {},
        )
    for path, take, operation_id in (
        ("/subjects/{subject}", registry.look_up, "look_up_schema"),
        ("/subjects/{subject}/versions", registry.register, "register_schema"),
    ):
        page.add_api_route(
            path,
            take,
            methods=["POST"],
            summary=take.__doc__,
            operation_id=operation_id,
            tags=[TAG],
            response_class=RegistryJson,
            response_model=SubjectSchema,
            responses=UNKNOWN | REFUSED,
            openapi_extra={"requestBody": {"content": {CONTENT: {"schema": SCHEMA_SENT}}}},
        )
