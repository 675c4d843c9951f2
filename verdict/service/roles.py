"""The roles of a deployment, and which components each of them starts, in this order.

`verdict up` has all roles in one process, `verdict run` has one of them.
"""

import math
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass

from verdict.errors import UnreachableError, WorkerTimeoutError
from verdict.reactions.dead_letters.retry_components import build_retry
from verdict.reactions.lake.processor import lake
from verdict.reactions.policies.processor import start_reactions
from verdict.read_side.schema.database import open_database
from verdict.service.bootstrap import BROKER as BROKER_NAME
from verdict.service.bootstrap import KafkaRuntime, Runtime
from verdict.service.read_side import live_projections
from verdict.service.supervisor import StepThread, Supervisor
from verdict.settings.discovery import database_url
from verdict.settings.settings import Settings
from verdict.streaming.exactly_once.failpoints import OnStep, ProgressCallback
from verdict.streaming.exactly_once.query import DECIDER
from verdict.write_side.decider_query.decider_query import DeciderQuery
from verdict.write_side.decider_query.known_aggregates import decided_aggregates
from verdict.write_side.processor.latency import Latencies
from verdict.write_side.recovery.recovery import recover_outdated

DECIDER_RETRY_S = 1.0  # senders wait for an answer
FIRST_BATCH_S = 300.0  # not `slow_batch_s`: JVM and workers are cold, and others start too


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleContext:
    """What the components of a role are made of.

    `held` is closed after all of them. `supervise` makes the supervisor of a component that ends
    the process only if its role is alone.
    """

    settings: Settings
    laid: Runtime | KafkaRuntime
    held: ExitStack
    supervise: Callable[..., Supervisor]
    chosen: tuple[str, ...]
    on_step: OnStep
    tell: ProgressCallback
    latencies: Latencies

    @property
    def ground(self) -> Runtime:
        """Kafka and Spark."""
        assert isinstance(self.laid, Runtime), "a role that needs Spark says so"
        return self.laid


def decider_components(context: RoleContext) -> Iterator[Supervisor]:
    """Yield the query that decides commands; its first batch shows that the workers connect."""
    ground, settings = context.ground, context.settings
    recover_outdated(ground, settings, context.tell)
    deciding = DeciderQuery(ground, settings, context.on_step, context.latencies)
    context.held.callback(deciding.close)
    yield context.supervise(
        name=DECIDER,
        component=deciding,
        essential=True,
        passing=(UnreachableError, WorkerTimeoutError),
        retry_s=DECIDER_RETRY_S,
        is_ready=lambda: deciding.done > 0,
        ready_within_s=lambda: math.inf if deciding.is_seeded else FIRST_BATCH_S,
    )


def policies_components(context: RoleContext) -> Iterator[Supervisor]:
    """Yield what follows from events; a policy that is added begins now."""
    ground, topics = context.ground, context.settings.topics
    known = () if ground.progress is None else decided_aggregates(ground.progress, topics)
    processor = start_reactions(ground, context.settings, with_history=[*map(topics.events, known)])
    yield context.supervise(name="policies", component=processor)


def lake_components(context: RoleContext) -> Iterator[Supervisor]:
    """Yield what writes the application's lake."""
    table = context.settings.application.lake
    assert table is not None, "there is no such role without one"
    processor = lake(context.ground, context.settings, table)
    yield context.supervise(name="lake", component=processor)


def projections_components(context: RoleContext) -> Iterator[Supervisor]:
    """Yield what brings projections forward; where it cannot start, the process does not."""
    live = live_projections(context.laid.kafka, context.settings, context.chosen)
    yield context.supervise(
        name="projections",
        component=live,
        must_start=True,
        on_end=live.note_end,
        is_ready=live.is_ready,
    )


def dead_letters_components(context: RoleContext) -> Iterator[Supervisor]:
    """Yield what takes dead letters in, which is ready with all that were there, and the retry."""
    settings = context.settings
    engine = open_database(database_url(settings))
    context.held.callback(engine.dispose)
    intake, dispatch = build_retry(engine, context.laid.kafka, settings)
    thread = StepThread("dead-letter intake", intake)
    yield context.supervise(name=thread.name, component=thread, is_ready=intake.caught_up.is_set)
    thread = StepThread("dead-letter dispatch", dispatch)
    yield context.supervise(name=thread.name, component=thread)


@dataclass(frozen=True, slots=True, kw_only=True)
class Role:
    """What a process can be there for; each of `components` is started before the next is made."""

    name: str
    components: Callable[[RoleContext], Iterator[Supervisor]] = lambda _: iter(())
    spark: bool = True
    database: bool = False
    is_there: Callable[[Settings], bool] = lambda _: True


BROKER = Role(
    name=BROKER_NAME,  # it runs before any component
    spark=False,
    is_there=lambda settings: settings.bootstrap_servers is None,
)
LAKE = Role(
    name="lake",
    components=lake_components,
    is_there=lambda settings: settings.application.lake is not None,
)
PROJECTIONS = Role(
    name="projections", components=projections_components, spark=False, database=True
)

ROLES = (
    BROKER,
    Role(name=DECIDER, components=decider_components),
    Role(name="policies", components=policies_components),
    LAKE,
    PROJECTIONS,
    Role(name="dead-letters", components=dead_letters_components, spark=False, database=True),
)
"""In the order in which they start; they stop in reverse."""
