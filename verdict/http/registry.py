"""The interface of a schema registry, for other tools: verdict itself needs none.

Confluent's deserializers find here the schemas of the ids in our records, and its serializers the
id of a schema. Other schemas cannot be registered, so the registry has no state. Its API is
Confluent's, so `/openapi.json` does not describe it.
"""

import json
from collections.abc import Sequence

from fastapi import APIRouter, Request, Response
from fastavro.schema import parse_schema
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException

from verdict.adapters.kafka.schema_registry import CONTENT, every_subject, is_same
from verdict.http.responses import JsonLine
from verdict.http.site import Context, RequestContext
from verdict.wire.catalog import catalog_of
from verdict.wire.schemas.files import SchemaVersion

COMPATIBILITY = "BACKWARD_TRANSITIVE"  # every version stays readable
NO_SUBJECT, NO_VERSION, NO_SCHEMA = 40401, 40402, 40403  # codes that clients know
INCOMPATIBLE, INVALID, NOT_PERMITTED = 409, 42201, 42205
SCHEMA_BYTES = 1024 * 1024
router = APIRouter(include_in_schema=False)


class RegistryJson(JsonLine):
    """JSON as registries send it."""

    media_type = CONTENT


class RegistryError(HTTPException):
    """An error as clients of schema registries read it."""

    def __init__(self, status: int, code: int, message: str) -> None:
        super().__init__(status, message)
        self.code = code


async def registry_error(request: Request, error: Exception) -> Response:
    """Return a `RegistryError` in the form of registries."""
    assert isinstance(error, RegistryError)
    return RegistryJson({"error_code": error.code, "message": error.detail}, error.status_code)


@router.get("/schemas/ids/{id}")
def schema(context: Context, id: str) -> Response:
    """Return the Avro schema of an id."""
    known = catalog_of(context.application).schemas.by_id
    found = next((one for number, one in known.items() if str(number) == id), None)
    if found is None:
        raise RegistryError(404, NO_SCHEMA, f"schema id {id} is unknown here")
    return RegistryJson({"schema": json.dumps(found.schema)})


@router.get("/subjects")
def subjects(context: Context) -> Response:
    """Return all subjects: `<topic>-value`."""
    return RegistryJson(sorted({one.subject for one in every_subject(context.settings.topics)}))


@router.get("/subjects/{subject}/versions")
def versions(context: Context, subject: str) -> Response:
    """Return the versions of a subject."""
    return RegistryJson([one.version for one in _versions(context, subject)])


@router.get("/subjects/{subject}/versions/{version}")
def version(context: Context, subject: str, version: str) -> Response:
    """Return one version of a subject, or its `latest`."""
    every = _versions(context, subject)
    found = {str(one.version): one for one in every} | {"latest": every[-1], "-1": every[-1]}
    if version not in found:
        raise RegistryError(404, NO_VERSION, f"{subject} has no version {version!r}")
    return _described(subject, found[version])


@router.get("/config")
def compatibility() -> Response:
    """Return what new versions must be able to read."""
    return RegistryJson({"compatibilityLevel": COMPATIBILITY})


@router.get("/config/{subject}")
def subject_compatibility(context: Context, subject: str) -> Response:
    """Return the same for a subject."""
    _versions(context, subject)
    return compatibility()


@router.post("/subjects/{subject}")
async def look_up(context: Context, subject: str) -> Response:
    """Return the version of a subject that has the schema of the body."""
    body = await context.body(SCHEMA_BYTES)
    found = await run_in_threadpool(_same, body, _known(context, subject))
    if found is None:
        _versions(context, subject)
        raise RegistryError(404, NO_SCHEMA, f"no version of {subject} has this schema")
    return _described(subject, found)


@router.post("/subjects/{subject}/versions")
async def register(context: Context, subject: str) -> Response:
    """Return the same, for serializers that register; no other schema is accepted."""
    body, known = await context.body(SCHEMA_BYTES), _known(context, subject)
    found = await run_in_threadpool(_same, body, known)
    if found is None and not known:
        why = f"there is no subject {subject!r}, and none can be added: see /subjects"
        raise RegistryError(422, NOT_PERMITTED, why)
    if found is None:
        why = (
            f"no version of {subject} has this schema, and none can be added: use the one of "
            f"/subjects/{subject}/versions/latest"
        )
        raise RegistryError(409, INCOMPATIBLE, why)
    return _described(subject, found)


def _same(body: bytes, known: Sequence[SchemaVersion]) -> SchemaVersion | None:
    """Return the newest version that has the schema of a body."""
    try:
        text = json.loads(body)["schema"]
        parse_schema(json.loads(text))
        same = [one for one in known if is_same(text, one)]
    except Exception as error:  # anyone may send these bytes
        raise RegistryError(422, INVALID, f"this is no Avro schema: {error}"[:500]) from error
    return same[-1] if same else None


def _known(context: RequestContext, subject: str) -> list[SchemaVersion]:
    """Return the versions of a subject, the newest last."""
    every = every_subject(context.settings.topics)
    return [one.schema for one in every if one.subject == subject]


def _versions(context: RequestContext, subject: str) -> list[SchemaVersion]:
    """Return the same of a subject that exists."""
    if not (known := _known(context, subject)):
        raise RegistryError(404, NO_SUBJECT, f"no subject {subject!r}")
    return known


def _described(subject: str, found: SchemaVersion) -> Response:
    about = {"subject": subject, "version": found.version, "id": found.id}
    return RegistryJson(about | {"schema": json.dumps(found.schema)})
