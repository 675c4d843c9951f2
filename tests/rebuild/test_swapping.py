"""Versions that change place: who may read then, and what stands in the way."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, nullcontext
from dataclasses import replace
from functools import partial

import pytest

from projections.us_holder import us_holder
from tests.event_log.followable import POSITIONS, CutLog, Followable
from verdict.adapters.sql.readers.reader import Reader
from verdict.errors import VerdictError
from verdict.model.recorded_event import RecordedEvent
from verdict.read_side.apply import missing_events as releasing
from verdict.read_side.apply.applier import Applier
from verdict.read_side.projections.kind_tables import compile_projection
from verdict.read_side.rebuild import promotion, version_pair
from verdict.read_side.rebuild.errors import (
    DifferentSettingsError,
    NotAlignedError,
    NotBuiltError,
    NotComparableError,
    ViewsInUseError,
    ViewsReadError,
)
from verdict.read_side.rebuild.promotion import AlignedVersions
from verdict.read_side.rebuild.version_pair import BuildStep, VersionPair
from verdict.read_side.schema import creation
from verdict.read_side.tables import versions
from verdict.settings.database_address import ROLES, Roles
from verdict.streaming.event_log.event_log import EventsMissingError
from verdict.streaming.exactly_once.failpoints import ignore_step

DESK = Roles("desk_reader", "desk_auditor", "desk_operator")
FIRST, SECOND = compile_projection(us_holder, 1), compile_projection(us_holder, 2)


@pytest.fixture
def level(followable: Followable) -> Iterator[AlignedVersions]:
    """Return two versions of `us_holder` that have seen the same events."""
    engine = followable.read_side.engine
    with engine.begin() as connection:
        creation.create(connection, [SECOND])
    followable.happen(1)
    for version in (FIRST, SECOND):
        follow(followable, version)
    both = VersionPair(FIRST, SECOND, lambda version: compile_projection(us_holder, version))
    with ExitStack() as parts:
        yield AlignedVersions(engine, followable.log(parts), followable.topics, both)


def follow(followable: Followable, version: object) -> None:
    live = version is FIRST
    engine, topics = followable.read_side.engine, followable.topics
    followable.apply(Applier(engine, FIRST if live else SECOND, topics, live=live))


def holders(followable: Followable, role: str) -> list[tuple[object, ...]]:
    with Reader(followable.read_side.url, ["us_holder"], role) as reader:
        return [*reader.select("SELECT client, positions FROM us_holder").rows]


def live_version(followable: Followable) -> object:
    [(version,)] = followable.read_side.select(
        "SELECT version FROM projection_live WHERE projection = 'us_holder'"
    )
    return version


@pytest.mark.proves("B-06")
@pytest.mark.both_databases
def test_the_role_of_the_settings_reads_on_after_a_swap(
    followable: Followable, level: AlignedVersions
) -> None:
    promotion.promote(level, DESK, ignore_step)

    assert holders(followable, DESK.reader) == [("ada", POSITIONS)]


@pytest.mark.proves("H-09")
@pytest.mark.parametrize("archived", [False, True])
def test_what_kafka_drops_before_it_is_read_is_not_passed_over(
    followable: Followable, level: AlignedVersions, archived: bool
) -> None:
    followable.happen(2)
    follow(followable, FIRST)
    if archived:
        followable.archive()
    told = (
        nullcontext()
        if archived
        else pytest.raises(EventsMissingError, match="what is between is lost")
    )

    with ExitStack() as parts, told:
        cut = CutLog(followable.options, followable.drop_all_but_the_last_offset)
        promotion.promote(replace(level, log=followable.log(parts, cut)), DESK, ignore_step)

    assert live_version(followable) == (2 if archived else 1)
    if archived:
        assert promotion.compare_versions(level).equal


@pytest.mark.proves("B-06")
@pytest.mark.both_databases
def test_a_view_of_somebody_elses_is_named_and_left_alone(
    followable: Followable, level: AlignedVersions
) -> None:
    if not followable.read_side.is_postgresql:  # a view of SQLite stands on names only
        promotion.promote(level, DESK, ignore_step)
        return
    with level.engine.begin() as connection:
        connection.exec_driver_sql("CREATE VIEW mine AS SELECT client FROM us_holder")

    with pytest.raises(ViewsInUseError, match="view mine depends on view us_holder") as refused:
        promotion.promote(level, DESK, ignore_step)

    assert isinstance(refused.value, VerdictError)
    assert followable.read_side.holders() == {"ada": POSITIONS}
    with level.engine.begin() as connection:
        connection.exec_driver_sql("DROP VIEW mine")
    promotion.promote(level, DESK, ignore_step)


@pytest.mark.proves("H-09")
def test_one_that_is_parked_gives_way_to_one_that_is_ahead_of_it_but_not_uncompared(
    followable: Followable, level: AlignedVersions
) -> None:
    """H-09: as when Kafka has dropped what a projection that was added later needs."""
    with level.engine.begin() as connection:
        versions.stop(connection, FIRST, ZeroDivisionError("a bug"), 0)
    followable.close_all()
    follow(followable, SECOND)
    with pytest.raises(
        NotComparableError, match=r"us_holder v1, .*, is stopped, and v2 is ahead of it"
    ):
        promotion.compare_versions(level)
    assert live_version(followable) == 1

    promotion.promote(level, ROLES, ignore_step)

    assert live_version(followable) == 2
    assert followable.read_side.holders() == {}
    assert followable.read_side.changes()[-1][:2] == ("ada", "left")
    assert followable.read_side.select("SELECT * FROM projection_stopped") == []


@pytest.mark.proves("B-06")
def test_one_that_is_behind_and_only_waits_does_not_give_way(
    followable: Followable, level: AlignedVersions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(promotion, "LIVE_PATIENCE_S", 0)
    followable.happen(1)
    follow(followable, SECOND)

    for step in (
        lambda: promotion.compare_versions(level),
        lambda: promotion.promote(level, ROLES, ignore_step),
    ):
        with pytest.raises(NotAlignedError, match=r"is \d+ offsets behind the one that was built"):
            step()

    assert live_version(followable) == 1


@pytest.mark.proves("B-06")
@pytest.mark.both_databases
def test_a_second_swap_is_refused_and_what_the_first_one_kept_is_there(
    followable: Followable, level: AlignedVersions
) -> None:
    promotion.promote(level, ROLES, ignore_step)
    feed = followable.read_side.changes()

    with pytest.raises(
        VerdictError, match="v1 is not the one that readers see any more, that is v"
    ):
        promotion.promote(level, ROLES, ignore_step)

    assert followable.read_side.changes() == feed
    back = version_pair.previous_version(level.engine, "us_holder", level.pair.at_version)
    promotion.promote(
        AlignedVersions(level.engine, level.log, level.topics, back), ROLES, ignore_step
    )
    assert live_version(followable) == 1
    assert followable.read_side.holders() == {"ada": POSITIONS}
    with pytest.raises(VerdictError, match=r"rolled back from v2 to v1 already.*promote us_holder"):
        version_pair.previous_version(level.engine, "us_holder", level.pair.at_version)
    again = version_pair.built_version(level.engine, "us_holder", level.pair.at_version)
    assert again.other.version == 2, "a swap shows it again"


@pytest.mark.proves("B-06")
@pytest.mark.both_databases
def test_a_reader_who_does_not_end_is_waited_for_a_while_and_said(
    followable: Followable, level: AlignedVersions, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not followable.read_side.is_postgresql:  # on SQLite nobody waits for readers
        promotion.promote(level, ROLES, ignore_step)
        return
    monkeypatch.setattr(promotion, "PATIENCE_S", 1)
    with level.engine.connect() as reading:
        reading.exec_driver_sql("SELECT * FROM us_holder")

        with pytest.raises(ViewsReadError, match="behind them, for more than 1 s"):
            promotion.promote(level, ROLES, ignore_step)

        assert live_version(followable) == 1
    promotion.promote(level, ROLES, ignore_step)
    assert live_version(followable) == 2


@pytest.mark.proves("B-06")
@pytest.mark.both_databases
def test_a_reader_who_keeps_a_view_and_wants_another_is_not_ended(
    followable: Followable, level: AlignedVersions
) -> None:
    """The swap has what the reader wants, and waits for what the reader has."""
    if not followable.read_side.is_postgresql:
        promotion.promote(level, ROLES, ignore_step)
        return
    waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation IS NOT NULL"
    with level.engine.begin() as connection:  # the server looks for a deadlock for the reader only
        name = level.engine.url.database
        connection.exec_driver_sql(f"ALTER DATABASE {name} SET deadlock_timeout TO '60s'")
    level.engine.dispose()
    with level.engine.connect() as reading, ThreadPoolExecutor(1) as pool:
        reading.exec_driver_sql("SET deadlock_timeout TO '1s'")
        reading.exec_driver_sql("SELECT max(seq) FROM us_holder_change")
        swap = pool.submit(promotion.promote, level, ROLES, ignore_step)
        while not reading.exec_driver_sql(waiting).scalar() and not swap.done():
            pass

        [(client, *_)] = reading.exec_driver_sql("SELECT * FROM us_holder").all()

        assert client == "ada"
        reading.rollback()
        swap.result(60)
    assert live_version(followable) == 2


@pytest.mark.proves("B-06")
@pytest.mark.parametrize(
    "verb",
    [promotion.compare_versions, partial(promotion.promote, roles=ROLES, on_step=ignore_step)],
)
def test_a_version_that_somebody_else_builds_anew_is_neither_compared_nor_shown(
    followable: Followable, level: AlignedVersions, verb: Callable[..., object]
) -> None:
    version_pair.create_next(level.engine, "us_holder", level.pair.at_version)

    with pytest.raises(NotBuiltError, match="has no whole version besides v1"):
        verb(level)

    assert live_version(followable) == 1


@pytest.mark.proves("B-06")
@pytest.mark.both_databases
def test_a_build_that_begins_while_versions_are_put_in_place_keeps_them_out(
    followable: Followable, level: AlignedVersions
) -> None:
    def on_step(step: object) -> None:
        if step is BuildStep.LEVEL:
            version_pair.create_next(level.engine, "us_holder", level.pair.at_version)

    with pytest.raises(NotBuiltError):
        promotion.promote(level, ROLES, on_step)

    assert live_version(followable) == 1
    assert followable.read_side.holders() == {"ada": POSITIONS}


def fails(_: object, event: RecordedEvent) -> None:
    raise ZeroDivisionError("a bug")


@pytest.mark.proves("B-06")
def test_all_that_waited_is_applied_before_versions_are_compared(
    followable: Followable, level: AlignedVersions, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More of it than one batch takes."""
    monkeypatch.setattr(releasing, "MOST", 2)
    followable.happen(1)
    followable.archive()
    follow(followable, FIRST)
    buggy = replace(SECOND, evolve=fails)
    followable.apply(Applier(level.engine, buggy, followable.topics, live=False))
    held = "SELECT count(*) FROM projection_blocked"
    assert followable.read_side.select(held) == [(POSITIONS,)]

    assert promotion.compare_versions(level).equal

    assert followable.read_side.select(held) == [(0,)]


@pytest.mark.proves("B-06")
def test_who_types_a_swap_without_the_settings_of_the_build_is_told_which(
    followable: Followable, level: AlignedVersions
) -> None:
    otherwise = compile_projection(us_holder, 2, us_exchanges=["LON"])
    typed = replace(level, pair=VersionPair(FIRST, otherwise, level.pair.at_version))

    with pytest.raises(
        DifferentSettingsError,
        match=r"built with .* and '\{\"us_exchanges\": \[\"LON\"\]\}' is set where",
    ):
        promotion.promote(typed, ROLES, ignore_step)

    assert live_version(followable) == 1


@pytest.mark.proves("B-06")
def test_a_build_that_did_not_end_is_none_even_where_nothing_was_read_yet(
    followable: Followable,
) -> None:
    engine, at_version = (
        followable.read_side.engine,
        lambda version: compile_projection(us_holder, version),
    )
    made = version_pair.create_next(engine, "us_holder", at_version)
    with pytest.raises(NotBuiltError, match="has no whole version besides v1"):
        version_pair.built_version(engine, "us_holder", at_version)

    with engine.begin() as connection:
        versions.finish(connection, made.other)

    assert version_pair.built_version(engine, "us_holder", at_version).other.version == 2
