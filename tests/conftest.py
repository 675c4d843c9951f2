"""What is expensive to start is started once per run."""

import gc
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from confluent_kafka.admin import AdminClient
from hypothesis import HealthCheck, settings

from tests import postgresql as embedded
from tests import tiers
from tests.kit.network import ProxiedBroker, Proxy, proxied_broker
from verdict.adapters.local.broker import EmbeddedBroker

if TYPE_CHECKING:  # it is slow to import, and few tests need it
    from pyspark.sql import SparkSession

NewDatabase = Callable[[], str]

# processes that tests start in other folders find the application of this checkout
os.environ["PYTHONPATH"] = os.pathsep.join(
    filter(None, (str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH")))
)
os.environ.setdefault("VERDICT_APP", "compose.application:app")

settings.register_profile(
    tiers.THOROUGH,
    deadline=None,  # no test fails because the machine is busy
    suppress_health_check=[HealthCheck.too_slow],
    print_blob=True,
)
settings.register_profile(
    tiers.QUICK, settings.get_profile(tiers.THOROUGH), max_examples=20, stateful_step_count=25
)
settings.load_profile(tiers.QUICK)  # `--hypothesis-profile=thorough` looks for longer


class FailuresAtOnce:
    """Names each failed test when it fails: a run that is ended from outside has no summary."""

    def __init__(self, terminal: pytest.TerminalReporter) -> None:
        self._terminal = terminal

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._terminal.ensure_newline()
            self._terminal.write_line(f"FAILED {report.nodeid} in its {report.when}")


@pytest.hookimpl(trylast=True)  # the reporter comes with the other plugins
def pytest_configure(config: pytest.Config) -> None:
    """Name failures while tests run, in the process that prints."""
    terminal = config.pluginmanager.get_plugin("terminalreporter")
    if terminal is not None and not hasattr(config, "workerinput"):
        config.pluginmanager.register(FailuresAtOnce(terminal))


@pytest.fixture(scope="session")
def proxied(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ProxiedBroker]:
    """Return the Kafka of all tests, and the network that fails for who comes in through it."""
    with proxied_broker(tmp_path_factory.mktemp("broker")) as found:
        yield found
        gc.collect()  # unreferenced clients would complain of its end, after the last line


@pytest.fixture
def network(proxied: ProxiedBroker) -> Iterator[Proxy]:
    """Return the network of who comes in through it; it is whole before and after."""
    yield proxied.proxy
    proxied.proxy.heal()


@pytest.fixture(scope="session")
def shared_broker(proxied: ProxiedBroker) -> EmbeddedBroker:
    """Return a running Kafka whose topics stay until the end of the run."""
    return proxied.broker


@pytest.fixture(scope="module")
def broker(shared_broker: EmbeddedBroker) -> Iterator[EmbeddedBroker]:
    """Return a running Kafka; it is shared, so name topics after the test.

    What a module made goes with it: each partition holds a file descriptor and memory of the
    broker, and the tests together make more than many a machine lets a process have.
    """
    admin = AdminClient({"bootstrap.servers": shared_broker.bootstrap_servers, "log_level": 0})
    before = _topics(admin)
    yield shared_broker
    made = sorted(_topics(admin) - before)
    for deleted in (admin.delete_topics(made) if made else {}).values():
        deleted.result(60)


def _topics(admin: AdminClient) -> set[str]:
    """Return the topics that are not Kafka's own."""
    return {name for name in admin.list_topics(timeout=30).topics if not name.startswith("__")}


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator["SparkSession"]:
    """Return a session with one slot; it is shared, so leave no query running.

    It writes files in which bytes can be searched for.
    """
    from verdict.adapters.spark.session import spark_session

    plain = {
        "spark.sql.parquet.compression.codec": "none",
        "spark.hadoop.parquet.enable.dictionary": "false",
    }
    session = spark_session("tests", 1, 1, "512m", tmp_path_factory.mktemp("spark"), extra=plain)
    yield session
    session.stop()


@pytest.fixture(scope="session")
def postgresql() -> Iterator[embedded.Server]:
    """Return a running PostgreSQL; it is shared, and roles are one for all databases."""
    with embedded.server() as server:
        yield server


@pytest.fixture(params=["sqlite", "postgresql"])
def new_database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[NewDatabase]:
    """Return a function that makes empty databases; the test runs once on each kind."""
    if request.param == "sqlite":
        numbers = iter(range(1000))
        yield lambda: f"sqlite:///{tmp_path / f'read-{next(numbers)}.db'}"
        return
    server: embedded.Server = request.getfixturevalue("postgresql")
    with ExitStack() as made:
        yield lambda: made.enter_context(server.database())


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> Iterator[None]:
    """Mark each test, before `-m` chooses, and put in order what was chosen."""
    for item in items:
        tiers.mark(item)
    yield
    tiers.spread(items)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Fixtures count as well."""
    tiers.forget_processes()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Hold tests without a mark to what has no mark."""
    if not tiers.is_unmarked(item):
        return (yield)
    with tiers.held_small():
        return (yield)
