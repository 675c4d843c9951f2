"""Publishes our schemas to a schema registry, under the ids that our records carry.

The API is Confluent's (https://docs.confluent.io/platform/current/schema-registry/develop/api.html),
which others have too: a subject in the mode IMPORT takes a schema with its id and version.
"""

import base64
import json
from collections.abc import Iterable, Iterator
from http.client import HTTPException
from itertools import groupby
from operator import attrgetter
from typing import Any, NamedTuple
from urllib.error import HTTPError
from urllib.parse import quote, urlsplit, urlunsplit
from urllib.request import Request, urlopen

from fastavro.schema import parse_schema, to_parsing_canonical_form

from verdict.errors import UnreachableError, VerdictError
from verdict.settings.load import InvalidSettingsError
from verdict.wire.catalog import catalog_of
from verdict.wire.schemas.files import SchemaVersion
from verdict.wire.topics import Topics

TIMEOUT_S = 30
CONTENT = "application/vnd.schemaregistry.v1+json"
NOT_FOUND = 404


class RegisteredId(NamedTuple):
    """One version of the schema of a topic's values."""

    subject: str
    schema: SchemaVersion


def every_subject(topics: Topics) -> Iterator[RegisteredId]:
    """Yield all versions of the schemas of all topics; the subjects are `<topic>-value`."""
    homes = {
        topics.dead_letters: "dead_letter",
        topics.progress: "progress_record",
        topics.skips: "skip_record",
        topics.replies: "response",
    }
    for name in topics.application.aggregate_types:
        homes[topics.commands(name)] = f"{name}_command"
        homes[topics.events(name)] = f"{name}_event"
        homes[topics.responses(name)] = "response"
        homes[topics.rejected(name)] = "rejection"
    known = catalog_of(topics.application).schemas.by_id
    for topic, subject in sorted(homes.items()):
        versions = (one for one in known.values() if one.subject == subject)
        for version in sorted(versions, key=lambda one: one.version):
            yield RegisteredId(f"{topic}-value", version)


class SchemaRegistry:
    """A registry at `url`, which may hold a user and a password.

    Every method raises `UnreachableError` if it does not answer, and `VerdictError` with its text
    if it refuses.
    """

    def __init__(self, url: str) -> None:
        split = urlsplit(url)
        if split.scheme not in ("http", "https") or not split.hostname:
            raise InvalidSettingsError("a schema registry has an http:// or https:// URL")
        host = split.netloc.rpartition("@")[2]
        self._root = urlunsplit((split.scheme, host, split.path.rstrip("/"), "", ""))
        self._headers = {"Content-Type": CONTENT, "Accept": CONTENT}
        if split.username:
            login = f"{split.username}:{split.password or ''}"
            self._headers["Authorization"] = f"Basic {base64.b64encode(login.encode()).decode()}"

    def __str__(self) -> str:
        return self._root

    def missing(self, wanted: Iterable[RegisteredId]) -> list[RegisteredId]:
        """Return the versions that are not there yet."""
        return [placed for placed in wanted if not self._has(placed)]

    def publish(self, missing: Iterable[RegisteredId]) -> None:
        """Put schemas there under their own ids and versions."""
        for subject, versions in groupby(missing, key=attrgetter("subject")):
            mode = f"/mode/{quote(subject, safe='')}"
            self._ask("PUT", f"{mode}?force=true", {"mode": "IMPORT"})
            try:
                for _, one in versions:
                    schema = json.dumps(one.schema)
                    content = {"schema": schema, "id": one.id, "version": one.version}
                    self._ask("POST", f"{_path(subject)}/versions", content)
            finally:
                self._ask("DELETE", mode)

    def _has(self, placed: RegisteredId) -> bool:
        subject, ours = placed
        of_id = self._ask("GET", f"/schemas/ids/{ours.id}")
        if of_id is not None and not is_same(of_id["schema"], ours):
            raise self._clash(f"schema id {ours.id}", ours)
        there = self._ask("GET", f"{_path(subject)}/versions/{ours.version}")
        if there is not None and there["id"] != ours.id:
            raise self._clash(f"version {ours.version} of {subject}", ours)
        return there is not None

    def _clash(self, what: str, ours: SchemaVersion) -> VerdictError:
        return VerdictError(
            f"{what} at {self} is not {ours.subject} v{ours.version}, which has the id {ours.id} "
            "in every record: publish to a registry, or a context of it, that is verdict's alone"
        )

    def _ask(self, method: str, path: str, content: Any = None) -> Any:
        """Return the answer; None: not found."""
        body = None if content is None else json.dumps(content).encode()
        request = Request(self._root + path, body, self._headers, method=method)
        try:
            with urlopen(request, timeout=TIMEOUT_S) as answer:
                return json.load(answer)
        except HTTPError as error:
            with error:
                said = error.read(500).decode(errors="replace")
            if error.code == NOT_FOUND:
                return None
            raise VerdictError(f"{self} refuses {method} {path}: {error.code} {said}") from error
        except (OSError, HTTPException, ValueError) as error:
            raise UnreachableError(
                f"the schema registry {self} does not answer: {error}"
            ) from error


def _path(subject: str) -> str:
    return f"/subjects/{quote(subject, safe='')}"


def is_same(text: str, schema: SchemaVersion) -> bool:
    """Compare as readers of data do: a registry may write a schema in another way."""
    return _canonical(json.loads(text)) == _canonical(schema.schema)


def _canonical(schema: Any) -> str:
    return to_parsing_canonical_form(parse_schema(schema))
