"""Our schemas by the reading half of a schema registry's interface, for tools that ask one.

verdict itself reads and writes without; Confluent's deserialisers and the like find here what the
ids in our records mean. Nothing is put in, so it has no state.
"""

import json
from collections.abc import Callable, Sequence

from fastapi import FastAPI, Response

from verdict.configuration.settings import Settings
from verdict.kafka.schema_registry import Placed, every_subject
from verdict.page.answers import Json
from verdict.wire.schema_files import by_id

NO_SUBJECT, NO_VERSION, NO_SCHEMA = 40401, 40402, 40403  # as clients know them


class Registry:
    """Answers as a registry that holds what `verdict schemas publish` would put there."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def schema(self, id: int) -> Response:
        """Answer with the schema of an id."""
        found = by_id().get(id)
        if found is None:
            return _none(NO_SCHEMA, f"schema id {id} is unknown here")
        return Json({"schema": json.dumps(found.schema)})

    def placed(self, id: int) -> Response:
        """Answer with the subjects that have the schema of an id."""
        every = every_subject(self._settings.topics)
        found = [(one.subject, one.schema.version) for one in every if one.schema.id == id]
        return Json([{"subject": subject, "version": version} for subject, version in found])

    def subjects(self) -> Response:
        """Answer with the subjects, one for each topic."""
        return Json(sorted({one.subject for one in every_subject(self._settings.topics)}))

    def versions(self, subject: str) -> Response:
        """Answer with the versions of a subject."""
        found = [one.schema.version for one in self._of(subject)]
        return Json(found) if found else _none(NO_SUBJECT, f"no subject {subject!r}")

    def version(self, subject: str, version: str) -> Response:
        """Answer with one version of a subject, or its `latest`."""
        versions = {str(one.schema.version): one for one in self._of(subject)}
        if not versions:
            return _none(NO_SUBJECT, f"no subject {subject!r}")
        newest = max(versions.values(), key=lambda one: one.schema.version)
        found = versions | {"latest": newest, "-1": newest}
        if version not in found:
            return _none(NO_VERSION, f"{subject} has no version {version!r}")
        schema = found[version].schema
        told = {"subject": subject, "version": schema.version, "id": schema.id}
        return Json(told | {"schema": json.dumps(schema.schema)})

    def _of(self, subject: str) -> Sequence[Placed]:
        return [one for one in every_subject(self._settings.topics) if one.subject == subject]


def _none(code: int, said: str) -> Response:
    return Json({"error_code": code, "message": said}, 404)


def add_registry(page: FastAPI, settings: Settings) -> None:
    """Let tools ask for schemas."""
    registry = Registry(settings)
    answers: dict[str, tuple[Callable[..., Response], str]] = {
        "/schemas/ids/{id}": (registry.schema, "The Avro schema of an id, as registries tell it."),
        "/schemas/ids/{id}/versions": (registry.placed, "The subjects that have it."),
        "/subjects": (registry.subjects, "All subjects: `<topic>-value`."),
        "/subjects/{subject}/versions": (registry.versions, "The versions of a subject."),
        "/subjects/{subject}/versions/{version}": (registry.version, "One version, or `latest`."),
    }
    for path, (answer, summary) in answers.items():
        page.add_api_route(path, answer, summary=summary)
