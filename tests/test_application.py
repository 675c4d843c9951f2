"""An application that cannot be is refused in one sentence; one of somebody else's is found."""

import pickle
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from aggregates.order import order
from aggregates.position import position
from commands.order import PlaceOrder
from commands.policies.award_points import award_points
from commands.position import ClosePosition, OpenPosition
from compose.application import app
from projections.outbound.shipment import shipment
from projections.program_tally import program_tally
from projections.us_holder_from_state import us_holder_from_state
from tests.decide.desk import PLACE
from tests.documents import ROOT
from verdict import Application, Event
from verdict.cli.main import app as cli
from verdict.errors import InvalidApplicationError
from verdict.projections import TableProjection
from verdict.read_side.catalog import declared_projections
from verdict.settings.application_loader import ApplicationNotFoundError, load_application
from verdict.testing import InMemory
from verdict.wire.catalog import catalog_of
from verdict.wire.topics import Topics

SHOP = Application(name="shop", namespace="shop", schemas="schemas", aggregates=(order,))


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        (
            {"aggregates": (order, order)},
            "shop has two of the aggregate 'order': rename one of them",
        ),
        (
            {"aggregates": (order, replace(order, name="other"))},
            "PlaceOrder is of two aggregates, 'order' and 'other': give each a class of its own",
        ),
        (
            {"policies": (award_points,)},
            "'award_points' depends on the setting 'loyalty_factor', which the settings of shop do "
            "not have: add it there",
        ),
        (
            {"policies": (replace(award_points, settings=()),)},
            "'award_points' speaks of the aggregate 'invoice', which shop does not have: there are "
            "order",
        ),
        (
            {"notifications": (shipment, shipment)},
            "shop has two of the policy or notification 'shipment': rename one of them",
        ),
        (
            {"notifications": (replace(shipment, follows=(), topic="order.events"),)},
            "notification 'shipment' writes to 'order.events', which begins as the topics of "
            "aggregate 'order' do: take another one",
        ),
        (
            {"projections": (TableProjection(name="a", key=("b",), factory=dict),) * 2},
            "shop has two of the projection 'a': rename one of them",
        ),
        (
            {"projections": (program_tally,)},
            "'program_tally' speaks of the aggregate 'enrolment', which shop does not have: there "
            "are order",
        ),
        (
            {"projections": (us_holder_from_state,), "settings": app.settings},
            "'us_holder_from_state' follows the topic 'share-holders', which is not among the "
            "states of shop: add it there",
        ),
    ],
)
def test_what_does_not_fit_together_is_named(changed: dict[str, Any], problem: str) -> None:
    with pytest.raises(InvalidApplicationError) as refused:
        replace(SHOP, **changed)

    assert str(refused.value) == problem


def test_an_aggregate_that_cannot_be_is_named() -> None:
    twice = order.events | type("OrderPlaced", (Event,), {})
    for changed, problem in (
        ({"name": "Order"}, "aggregate 'Order' cannot have this name: take a letter"),
        ({"events": PlaceOrder}, "the event PlaceOrder of aggregate 'order' is no Event"),
        ({"events": twice}, "'order' has two classes named OrderPlaced: rename one"),
    ):
        with pytest.raises(InvalidApplicationError, match=problem):
            replace(order, **changed)
    taken = TableProjection(name="outcome", key=("a",), factory=lambda version=1: None)
    with pytest.raises(InvalidApplicationError, match="a projection 'outcome', and so has every"):
        declared_projections(replace(SHOP, projections=(taken,)))


OPEN = OpenPosition(client="ada", ticker="AAPL", exchange="NASDAQ", amount=1)


def test_two_applications_live_in_one_process() -> None:
    """Each has its own topics, schemas, rules and projections, and a worker gets each by name."""
    fewer = replace(SHOP, aggregates=(position,))

    with InMemory(app) as whole, InMemory(fewer) as shop:
        whole.send("order-1", PLACE, 0)
        shop.send("p-1", OPEN, 0)
        whole.send("p-1", OPEN, 0)
        closed = shop.send("p-1", ClosePosition(), 1)
        with pytest.raises(LookupError, match="PlaceOrder belongs to no aggregate of shop"):
            shop.send("order-1", PLACE, 0)
        states = [one.sql("SELECT life_cycle FROM position_state") for one in (whole, shop)]

    assert closed.status == "ACCEPTED"
    assert states == [[{"life_cycle": "ACTIVE"}], [{"life_cycle": "DELETED"}]]
    assert Topics(fewer).every_commands() == ["position.commands"]
    assert {topic.name for topic in Topics(fewer).all()}.isdisjoint({"POS", "share-holders"})
    assert len(Topics(app).every_commands()) == 5


def test_a_worker_gets_an_application_by_its_name() -> None:
    context = catalog_of(app)["order"]

    sent = pickle.dumps((app, context, Topics(app, prefix="eu.")))

    assert b"compose.application:app" in sent
    assert len(sent) < 1000
    assert pickle.loads(sent) == (app, context, Topics(app, prefix="eu."))


def test_an_application_without_a_name_is_refused_where_a_worker_needs_it() -> None:
    nameless = replace(SHOP, name="nameless")

    with pytest.raises(ApplicationNotFoundError) as refused:
        pickle.dumps(Topics(nameless))

    assert str(refused.value) == (
        "the application 'nameless' cannot be imported by another process: assign it to a name at "
        "the top level of the module that makes it (it was made in tests.test_application)"
    )


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return the working directory, in which there is nothing."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("VERDICT_APP", "")
    monkeypatch.setattr(sys, "path", [*sys.path])
    yield tmp_path
    for name in ("broken_shop", "odd_shop"):
        sys.modules.pop(name, None)


def test_where_an_application_fails_is_said_with_its_file_and_line(elsewhere: Path) -> None:
    (elsewhere / "broken_shop.py").write_text("parcel = 1\nparcels = parcle\n")

    with pytest.raises(ApplicationNotFoundError) as failed:
        load_application("broken_shop:app")
    assert str(failed.value) == (
        "the application broken_shop:app cannot be loaded: NameError: name 'parcle' is not defined "
        "(broken_shop.py, line 2)"
    )


def test_what_is_no_application_is_named(elsewhere: Path) -> None:
    (elsewhere / "odd_shop.py").write_text("app = 1\n")

    for path, problem in (
        ("odd_shop", "'odd_shop' names no application: write it as MODULE:NAME"),
        ("odd_shop:shop", "odd_shop:shop is not there: it must be a verdict.Application"),
        ("odd_shop:app", "odd_shop:app is an? int: it must be a verdict.Application"),
        ("no_shop:app", "No module named 'no_shop'"),
    ):
        with pytest.raises(ApplicationNotFoundError, match=problem):
            load_application(path)


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with an application as `verdict new` writes it, which nothing names."""
    monkeypatch.chdir(tmp_path)
    CliRunner().invoke(cli, ["new", "application", "shop", "--aggregate", "parcel"])
    (tmp_path / "verdict.toml").unlink()
    return tmp_path


@pytest.mark.process
@pytest.mark.long
def test_somebody_else_s_application_is_used_from_its_own_folder(shop: Path) -> None:
    """Named before the verb, by the variable, in verdict.toml; of us only the engine is there."""
    (shop / "installed").mkdir()
    (shop / "installed" / "verdict").symlink_to(ROOT / "verdict")
    alone = f"import sys; sys.path = [one for one in sys.path if one != {str(ROOT)!r}]"

    def verdict(*arguments: str, **environment: str) -> "subprocess.CompletedProcess[str]":
        called = f"{alone}; from verdict.cli.main import main; main()"
        command = [sys.executable, "-c", called, *arguments]
        return subprocess.run(
            command,
            cwd=shop,
            env={"PATH": "", "HOME": str(shop), "PYTHONPATH": "installed", **environment},
            capture_output=True,
            text=True,
        )

    unnamed = verdict("acls")
    started = verdict("--app", "shop.compose.application:app", "up", "--data-dir", "data")
    written = verdict("--app", "shop.compose.application:app", "schemas", "write")
    checked = verdict("schemas", "check", VERDICT_APP="shop.compose.application:app")
    (shop / "verdict.toml").write_text('app = "shop.compose.application:app"\n')
    allowed = verdict("acls")
    nowhere = verdict("send", "order", "PlaceOrder", "--id", "1", "--expected-version", "0")

    assert (unnamed.returncode, unnamed.stderr) == (
        2,
        f"verdict: there is no application: {shop} has no compose/application.py; name yours as "
        "MODULE:NAME with --app, VERDICT_APP or `app` in verdict.toml, or write one with `verdict "
        "new application NAME`\n",
    )
    assert started.returncode == 1
    assert "parcel_command, parcel_event changed since the schema files were" in started.stderr
    assert written.stderr.count("parcel_") == 2, written.stderr
    assert checked.returncode == 0, checked.stderr
    assert "parcel.commands" in allowed.stdout
    assert "order.commands" not in allowed.stdout
    assert nowhere.returncode == 2
    assert "no aggregate 'order': there are parcel" in nowhere.stderr
    assert str(ROOT) not in written.stdout
