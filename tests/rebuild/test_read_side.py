"""What readers learn when all projections are stopped."""

from collections.abc import Collection, Sequence
from pathlib import Path

import pytest
from sqlalchemy import Engine

from projections.us_holder import us_holder
from tests.application import APPLICATION
from verdict.read_side.live.live_projections import LiveProjections
from verdict.read_side.projections.builtin.event_archive import event_archive
from verdict.read_side.projections.kind_tables import compile_projection
from verdict.read_side.projections.projection import Projection
from verdict.read_side.schema.database import create_read_side, open_database
from verdict.read_side.tables import versions
from verdict.service.supervisor import StepThread, Supervisor
from verdict.wire.partitions import Spans
from verdict.wire.topics import Topics

PROJECTIONS: Sequence[Projection] = [event_archive(APPLICATION), compile_projection(us_holder)]


def ended_by(ending: Exception, engine: Engine) -> Supervisor:
    """Return a read side that failed as soon as it knew its database."""

    def fail(_: Collection[str]) -> Spans:
        raise ending

    def runner(_: str, names: Sequence[str]) -> StepThread:
        raise AssertionError(f"{names} were not to be started")

    live = LiveProjections(lambda: (engine, PROJECTIONS), fail, Topics(APPLICATION), runner)
    supervisor = Supervisor(name="projections", component=live, on_end=live.note_end)
    supervisor.start()
    return supervisor


@pytest.mark.proves("F-11")
def test_what_ends_the_read_side_is_written_down_for_each_projection(tmp_path: Path) -> None:
    engine = open_database(f"sqlite:///{tmp_path / 'read.db'}")
    create_read_side(engine, PROJECTIONS)

    supervisor = ended_by(ZeroDivisionError("a bug"), engine)

    assert supervisor.failure == "a bug"
    with engine.begin() as connection:
        assert all(versions.of(connection, one).error == "a bug" for one in PROJECTIONS)
    engine.dispose()


@pytest.mark.proves("F-21")
def test_nothing_is_written_into_a_database_file_that_is_another(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "read.db"
    engine = open_database(f"sqlite:///{file}")
    create_read_side(engine, PROJECTIONS)
    file.rename(tmp_path / "elsewhere.db")

    supervisor = ended_by(ZeroDivisionError("not reached"), engine)

    assert "was removed or renamed while it was open" in str(supervisor.failure)
    assert len(caplog.records) == 1
    assert not file.exists()
    engine.dispose()
