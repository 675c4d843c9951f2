"""Which process has which roles, and whom it keeps out."""

import os
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.application import APPLICATION
from verdict.adapters.local.lock import DataDirectoryLock
from verdict.errors import UnreachableError, VerdictError
from verdict.operations.status.problems import killed
from verdict.service.bootstrap import require_whole_directory
from verdict.service.role_set import RoleSet, all_roles, alone, with_kafka
from verdict.settings.discovery import (
    AnnouncedService,
    announce,
    bootstrap_servers,
    database_url,
    home_of,
    killed_roles,
)
from verdict.settings.load import InvalidSettingsError, load_settings
from verdict.settings.settings import Settings


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Settings without a Kafka of somebody's."""
    return load_settings(APPLICATION, data_dir=tmp_path)


def test_one_process_has_all_roles_but_a_broker_when_kafka_is_elsewhere(settings: Settings) -> None:
    elsewhere = settings.model_copy(update={"bootstrap_servers": "kafka:9092"})

    names = ("broker", "decider", "policies", "lake", "projections", "dead-letters")
    assert all_roles(settings).names == names
    assert all_roles(elsewhere).names == names[1:]


@pytest.mark.proves("C-18")
@pytest.mark.parametrize(
    ("first", "second"),
    [
        (("decider",), ("decider",)),
        (("projections",), ("projections", "us_holder")),
        (("projections", "outcome", "us_holder"), ("projections", "us_holder")),
    ],
)
def test_two_of_a_kind_refuse_each_other(
    settings: Settings, first: tuple[str, ...], second: tuple[str, ...]
) -> None:
    with ExitStack() as held:
        take(alone(settings, first[0], first[1:]), held)
        refused = f"the folder of role {' '.join(second)} .* is in use by the process with pid"
        with pytest.raises(VerdictError, match=refused):
            take(alone(settings, second[0], second[1:]), held)


def test_other_roles_run_next_to_it_but_no_process_with_all_of_them(settings: Settings) -> None:
    """A recovery takes the decider alone."""
    with ExitStack() as held:
        for one in (("projections", "outcome"), ("projections", "us_holder"), ("dead-letters",)):
            take(alone(settings, one[0], one[1:]), held)
        with (
            pytest.raises(VerdictError, match="the folder of role dead-letters"),
            ExitStack() as more,
        ):
            take(all_roles(settings), more)
        take(RoleSet((), require_whole_directory(settings.data_dir)), held)
        with pytest.raises(VerdictError, match="the folder of role decider"):
            take(alone(settings, "decider"), held)


@pytest.mark.parametrize(
    ("role", "said"),
    [
        ("recorder", "no role 'recorder': there are broker, decider, "),
        ("lake us_holder", "the role lake takes no names"),
        ("projections order", "no projection 'order': there are event_archive, outcome, "),
    ],
)
def test_what_there_is_not_is_named(settings: Settings, role: str, said: str) -> None:
    name, *chosen = role.split()
    with pytest.raises(InvalidSettingsError, match=said):
        alone(settings, name, chosen)


def test_a_role_finds_the_broker_and_the_database_of_its_host(settings: Settings) -> None:
    with pytest.raises(UnreachableError, match="start `verdict run broker` first"):
        with_kafka(settings, "decider")
    announced(settings, AnnouncedService(os.getpid(), "127.0.0.1:7", None, roles=("broker",)))

    given = with_kafka(settings, "decider")
    assert given.bootstrap_servers == bootstrap_servers(settings) == "127.0.0.1:7"
    assert with_kafka(settings, "broker") is settings
    with pytest.raises(InvalidSettingsError, match="Kafka is there already"):
        with_kafka(given, "broker")
    assert database_url(settings) == f"sqlite:///{settings.data_dir}/verdict.db"
    role = AnnouncedService(os.getpid(), "kafka:1", "postgresql://db", roles=("dead-letters",))
    announced(settings, role)
    assert database_url(settings) == "postgresql://db"


@pytest.mark.process
def test_a_killed_role_is_named_with_what_to_do(settings: Settings) -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        pass
    announced(settings, AnnouncedService(ended.pid, "kafka:1", None, roles=("lake",)))
    announced(settings, AnnouncedService(os.getpid(), "kafka:1", None, roles=("dead-letters",)))

    [found] = map(killed, killed_roles(settings.data_dir))
    assert found.startswith(f"the role lake, pid {ended.pid}, has ended without a last word")
    assert found.endswith("start `verdict run lake` again")


def take(role_set: RoleSet, held: ExitStack) -> None:
    """Lock the place of a role set as its process does."""
    for folder, kind in role_set.place.locked.items():
        held.enter_context(DataDirectoryLock(folder, kind))


def announced(settings: Settings, service: AnnouncedService) -> None:
    """Announce a role that runs by itself."""
    home = home_of(settings.data_dir, *service.roles)
    home.mkdir(parents=True)
    announce(home, service)
