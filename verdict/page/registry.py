"""Our schemas by the reading half of a schema registry's interface, for tools that ask one.

verdict itself reads and writes without; Confluent's deserialisers and the like find here what the
ids in our records mean. Nothing is put in, so it has no state.
"""

import json
from collections.abc import Callable, Sequence

from fastapi import FastAPI, Response

from verdict.configuration.settings import Settings
from verdict.kafka.schema_registry import CONTENT, Placed, every_subject
from verdict.page.answers import Json
from verdict.wire.schema_files import SchemaVersion, by_id

COMPATIBILITY, MODE = "BACKWARD_TRANSITIVE", "READONLY"  # what is read once is read for ever
NO_SUBJECT, NO_VERSION, NO_SCHEMA = 40401, 40402, 40403  # as clients know them


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
        return Told(found) if found else _none(NO_SUBJECT, f"no subject {subject!r}")

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

    def compatibility(self, subject: str | None = None) -> Response:
        """Answer with what a new version of any schema must be able to read."""
        return self._of_any(subject, {"compatibilityLevel": COMPATIBILITY})

    def mode(self, subject: str | None = None) -> Response:
        """Answer that nothing is put in."""
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


def _none(code: int, said: str) -> Response:
    return Told({"error_code": code, "message": said}, 404)


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
        "/mode": (registry.mode, "Nothing is put in: `READONLY`."),
        "/mode/{subject}": (registry.mode, "The same, of a subject."),
    }
    for path, (answer, summary) in answers.items():
        page.add_api_route(path, answer, summary=summary)
