"""Our schemas by the reading half of a schema registry's interface, for tools that ask one.

verdict itself reads and writes without; Confluent's deserialisers and the like find here what the
ids in our records mean. Nothing is put in, so it has no state.
"""

import json
from collections.abc import Callable, Sequence
from typing import Any

from fastapi import FastAPI, Request, Response
from pydantic import BaseModel, Field

from verdict.configuration.settings import Settings
from verdict.kafka.schema_registry import CONTENT, Placed, every_subject
from verdict.page.answers import Json
from verdict.wire.schema_files import SchemaVersion, by_id

COMPATIBILITY, MODE = "BACKWARD_TRANSITIVE", "READONLY"  # what is read once is read for ever
NO_SUBJECT, NO_VERSION, NO_SCHEMA = 40401, 40402, 40403  # as clients know them


TAG = "schema registry"


class RegistryError(BaseModel):
    """An error as clients of schema registries read it."""

    error_code: int
    message: str


class RegisteredSchema(BaseModel):
    """A schema."""

    schema_: str = Field(alias="schema", description="The Avro schema, as JSON in a text.")


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


class Told(Json):
    """JSON as registries send it."""

    media_type = CONTENT


class Registry:
    """Answers as a registry that holds what `verdict schemas publish` would put there."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def schema(self, id: int) -> Response:
        """Answer with the schema of an id."""
        found = by_id().get(id)
        if found is None:
            return _none(NO_SCHEMA, f"schema id {id} is unknown here")
        return Told({"schema": json.dumps(found.schema)})

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
        return Told(found) if found else _no_subject(subject)

    def version(self, subject: str, version: str) -> Response:
        """Answer with one version of a subject, or its `latest`."""
        found = self._one(subject, version)
        if isinstance(found, Response):
            return found
        told = {"subject": subject, "version": found.version, "id": found.id}
        return Told(told | {"schema": json.dumps(found.schema)})

    def bare(self, subject: str, version: str) -> Response:
        """Answer with the schema alone of one version."""
        found = self._one(subject, version)
        return found if isinstance(found, Response) else Told(found.schema)

    def compatibility(self) -> Response:
        """Answer with what a new version of any schema must be able to read."""
        return Told({"compatibilityLevel": COMPATIBILITY})

    def subject_compatibility(self, subject: str) -> Response:
        """Answer with the same, of a subject that there is."""
        return self.compatibility() if self._of(subject) else _no_subject(subject)

    def mode(self) -> Response:
        """Answer that nothing is put in."""
        return Told({"mode": MODE})

    def subject_mode(self, subject: str) -> Response:
        """Answer with the same, of a subject that there is."""
        return self.mode() if self._of(subject) else _no_subject(subject)

    def types(self) -> Response:
        """Answer with the one kind of schema that there is."""
        return Told(["AVRO"])

    def _one(self, subject: str, version: str) -> SchemaVersion | Response:
        versions = {str(one.schema.version): one for one in self._of(subject)}
        if not versions:
            return _no_subject(subject)
        newest = max(versions.values(), key=lambda one: one.schema.version)
        found = versions | {"latest": newest, "-1": newest}
        if version not in found:
            return _none(NO_VERSION, f"{subject} has no version {version!r}")
        return found[version].schema

    def _having(self, id: int) -> Sequence[Placed]:
        return [one for one in every_subject(self._settings.topics) if one.schema.id == id]

    def _of(self, subject: str) -> Sequence[Placed]:
        return [one for one in every_subject(self._settings.topics) if one.subject == subject]


def _no_subject(subject: str) -> Response:
    return _none(NO_SUBJECT, f"no subject {subject!r}")


def _none(code: int, said: str) -> Response:
    return registry_error(404, said, code)


def registry_error(status: int, said: str, code: int | None = None) -> Response:
    """Return an error as registries send it, with the status as its code if there is no other."""
    return Told({"error_code": code or status, "message": said}, status)


def is_of_registry(request: Request) -> bool:
    """Tell whether a request is one to the registry."""
    return TAG in getattr(request.scope.get("route"), "tags", ())


def add_registry(page: FastAPI, settings: Settings) -> None:
    """Let tools ask for schemas."""
    registry = Registry(settings)
    answers: dict[str, tuple[Callable[..., Response], str, Any, str]] = {
        "/schemas/ids/{id}": (
            registry.schema, "get_schema", RegisteredSchema,
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
        "/mode": (registry.mode, "get_mode", Mode, "Nothing is put in: `READONLY`."),
        "/mode/{subject}": (
            registry.subject_mode, "get_subject_mode", Mode, "The same, of a subject.",
        ),
    }  # fmt: skip
    none: dict[int | str, dict[str, Any]] = {
        404: {"model": RegistryError, "description": "There is no such schema or subject."},
        422: {"model": RegistryError, "description": "A parameter does not have its form."},
    }
    for path, (answer, operation_id, model, summary) in answers.items():
        page.add_api_route(
            path,
            answer,
            summary=summary,
            operation_id=operation_id,
            tags=[TAG],
            response_class=Told,
            response_model=model,
            responses=none if "{" in path else {},
        )
