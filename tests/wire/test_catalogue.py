"""The schema files: append-only, generated from the classes, and compatible forever."""

import json
import shutil
from collections import defaultdict
from hashlib import sha256
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from tests.application import APPLICATION, CATALOG, newest
from verdict.wire.schemas import files as schema_files
from verdict.wire.schemas.files import (
    FIRST_FREE_ID,
    DamagedSchemaFileError,
    SchemaFiles,
    SchemaIdClashError,
    of_the_aggregates,
    of_the_engine,
    versions_in,
)
from verdict.wire.schemas.write import append, lost_in, missing, wanted_of_the_engine

PLACES = [Path(str(of_the_engine())), Path(str(of_the_aggregates(APPLICATION)))]
LISTED: list[list[dict[str, Any]]] = [json.loads((p / "ids.json").read_text()) for p in PLACES]
ENTRIES = [entry for entries in LISTED for entry in entries]
FILES = {path.name: path for place in PLACES for path in place.glob("*.avsc")}
SUBJECTS = sorted({entry["subject"] for entry in ENTRIES})


def test_the_classes_are_what_the_newest_schemas_say() -> None:
    changed = [subject for subject, _ in missing(APPLICATION)]

    assert changed == [], "these classes differ from their newest schema: run `make schemas`"


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry["file"])
def test_a_schema_file_never_changes(entry: dict[str, Any]) -> None:
    found = sha256(FILES[entry["file"]].read_bytes()).hexdigest()

    assert found == entry["sha256"], f"{entry['file']} was changed: its bytes are in Kafka"


def test_the_schemas_of_the_first_release_keep_their_ids() -> None:
    listed = [(entry["id"], entry["subject"], entry["sha256"][:8]) for entry in ENTRIES]

    assert sorted(listed)[:8] == [
        (1, "response", "3ccd8fc2"),
        (2, "rejection", "def5804c"),
        (3, "dead_letter", "6403dd80"),
        (4, "progress_record", "870cdb65"),
        (5, "order_command", "762739a7"),
        (6, "order_event", "77f69eba"),
        (7, "position_command", "a90f7bf8"),
        (8, "position_event", "d335bd06"),
    ]


def test_ids_are_unique_and_the_engine_s_only_grow() -> None:
    ids = [entry["id"] for entry in ENTRIES]
    of_the_engine = [entry["id"] for entry in LISTED[0]]

    assert len(set(ids)) == len(ids)
    assert of_the_engine == sorted(of_the_engine)
    assert of_the_engine[-1] < FIRST_FREE_ID


def test_every_file_is_listed_under_its_name_and_no_version_is_left_out() -> None:
    assert set(FILES) == {entry["file"] for entry in ENTRIES}
    for entry in ENTRIES:
        assert entry["file"] == f"{entry['subject']}.v{entry['version']}.avsc"
    for subject in SUBJECTS:
        versions = [entry["version"] for entry in ENTRIES if entry["subject"] == subject]
        assert versions == list(range(1, len(versions) + 1))


@pytest.mark.proves("G-08")
@pytest.mark.parametrize("subject", SUBJECTS)
def test_a_version_is_read_by_every_later_one(subject: str) -> None:
    """A response only gets fields at its end, so clients read what they know of a newer one."""
    versions = [one for one in CATALOG.schemas.by_id.values() if one.subject == subject]

    for older, newer in combinations(sorted(versions, key=lambda one: one.version), 2):
        known = older.schema["fields"]
        assert lost_in(older.schema, newer.schema) == []
        assert subject != "response" or newer.schema["fields"][: len(known)] == known


def test_a_changed_class_gets_a_new_version_under_a_new_id(tmp_path: Path) -> None:
    schemas = dict(wanted_of_the_engine())

    names = [append(tmp_path, "response", schemas["response"], number) for number in (1, 2)]
    names.append(append(tmp_path, "progress_record", schemas["progress_record"], 3))

    assert names == ["response.v1.avsc", "response.v2.avsc", "progress_record.v1.avsc"]
    kept = list(versions_in(tmp_path))
    assert [(each.id, each.subject, each.version) for each in kept] == [
        (1, "response", 1),
        (2, "response", 2),
        (3, "progress_record", 1),
    ]
    assert kept[0].schema == schemas["response"]


def test_the_id_of_a_schema_of_an_application_follows_from_what_it_says(tmp_path: Path) -> None:
    """Two people who write the same have the same; two teams hardly ever clash."""
    schema = newest("order_event").schema
    one, other = tmp_path / "one", tmp_path / "other"
    for place in (one, other):
        place.mkdir()
        append(place, "order_event", schema)
    append(one, "order_event", schema)

    first, second = versions_in(one)
    assert [first] == list(versions_in(other))
    assert first.id != second.id
    assert all(FIRST_FREE_ID <= version.id < 2**31 for version in (first, second))


@pytest.mark.parametrize("text", ["<<<<<<< HEAD\n", None], ids=["damaged", "gone"])
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, text: str | None) -> None:
    file = tmp_path / append(tmp_path, "response", dict(wanted_of_the_engine())["response"], 1)
    file.unlink() if text is None else file.write_text(text)

    said = f"the schema file {file} cannot be read .* from your version control"
    with pytest.raises(DamagedSchemaFileError, match=said):
        _ = [version.schema for version in versions_in(tmp_path)]


@pytest.fixture
def own_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let the application have a copy of its schema files, and return where."""
    files = tmp_path / "avro"
    shutil.copytree(str(schema_files.of_the_aggregates(APPLICATION)), files)
    monkeypatch.setattr(schema_files, "of_the_aggregates", lambda application: files)
    return files


def is_read(subject: str) -> bool:
    """Tell whether the schemas of a subject can be read."""
    try:
        return bool(SchemaFiles(APPLICATION).newest(subject).schema)
    except (DamagedSchemaFileError, SchemaIdClashError):
        return False


def test_a_damaged_file_stops_its_own_subject_alone(own_files: Path) -> None:
    (own_files / "invoice_event.v1.avsc").write_text("<<<<<<< HEAD\n")

    assert is_read("order_command")
    assert is_read("invoice_command")
    assert is_read("response")
    assert not is_read("invoice_event")


def test_an_id_that_two_subjects_have_stops_these_alone(own_files: Path) -> None:
    entries = json.loads((own_files / "ids.json").read_text())
    ids = {entry["subject"]: entry["id"] for entry in entries}
    for entry in entries:
        if entry["subject"] == "loyalty_event":
            entry["id"] = ids["invoice_event"]
    (own_files / "ids.json").write_text(json.dumps(entries))

    assert is_read("order_event")
    assert not is_read("invoice_event")
    assert not is_read("loyalty_event")
    with pytest.raises(SchemaIdClashError, match=r"schema id \d+ is .* give the newer one a free"):
        _ = SchemaFiles(APPLICATION).by_id


def test_a_subject_without_a_schema_says_how_to_get_one() -> None:
    with pytest.raises(LookupError, match="no schema for 'nothing': run `verdict schemas write`"):
        newest("nothing")


def test_no_named_type_is_spelled_out_twice() -> None:
    for version in CATALOG.schemas.by_id.values():
        names: dict[str, int] = defaultdict(int)
        _count_names(version.schema, names)
        assert {name for name, count in names.items() if count > 1} == set(), version.subject


def _count_names(schema: Any, names: dict[str, int]) -> None:
    if isinstance(schema, list):
        for member in schema:
            _count_names(member, names)
    if isinstance(schema, dict):
        if schema.get("type") in ("record", "enum"):
            names[schema["name"]] += 1
        for part in schema.values():
            _count_names(part, names)
