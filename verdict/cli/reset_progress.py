"""`verdict reset-progress`: a new progress record for a query that has lost its own."""

from contextlib import ExitStack
from enum import StrEnum
from typing import Annotated

import typer

from verdict.adapters.kafka.offsets import offsets_text
from verdict.cli.operator_identity import Who, Why
from verdict.cli.options import Json, settings_of
from verdict.cli.recover import skip_request
from verdict.cli.render import note, show_json
from verdict.errors import VerdictError
from verdict.operations.repair.reset_progress import begin_as_owner, begin_without_progress
from verdict.reactions.policies.query import reactions_of, reactions_query
from verdict.service.bootstrap import start_kafka_runtime
from verdict.service.directories import require_whole_directory
from verdict.service.known_progress import require_same_log
from verdict.settings.settings import Settings
from verdict.streaming.event_log.skips import SkipRequest
from verdict.streaming.exactly_once.query import lake_query
from verdict.wire.progress_record import ProgressRecord

app = typer.Typer(add_completion=False)


class ResetTarget(StrEnum):
    """What has lost its record: a query its progress, or the deployment that it owns the topics."""

    POLICIES = "policies"
    LAKE = "lake"
    OWNER = "owner"


@app.command()
def reset_progress(
    target: Annotated[ResetTarget, typer.Argument(metavar="policies|lake|owner")],
    reason: Why,
    by: Who = None,
    json: Json = False,
) -> None:
    """Give policies, the lake or the owner of the topics a new record in place of a lost one.

    Without a progress record, policies and the lake do not know how far they came. Policies then
    start at the ends of their topics: events without a consequence so far get none. The lake
    starts at the first events that Kafka has: remove its folder before. `owner` claims the topics
    for this deployment when that record cannot be read. Stop the service first. The state of the
    decider is not touched: `verdict recover` rebuilds it.
    """
    settings, wish = settings_of(), skip_request(by, reason)
    if target is ResetTarget.OWNER:
        claim_topics_again(settings, wish)
        note("this deployment owns the topics; start the service with `verdict up`")
        return
    new = reset(settings, target, wish)
    if json:
        show_json({"query": target, "offsets": new.offsets})
    note(f"{target} will start at {offsets_text(new.offsets)}; start the service with `verdict up`")


def claim_topics_again(settings: Settings, wish: SkipRequest) -> None:
    """Write down that this deployment owns the topics.

    Raises:
        VerdictError: Another deployment owns them, one is missing, or something does not fit.
    """
    with ExitStack() as parts:
        place = require_whole_directory(settings.data_dir, (ResetTarget.OWNER,))
        ground = start_kafka_runtime(settings, parts, place, owned=False)
        require_same_log(settings, ground.kafka)  # else the next start would be refused
        begin_as_owner(ground.kafka, settings.topics, wish)


def reset(settings: Settings, target: ResetTarget, wish: SkipRequest) -> ProgressRecord:
    """Write the progress record of a query that has lost it; this needs no Spark.

    Raises:
        VerdictError: Something is missing or does not fit.
    """
    is_lake = target is ResetTarget.LAKE
    if is_lake and settings.application.lake is None:
        raise VerdictError(f"{settings.application.name} has no lake: there is nothing to reset")
    query = lake_query(settings.topics) if is_lake else reactions_query(reactions_of(settings))
    with ExitStack() as parts:
        place = require_whole_directory(settings.data_dir, (target,))
        kafka = start_kafka_runtime(settings, parts, place).kafka
        return begin_without_progress(query, kafka, settings.topics, wish, at_the_ends=not is_lake)
