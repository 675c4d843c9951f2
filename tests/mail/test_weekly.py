"""The whole way: who held what at the cut-off, on a real Kafka, to mails at a real server."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from schemas.position import PositionClosed, PositionTransferred
from tests.application import APPLICATION
from tests.conftest import NewDatabase
from tests.mail.desk import ALL
from tests.mail.post_office import PostOffice
from tests.projection.event_log import START, opened
from tests.read_models.as_of.world import World
from verdict.cli.main import app
from verdict.configuration.loading import SettingsInvalid, load_settings
from verdict.configuration.settings import Settings
from verdict.errors import VerdictError
from verdict.local.broker import EmbeddedBroker
from verdict.mail.share import Share
from verdict.mail.week import NotOver, Week
from verdict.mail.weekly import WeeklyMail
from verdict.model.message import iso_time

WEEK = Week(2026, 40)


@pytest.fixture
def world(broker: EmbeddedBroker, new_database: NewDatabase, tmp_path: Path) -> Iterator[World]:
    """Return a deployment of this test, with what readers see on each kind of database."""
    url = new_database()
    world = World(broker, f"mail-{url.partition(':')[0]}", url, tmp_path / "data")
    yield world
    world.close()


def fill(world: World) -> None:
    """Let clients come and go around the cut-off, a second apart."""
    world.events.pace = WEEK.cut_off - START - 5_000
    world.happen("stays", opened("ada"))
    world.events.pace = 1_000
    world.happen("second", opened("ada"))
    world.happen("leaves", opened("left-before"), PositionClosed())  # 2 s before the cut-off
    world.happen("last", opened("left-after"))  # 1 s before it
    world.happen("last", PositionTransferred(client="came-after"))  # at the cut-off
    world.happen("london", opened("elsewhere", exchange="LON"))
    world.write()


@pytest.mark.proves("H-10")
@pytest.mark.kafka
def test_each_holder_at_the_cut_off_gets_one_mail_however_often_and_whatever_happens_since(
    world: World, office: PostOffice
) -> None:
    """H-10."""
    fill(world)
    sends = {
        "smtp_url": office.url,
        "mail_from": "verdict@example.com",
        "mail_address_template": "{client}@example.com",
    }
    with_server = world.settings.model_copy(update=sends)
    records = "SELECT client, number, status FROM mail_outbox ORDER BY client"

    recorded = WeeklyMail(world.settings, WEEK, Share(2, 3)).run()
    before = world.read_side.select(records)
    again = WeeklyMail(world.settings, WEEK, ALL).run()
    sent = WeeklyMail(with_server, WEEK, ALL).run()
    world.happen("more", opened("too-late"))
    world.write()
    nothing = WeeklyMail(with_server, WEEK, ALL).run()

    assert before == [("ada", 2, "DUE"), ("left-after", 1, "DUE")]
    assert [(r.recorded, r.counts.sent, r.due) for r in (recorded, again, sent, nothing)] == [
        (2, 0, 2), (0, 0, 2), (0, 2, 0), (0, 0, 0)
    ]  # fmt: skip
    assert office.receivers == ["ada@example.com", "left-after@example.com"]
    assert world.read_side.select(records) == [("ada", 2, "SENT"), ("left-after", 1, "SENT")]
    next_week = WeeklyMail(world.settings, Week(2026, 41), ALL).run()
    assert next_week.recorded == 3  # ada, came-after and too-late
    office.answers["came-after@example.com"] = "550 moved"
    failing = WeeklyMail(with_server, Week(2026, 41), ALL).run()
    assert (failing.counts.failed, failing.due) == (1, 0)
    office.answers.clear()
    once_more = WeeklyMail(with_server, Week(2026, 41), ALL).run(failed_again=True)
    assert (once_more.counts.sent, once_more.due) == (1, 0)


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """Return settings with which nothing can be reached, the same for the command line."""
    for name in Settings.model_fields:
        monkeypatch.delenv(f"VERDICT_{name.upper()}", raising=False)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("VERDICT_DATA_DIR", str(tmp_path / "data"))
    return load_settings(APPLICATION)


def verdict_mail(*arguments: str) -> Result:
    return CliRunner().invoke(
        app, ["mail", *arguments], env={"COLUMNS": "200", "VERDICT_APP": "compose.application:app"}
    )


def test_a_week_that_is_not_over_is_refused_before_anything_is_made(settings: Settings) -> None:
    week = Week(2026, 47)

    with pytest.raises(NotOver):
        WeeklyMail(settings, week, ALL, lambda: week.cut_off - 1).run()
    refused = verdict_mail("--week", "9998-W01", "--worker", "1/3")

    assert refused.exit_code == 1
    assert "9998-W01 is not over: its cut-off is 9998-01-05T00:00:00.000Z" in refused.stderr
    assert not settings.data_dir.exists()


@pytest.mark.parametrize(
    ("week", "worker", "said"),
    [("2026-W54", "1/3", "week"), ("2026-W47", "4/3", "'4/3' is no share such as 1/3")],
)
def test_a_wrong_week_or_worker_is_usage(
    settings: Settings, week: str, worker: str, said: str
) -> None:
    refused = verdict_mail("--week", week, "--worker", worker)

    assert refused.exit_code == 2
    assert said in refused.stderr


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        ({"smtp_url": "smtp://a:b@mail"}, "setting 'smtp_url' .*smtp_password"),
        ({"smtp_url": "mail:25"}, "setting 'smtp_url' .*smtps://host:port"),
        ({"smtp_user": "ada"}, "smtp_user and smtp_password belong together"),
        (
            {"smtp_url": "smtp://mail", "smtp_user": "ada", "smtp_password": "x"},
            "smtp_password would travel in clear",
        ),
    ],
)
def test_settings_that_cannot_be_are_refused(
    settings: Settings, flags: dict[str, str], said: str
) -> None:
    with pytest.raises(SettingsInvalid, match=said):
        load_settings(APPLICATION, **flags)


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        ({}, "mail_from .*mail_address_template"),
        ({"mail_from": "ada", "mail_address_template": "{client}"}, "'ada' is no mail address"),
        ({"mail_from": "a@b.c", "mail_address_template": "x"}, "'x' tells no client's address"),
    ],
)
def test_what_is_missing_for_sending_is_said_before_mails_are_recorded(
    settings: Settings, flags: dict[str, str], said: str
) -> None:
    without = load_settings(APPLICATION, smtp_url="smtp://127.0.0.1:1", **flags)

    with pytest.raises(VerdictError, match=said):
        WeeklyMail(without, WEEK, ALL).run()
    assert not settings.data_dir.exists()


@pytest.mark.kafka
def test_the_command_line_tells_what_was_done(
    world: World, office: PostOffice, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(world)
    for name in ("deployment", "topic_prefix", "data_dir", "bootstrap_servers"):
        monkeypatch.setenv(f"VERDICT_{name.upper()}", str(getattr(world.settings, name)))
    monkeypatch.setenv("VERDICT_DATABASE_URL", world.read_side.url)
    asked = ("--week", str(WEEK), "--worker", "1/1", "--json")
    server = ("--smtp-url", office.url, "--from", "v@example.com")

    recorded = verdict_mail(*asked)
    sent = verdict_mail(*asked, *server, "--address-template", "{client}@example.com")

    assert (recorded.exit_code, sent.exit_code) == (0, 0), recorded.stderr + sent.stderr
    facts = {"week": "2026-W40", "cut_off": iso_time(WEEK.cut_off)}
    nothing = {"sent": 0, "failed": 0, "put_back": 0}
    assert json.loads(recorded.stdout) == facts | {"recorded": 2} | nothing | {"due": 2}
    assert json.loads(sent.stdout) == facts | {"recorded": 0} | nothing | {"sent": 2, "due": 0}
    assert "2026-W40: 0 mails recorded; 2 sent, 0 refused, 0 put back; 0 due" in sent.stderr
