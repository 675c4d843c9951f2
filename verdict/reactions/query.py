"""Under which names Kafka and its marker know the reactions; light, for those who only look."""

from verdict.application import current
from verdict.configuration.settings import Settings
from verdict.exactly_once.query import Query, query_of
from verdict.reactions.reaction import Reactions

NAME = "reactions"


def reactions_of(settings: Settings) -> Reactions:
    """Return what this deployment does because of what arrives and happens."""
    application = current()
    policies = [policy.bound(settings.chosen) for policy in application.policies]
    return Reactions(settings.topics, policies, application.notifications)


def reactions_query(reactions: Reactions) -> Query:
    """Return the reactions as Kafka and their marker know them."""
    version = " ".join(policy.name for policy in reactions.policies)
    return query_of(
        reactions.topics,
        NAME,
        inputs=reactions.inputs,
        outputs=reactions.outputs,
        others=[reactions.topics.dead_letters],
        handler_version=version,
    )
