"""What a materialised projection looks like, and how it gets into a file."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest

from tests.application import APPLICATION
from tests.kit.databases import ReadSide
from tests.kit.log import EventLog, opened
from verdict.adapters.sql.readers.reader import Reader
from verdict.errors import VerdictError
from verdict.read_side.as_of.destination import Export, ExportRecord, FileDestination
from verdict.read_side.as_of.materialiser import scratch_folder
from verdict.read_side.as_of.resolving import AsOf, ResolvedPosition
from verdict.read_side.catalog import FIRST, declared, declared_projections
from verdict.wire.partitions import TopicPartition

CLIENTS = ("zoe", "Zoe", "ada", "é", "\U0001f600", "ﬀ")
RESOLVED = ResolvedPosition(AsOf(), {TopicPartition("position.events", 0): 6})


class Torn(Export):
    """Rows that end with a bug behind the first."""

    def records(self) -> Iterator[ExportRecord]:
        yield next(self.rows())
        raise ZeroDivisionError


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[Reader]:
    read_side = ReadSide(f"sqlite:///{tmp_path / 'read.db'}")
    log = EventLog()
    for client in CLIENTS:
        log.add(f"p-{client}", opened(client))
    read_side.applier("us_holder").apply(log.batch())
    with read_side.reader() as reader:
        yield reader
    read_side.close()


@pytest.fixture
def holders(reader: Reader) -> Export:
    return Export(reader, "us_holder", ("client",), RESOLVED)


@pytest.mark.parametrize("name", declared(APPLICATION))
def test_every_read_model_has_a_key_of_columns_of_its_view(name: str, reader: Reader) -> None:
    columns = reader.select(f"SELECT * FROM {name}").columns

    assert set(declared_projections(APPLICATION)[name].key) <= set(columns)
    assert name in declared(APPLICATION)[name](FIRST).views


def test_rows_come_by_key_then_the_completion_record_with_their_number_and_checksum(
    holders: Export,
) -> None:
    *rows, completion = holders.records()

    assert [record.key for record in rows] == sorted(CLIENTS)
    assert [json.loads(record.line)["client"] for record in rows] == sorted(CLIENTS)
    assert [*json.loads(rows[0].line)] == ["client", "positions", "since"]
    assert completion.key == "verdict:materialised"
    assert json.loads(completion.line) == {
        "as_of": {
            "asked": "now",
            "positions": [{"topic": "position.events", "partition": 0, "next_offset": 6}],
        },
        "count": len(CLIENTS),
        "checksum": sha256(b"".join(record.line + b"\n" for record in rows)).hexdigest(),
    }


def test_a_key_of_several_columns_is_a_json_array(reader: Reader) -> None:
    rows = [*Export(reader, "us_holder", ("client", "positions"), RESOLVED).rows()]

    assert rows[0].key == '["Zoe", 1]'


def test_a_file_has_all_lines_and_no_file_is_left_next_to_it(
    holders: Export, tmp_path: Path
) -> None:
    file = tmp_path / "out" / "holders.ndjson"
    file.parent.mkdir()
    file.write_text("of before")

    FileDestination(file).check()
    assert file.read_text() == "of before"
    assert FileDestination(file).write(holders)

    assert file.read_bytes() == b"".join(record.line + b"\n" for record in holders.records())
    assert [*file.parent.iterdir()] == [file]


@pytest.mark.proves("A-03")
def test_a_write_that_fails_midway_leaves_what_was_there(holders: Export, tmp_path: Path) -> None:
    file = tmp_path / "out" / "holders.ndjson"
    file.parent.mkdir()
    file.write_text("of before")

    with pytest.raises(ZeroDivisionError):
        FileDestination(file).write(Torn(holders.reader, holders.view, holders.key, RESOLVED))

    assert file.read_text() == "of before"
    assert [*file.parent.iterdir()] == [file]


@pytest.mark.parametrize("place", ["missing/holders.ndjson", "", "/", "."])
def test_a_place_that_takes_no_file_is_named_before_anything_is_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(VerdictError, match=r"cannot be written|is a folder: name the file in it"):
        FileDestination(Path(place)).check()


@pytest.mark.parametrize("place", ["data/verdict.db", "data/new/../x", "away.db", "link"])
def test_nothing_of_the_service_is_replaced(tmp_path: Path, place: str) -> None:
    """I-03: the service's own database was overwritten by one wrong --to."""
    (tmp_path / "data" / "new").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "away.db")

    with pytest.raises(VerdictError, match="is in a folder of the service's own data"):
        FileDestination(tmp_path / place, [tmp_path / "data", tmp_path / "away.db"]).check()

    FileDestination(tmp_path / "away.db.copy", [tmp_path / "data", tmp_path / "away.db"]).check()


@pytest.mark.process
def test_what_a_killed_run_left_is_removed_and_what_a_running_one_has_is_not(
    tmp_path: Path,
) -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        pass
    for pid in (ended.pid, os.getppid()):
        (tmp_path / f"export-{pid}").mkdir()
        (tmp_path / f"export-{pid}" / "as-of.db").touch()

    with scratch_folder(tmp_path / "") as folder:
        assert [*folder.iterdir()] == []
        assert {one.name for one in tmp_path.iterdir()} == {
            f"export-{os.getppid()}",
            folder.name,
        }

    assert [one.name for one in tmp_path.iterdir()] == [f"export-{os.getppid()}"]
