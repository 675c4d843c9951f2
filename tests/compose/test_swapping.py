"""Versions that change place: who may read then, and what stands in the way."""

from collections.abc import Iterator

import pytest

from compose.errors import VerdictError
from compose.kafka.log import KafkaLog
from compose.rebuilding import swapping
from compose.rebuilding.beside import Beside
from compose.rebuilding.errors import KafkaCut, ViewsInUse
from compose.rebuilding.level import Level
from compose.rebuilding.rebuilder import unobserved
from compose.sql.reader import Reader
from projections.engine import creation
from projections.engine.applier import Applier
from projections.us_holder import us_holder
from tests.compose.followable import POSITIONS, Followable

ROLE = "desk_reader"
FIRST, SECOND = us_holder(version=1), us_holder(version=2)


@pytest.fixture
def level(followable: Followable) -> Iterator[Level]:
    """Return two versions of `us_holder` that have seen the same events."""
    engine = followable.read_side.engine
    with engine.begin() as connection:
        creation.create(connection, [SECOND])
    followable.happen(1)
    for version in (FIRST, SECOND):
        follow(followable, version)
    beside = Beside(FIRST, SECOND, lambda version: us_holder(version=version))
    with KafkaLog(followable.options) as log:
        yield Level(engine, log, followable.topics, beside)


def follow(followable: Followable, version: object) -> None:
    live = version is FIRST
    engine, topics = followable.read_side.engine, followable.topics
    followable.apply(Applier(engine, FIRST if live else SECOND, topics, live=live))


def holders(followable: Followable, role: str) -> list[tuple[object, ...]]:
    with Reader(followable.read_side.url, ["us_holder"], role) as reader:
        return [*reader.select("SELECT client, positions FROM us_holder").rows]


def test_the_role_of_the_settings_reads_on_after_a_swap(
    followable: Followable, level: Level
) -> None:
    swapping.swap(level, ROLE, unobserved)

    assert holders(followable, ROLE) == [("ada", POSITIONS)]


def test_a_version_that_kafka_cannot_bring_up_to_date_is_not_put_in_place(
    followable: Followable, level: Level
) -> None:
    followable.happen(2)
    follow(followable, FIRST)
    ends = {n: level.log.bounds(followable.topic, n)[1] for n in range(4)}
    followable.drop({number: end - 1 for number, end in ends.items()})

    with pytest.raises(KafkaCut, match=r"us_holder that is not seen needs .* has it from \d+ only"):
        swapping.swap(level, ROLE, unobserved)

    assert followable.read_side.select(
        "SELECT version FROM projection_live WHERE projection = 'us_holder'"
    ) == [(1,)]


def test_a_view_of_somebody_elses_is_named_and_left_alone(
    followable: Followable, level: Level
) -> None:
    if not followable.read_side.is_postgresql:  # a view of SQLite stands on names only
        swapping.swap(level, ROLE, unobserved)
        return
    with level.engine.begin() as connection:
        connection.exec_driver_sql("CREATE VIEW mine AS SELECT client FROM us_holder")

    with pytest.raises(ViewsInUse, match="view mine depends on view us_holder") as refused:
        swapping.swap(level, ROLE, unobserved)

    assert isinstance(refused.value, VerdictError)
    assert followable.read_side.holders() == {"ada": POSITIONS}
    with level.engine.begin() as connection:
        connection.exec_driver_sql("DROP VIEW mine")
    swapping.swap(level, ROLE, unobserved)
