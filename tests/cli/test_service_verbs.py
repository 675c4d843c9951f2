import sqlite3
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.kit.databases import ReadSide
from tests.read_side.responses import ACCEPTED, batch_of
from verdict.adapters.local.broker import EmbeddedBroker
from verdict.model.source import Source
from verdict.wire.topics import Topics

SECRET = "hunter2-is-planted"


@pytest.fixture
def read_side(service: Path) -> ReadSide:
    """The service's database, with the tables of its projections."""
    return ReadSide(f"sqlite:///{service / 'verdict.db'}")


def test_missing_topics_are_listed_then_created(run: Run, broker: EmbeddedBroker) -> None:
    Path("verdict.toml").write_text('topic_prefix = "cli-created."\n')
    where = ("--bootstrap-servers", broker.bootstrap_servers)

    missing = run("topics", "check", *where)
    created = run("topics", "create", "--json", *where)
    again = run("topics", "create", "--json", *where)
    checked, as_json = run("topics", "check", *where), run("topics", "check", "--json", *where)

    assert missing.exit_code == 1
    assert "30 topic settings are not what they must be" in missing.stderr
    assert len(created.lines[0]["created"]) == 30
    assert again.lines == [{"created": []}]
    assert (checked.exit_code, checked.stderr) == (0, "30 topics are as they must be\n")
    assert as_json.lines[0]["differences"] == []


def test_config_shows_every_setting_with_its_origin_and_no_secret(run: Run) -> None:
    Path("verdict.toml").write_text(
        'partitions = 8\nkafka_security_protocol = "SASL_SSL"\nkafka_user = "ada"\n'
        f'kafka_password = "{SECRET}"\nkafka."ssl.key.password" = "{SECRET}"\n'
    )
    url = f"postgresql://ada:{SECRET}@db/verdict"

    [shown] = run("config", "show", "--database-url", url, "--json").lines
    table = run("config", "show", "--database-url", url)

    assert shown["partitions"] == {
        "value": 8,
        "from": "verdict.toml",
        "meaning": "Of each topic, when it is created.",
    }
    assert shown["database_url"]["value"] == "postgresql+psycopg://ada:***@db/verdict"
    assert (shown["database_url"]["from"], shown["cores"]["from"]) == ("flag", "default")
    assert shown["app"]["from"] == "environment"
    assert SECRET not in str(shown) + table.stdout + table.stderr
    assert max(map(len, table.stdout.splitlines())) <= 100


def test_status_shows_what_runs_and_what_is_stopped(
    verdict: Run, read_side: ReadSide, topics: Topics
) -> None:
    place = (topics.responses("order"), 0)
    with sqlite3.connect(read_side.engine.url.database or "") as connection:
        connection.execute(
            "INSERT INTO projection_version_v1 (projection, version, state, settings) "
            "VALUES ('q', 1, 'live', '')"
        )
        connection.execute("INSERT INTO projection_position_v1 VALUES ('q', 1, ?, ?, 0)", place)
        connection.execute(
            "INSERT INTO projection_blocked_v1 "
            "VALUES ('q', 1, 'order', 'o-1', 3, 5, '2026-01-01', NULL)"
        )
    connection.close()

    [status] = verdict("status", "--json").lines
    table = verdict("status")

    assert status["service"]["pid"] > 0
    assert "database_url" not in status["service"]
    assert status["decider"] is None  # the decider under test publishes no progress record
    [ours] = [p for p in status["projections"] if p["projection"] == "q"]
    assert ours["held"][0]["version_needed"] == 3
    assert ours["lag"] >= 0
    assert "blocks 1 aggregates, the first: order 'o-1' needs version 3" in table.stdout
    assert "order 'o-1' needs version 3" in table.stdout.partition("service  up")[0]

    [alone] = verdict("projection", "status", "q", "--json").lines
    shown = verdict("projection", "status", "q").stdout
    unknown = verdict("projection", "status", "nobody")
    assert alone == ours
    assert f"q v1, live, lag {ours['lag']}" in shown
    assert "o-1" in shown
    assert (unknown.exit_code, unknown.stdout) == (2, "")
    assert "there is no projection 'nobody'" in unknown.stderr


@pytest.mark.proves("C-07")
def test_status_tells_of_commands_that_senders_put_on_several_partitions(
    verdict: Run, read_side: ReadSide
) -> None:
    [before] = verdict("status", "--json").lines
    scattered = [
        ACCEPTED.model_copy(
            update={"aggregate_id": name, "source": Source("order.commands", partition, offset)}
        )
        for offset, (name, partition) in enumerate(
            (("o-2", 1), ("o-1", 0), ("o-2", 3), ("o-3", 3), ("o-3", 0))
        )
    ]
    read_side.applier("outcome").apply(batch_of(scattered))

    [status] = verdict("status", "--json").lines
    page = " ".join(verdict("status").stdout.split())

    assert before["scattered"]["aggregates"] == 0
    assert "partitioner" not in str(before["problems"])
    assert status["scattered"] == {
        "aggregates": 2,
        "aggregate_type": "order",
        "aggregate_id": "o-2",
        "partitions": 2,
    }
    assert "commands have commands on several partitions, the first: order 'o-2' on 2" in page
    assert "partitioner=murmur2_random" in page
