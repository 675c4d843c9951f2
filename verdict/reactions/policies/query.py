"""Under which names Kafka and its progress know the reactions; light, for those who only look."""

from collections.abc import Mapping

from verdict.reactions.policies.reaction import Reactions
from verdict.settings.settings import Settings
from verdict.streaming.exactly_once.query import Query, query_of
from verdict.wire.topics import Topics

NAME = "policies"


def reactions_of(settings: Settings) -> Reactions:
    """Return what this deployment does because of what arrives and happens."""
    return reactions_added(settings.topics, settings.chosen)


def reactions_added(topics: Topics, chosen: Mapping[str, object]) -> Reactions:
    """Return what a deployment does because of what arrives and happens."""
    application = topics.application
    policies = [policy.bound(chosen) for policy in application.policies]
    return Reactions(topics, policies, application.notifications, application.inbound)


def reactions_query(reactions: Reactions) -> Query:
    """Return the reactions as Kafka and their progress record know them."""
    version = " ".join(policy.name for policy in reactions.policies)
    return query_of(
        reactions.topics,
        NAME,
        inputs=reactions.inputs,
        outputs=reactions.outputs,
        others=[reactions.topics.dead_letters],
        handler_version=version,
    )
