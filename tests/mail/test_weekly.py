"""From the holders at the cut-off, on a real Kafka, to mails at a real server."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from compose.settings import BusinessSettings
from projections.outbound.weekly_mail.week import Week
from projections.outbound.weekly_mail.worker import Report, run
from schemas.position import PositionClosed, PositionTransferred
from tests.application import APPLICATION
from tests.as_of.world import World
from tests.conftest import NewDatabase
from tests.kit.log import START, opened
from tests.mail.post_office import PostOffice
from verdict import load_settings
from verdict.adapters.local.broker import EmbeddedBroker
from verdict.cli.main import app
from verdict.errors import InvalidSettingsError, VerdictError
from verdict.model import iso_time

WEEK, NEXT = Week(2026, 40), Week(2026, 41)
ENVIRONMENT = {"COLUMNS": "200", "VERDICT_APP": "compose.application:app"}


@pytest.fixture
def world(broker: EmbeddedBroker, new_database: NewDatabase, tmp_path: Path) -> Iterator[World]:
    """Return a deployment of this test, with what readers see on each kind of database."""
    url = new_database()
    world = World(broker, f"mail-{url.partition(':')[0]}", url, tmp_path / "data")
    yield world
    world.close()


def fill(world: World) -> None:
    """Open and close positions around the cut-off, a second apart."""
    world.events.pace = WEEK.cut_off - START - 5_000
    world.happen("stays", opened("ada"))
    world.events.pace = 1_000
    world.happen("second", opened("ada"))
    world.happen("leaves", opened("left-before"), PositionClosed())  # 2 s before the cut-off
    world.happen("last", opened("left-after"))  # 1 s before it
    world.happen("last", PositionTransferred(client="came-after"))  # at the cut-off
    world.happen("london", opened("elsewhere", exchange="LON"))
    world.write()


def facts(report: Report) -> tuple[int, int, int]:
    return report.recorded, report.counts.sent, report.due


@pytest.mark.proves("H-10")
@pytest.mark.kafka
def test_each_holder_at_the_cut_off_gets_one_mail_whatever_happens_later(
    world: World, office: PostOffice
) -> None:
    """H-10."""
    fill(world)
    sends = {
        "smtp_url": office.url,
        "mail_from": "verdict@example.com",
        "mail_address_template": "{client}@example.com",
    }
    alone = world.settings
    assert isinstance(alone, BusinessSettings)
    with_server = alone.model_copy(update=sends)
    records = "SELECT key, status FROM outbox WHERE outbox = 'weekly_mail' ORDER BY key"

    recorded, again = run(alone, WEEK), run(alone, WEEK)
    before = world.read_side.select(records)
    sent = run(with_server, WEEK)
    world.happen("more", opened("too-late"))
    world.write()
    nothing = run(with_server, WEEK)

    assert before == [("ada", "DUE"), ("left-after", "DUE")]
    assert [facts(one) for one in (recorded, again, sent, nothing)] == [
        (2, 0, 2), (0, 0, 2), (0, 2, 0), (0, 0, 0)
    ]  # fmt: skip
    assert office.receivers == ["ada@example.com", "left-after@example.com"]
    assert "you held 2 positions" in office.received[0].get_content()
    assert world.read_side.select(records) == [("ada", "SENT"), ("left-after", "SENT")]
    assert run(alone, NEXT).recorded == 3  # ada, came-after and too-late
    office.answers["came-after@example.com"] = "550 moved"
    failing = run(with_server, NEXT)
    assert (failing.counts.failed, failing.due) == (1, 0)
    office.answers.clear()
    once_more = run(with_server, NEXT, failed_again=True)
    assert (once_more.counts.sent, once_more.due) == (1, 0)


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> BusinessSettings:
    """Return settings with which nothing can be reached, the same for the command line."""
    for name in BusinessSettings.model_fields:
        monkeypatch.delenv(f"VERDICT_{name.upper()}", raising=False)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("VERDICT_DATA_DIR", str(tmp_path / "data"))
    return loaded()


def loaded(**flags: str) -> BusinessSettings:
    settings = load_settings(APPLICATION, **flags)
    assert isinstance(settings, BusinessSettings)
    return settings


def verdict_mail(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["mail", *arguments], env=ENVIRONMENT)


def test_what_is_no_week_that_is_over_is_refused_before_anything_is_created(
    settings: BusinessSettings,
) -> None:
    week = Week(2026, 47)

    with pytest.raises(VerdictError):
        run(settings, week, clock=lambda: week.cut_off - 1)
    for asked, code, why in (
        ("9998-W01", 1, "9998-W01 is not over: its cut-off is 9998-01-05T00:00:00.000Z"),
        ("2026-W54", 2, "2026-W54 is not a week of the calendar"),
    ):
        refused = verdict_mail("--week", asked)
        assert refused.exit_code == code
        assert why in refused.stderr
    assert not settings.data_dir.exists()
    nothing_runs = verdict_mail("--week", str(WEEK))
    assert nothing_runs.exit_code == 5
    assert "no verdict runs on" in nothing_runs.stderr


@pytest.mark.usefixtures("settings")
@pytest.mark.parametrize(
    ("flags", "text"),
    [
        ({"smtp_url": "smtp://a:b@mail"}, "setting 'smtp_url' .*smtp_password"),
        ({"smtp_user": "ada"}, "set smtp_user and smtp_password together"),
        ({"mail_address_template": "x"}, "'x' does not contain {client}"),
        (
            {"smtp_url": "smtp://mail", "smtp_user": "ada", "smtp_password": "x"},
            "smtp_password would be sent without encryption",
        ),
    ],
)
def test_settings_that_contradict_each_other_are_refused(flags: dict[str, str], text: str) -> None:
    with pytest.raises(InvalidSettingsError, match=text):
        load_settings(APPLICATION, **flags)


@pytest.mark.parametrize(
    ("flags", "text"),
    [
        ({}, "mail_from .*mail_address_template"),
        ({"mail_from": "ada", "mail_address_template": "{client}"}, "'ada' is not a mail address"),
    ],
)
def test_what_sending_lacks_is_reported_before_mails_are_recorded(
    settings: BusinessSettings, flags: dict[str, str], text: str
) -> None:
    with pytest.raises(InvalidSettingsError, match=text):
        run(loaded(smtp_url="smtp://127.0.0.1:1", **flags), WEEK)
    assert not settings.data_dir.exists()


@pytest.mark.kafka
def test_the_command_line_reports_what_was_done(
    world: World, office: PostOffice, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(world)
    for name in ("deployment", "topic_prefix", "data_dir", "bootstrap_servers"):
        monkeypatch.setenv(f"VERDICT_{name.upper()}", str(getattr(world.settings, name)))
    monkeypatch.setenv("VERDICT_DATABASE_URL", world.read_side.url)
    options = ("--week", str(WEEK), "--worker", "first", "--json")
    server = ("--smtp-url", office.url, "--from", "v@example.com")

    recorded = verdict_mail(*options)
    sent = verdict_mail(*options, *server, "--address-template", "{client}@example.com")

    assert (recorded.exit_code, sent.exit_code) == (0, 0), recorded.stderr + sent.stderr
    facts = {"week": "2026-W40", "cut_off": iso_time(WEEK.cut_off)}
    nothing = {"sent": 0, "failed": 0, "put_back": 0}
    assert json.loads(recorded.stdout) == facts | {"recorded": 2} | nothing | {"due": 2}
    assert json.loads(sent.stdout) == facts | {"recorded": 0} | nothing | {"sent": 2, "due": 0}
    assert "2026-W40: 0 mails recorded; 2 sent, 0 refused, 0 put back; 0 due" in sent.stderr
