"""The lake counts right, whoever reads it and whatever was killed."""

from shutil import rmtree

import pandas as pd
import pyarrow.parquet as pq
import pytest

import verdict.reactions.lake.processor
from projections.outbound.invoice_line import COLUMNS
from tests.lake.shop import PERSONAL, Shop, follow
from tests.reactions.running import KilledError, dying_at
from tests.tiers import the_first_of
from verdict.errors import VerdictError
from verdict.streaming.exactly_once.errors import (
    CheckpointMismatchError,
    UnreadableProgressRecordError,
)
from verdict.streaming.exactly_once.failpoints import Failpoint
from verdict.wire.dead_letter import DeadLetter
from verdict.wire.records import decode

pytestmark = pytest.mark.spark


def run_into(shop: Shop, step: Failpoint) -> None:
    """Run the lake until it is killed at a step."""
    with shop.lake(dying_at(step)) as lake, pytest.raises(KilledError):
        follow(lake, lambda: False)


@pytest.mark.proves("P-06")
@pytest.mark.long
def test_every_reader_counts_every_line_once(shop: Shop) -> None:
    shop.sell(7)
    with shop.lake() as lake:
        follow(lake, shop.is_caught_up)
        shop.sell(5)
        shop.sell(4, commit=False)
        follow(lake, shop.is_caught_up)

        assert shop.counts() == {shop.sold}
    shop.sell(3)
    shop.catch_up()
    assert shop.counts() == {shop.sold}
    assert sum(pd.read_parquet(shop.table)["total_value_cents"]) == 100 * shop.sold


@pytest.mark.proves("P-06")
def test_the_files_are_what_is_documented_without_any_byte_of_a_personal_value(shop: Shop) -> None:
    shop.sell(50)
    shop.catch_up()

    files = shop.files()
    assert {path.suffix for path in files} == {".parquet"}
    assert {path.parent.name for path in files} == {
        f"created_date=2026-11-{day}" for day in (21, 22, 23)
    }
    found = shop.spark.read.parquet(str(shop.table)).schema
    types = {one.name: one.dataType.simpleString().upper() for one in found if one.name != "batch"}
    assert types == {column.name: column.type for column in COLUMNS}
    comments = {one.name: one.metadata.get("comment") for one in found}
    assert comments["city"] == "of the delivery, if there is one"
    first = pq.read_schema(files[0])
    assert str(first.field("created_time").type) == "timestamp[us, tz=UTC]"  # and no INT96
    everything = b"".join(path.read_bytes() for path in files)
    assert b"CITY-49" in everything  # what is not personal can be found like this
    assert [value for value in PERSONAL if value.encode() in everything] == []
    assert [value for value in PERSONAL if value in pd.read_parquet(shop.table).to_csv()] == []


@pytest.mark.proves("P-06")
@pytest.mark.parametrize(
    ("step", "seen"),
    the_first_of(
        (Failpoint.OUTPUT_COMPUTED, True),  # in place, and no progress record
        (Failpoint.CLAIMED, False),
        (Failpoint.FILES_WRITTEN, False),
        (Failpoint.BEFORE_COMMIT, True),
        (Failpoint.COMMITTED, True),
    ),
)
def test_a_kill_at_any_step_loses_and_doubles_nothing(
    shop: Shop, step: Failpoint, seen: bool
) -> None:
    shop.sell(5)
    if step is Failpoint.CLAIMED:
        with pytest.raises(KilledError), shop.lake(dying_at(step)):
            pass
    else:
        run_into(shop, step)
    assert bool(shop.files_in_table()) == seen
    if seen:
        assert shop.counts() == {shop.sold}

    shop.catch_up()

    assert shop.counts() == {shop.sold}
    assert shop.files() == shop.files_in_table()


@pytest.mark.long
@pytest.mark.proves("P-06")
@pytest.mark.parametrize("cut", the_first_of("more", "fewer"))
def test_a_replay_with_another_cut_counts_every_line_once(
    shop: Shop, monkeypatch: pytest.MonkeyPatch, cut: str
) -> None:
    shop.sell(9)
    run_into(shop, Failpoint.OUTPUT_COMPUTED)
    [left] = shop.batches()
    if cut == "more":
        shop.sell(4)
    else:
        monkeypatch.setattr(verdict.reactions.lake.processor, "ROWS", 4)

    run_into(shop, Failpoint.FORMER_AWAY)  # and once more in the middle of putting it right
    assert shop.batches() == []
    shop.catch_up()

    assert shop.counts() == {shop.sold}
    first, *others = shop.batches()
    assert first.start == left.start
    assert (first.end > left.end, first.end < left.end) == (cut == "more", cut == "fewer")
    starts, ends = [one.start for one in others], [one.end for one in (first, *others)]
    assert [*starts, shop.marked()] == ends


def test_where_nothing_was_recorded_nothing_is_written(shop: Shop) -> None:
    shop.sell(3, commit=False)

    shop.catch_up()
    assert (shop.files(), shop.marked()) == ([], 5)  # two aborts, three records that do not count

    shop.sell(1)
    shop.catch_up()
    assert shop.counts() == {shop.sold}


@pytest.mark.proves("P-06")
def test_what_is_no_event_becomes_one_letter_and_the_others_go_on(shop: Shop) -> None:
    shop.sell(2)
    shop.write(b"\0garbled")
    shop.write(None)
    shop.sell(2)

    run_into(shop, Failpoint.BEFORE_COMMIT)
    shop.catch_up()

    assert shop.counts() == {shop.sold}
    letters = [decode(DeadLetter, letter.value() or b"") for letter in shop.letters()]
    assert sorted(letter.bytes or b"" for letter in letters) == [b"", b"\0garbled"]
    assert all(letter.error.startswith("no row for the lake: ") for letter in letters)


@pytest.mark.long
@pytest.mark.proves("P-06")
def test_files_and_progress_record_must_belong_together(shop: Shop) -> None:
    shop.sell(3)
    shop.catch_up()
    kept = shop.data_dir / "kept"

    shop.table.rename(kept)
    with pytest.raises(
        CheckpointMismatchError,
        match=r"ends at 0, its progress record at 5 .* remove the folder, then run",
    ):
        shop.catch_up()
    shop.write_progress(b"garbage")
    with pytest.raises(
        UnreadableProgressRecordError, match=r"run `verdict reset-progress lake --reason …`"
    ):
        shop.catch_up()
    shop.write_progress(None)
    shop.table.rmdir()
    kept.rename(shop.table)
    with pytest.raises(
        CheckpointMismatchError, match="holds batches up to 5, and no progress record says so"
    ):
        shop.catch_up()

    rmtree(shop.table)
    shop.begin_anew()
    shop.catch_up()  # all of it again, as the errors say
    assert shop.counts() == {shop.sold}


def test_one_process_writes_to_a_lake(shop: Shop) -> None:
    with shop.lake(), pytest.raises(VerdictError, match="another directory with lake_dir"):
        shop.catch_up()
