"""The topics that dead letters may go to: they exist, and are open to letters."""

from collections.abc import Callable, Collection

from verdict.model.application import Application
from verdict.wire.topics import Topics

OF_KAFKA = "__"
MANY = "*"
OWNERS = "owners"
OF_VERDICT = "topics of Kafka's own and of any verdict never take dead letters, skip it"


class AllowedTopics:
    """Knows which topics there are, and asks again when one is not among them."""

    def __init__(
        self, topics: Topics, allowed: Collection[str], names: Callable[[], Collection[str]]
    ) -> None:
        self._names, self._prefix = names, topics.prefix
        self._application = topics.application
        self._known: Collection[str] = ()
        self._asked = False
        self._open = {*topics.every_commands(), *topics.inbound, topics.retry}
        self._allowed = frozenset(allowed)

    def ask_again(self) -> None:
        """Let the next unknown topic be asked for: once per batch, not per letter."""
        self._asked = False

    def forget(self) -> None:
        """Ask for all topics again, as one may be gone."""
        self._known, self._asked = (), False

    def problem_with(self, topic: str) -> str | None:
        """Return why no letter may go to `topic`, None when it may."""
        if topic not in self._open and (problem := self._closed(topic)):
            return problem
        if topic not in self._known and not self._asked:
            self._known, self._asked = self._names(), True
        if topic not in self._known:
            return "there is no such topic, create it or fix the name, then replay the dead letter"
        return OF_VERDICT if topic not in self._open and self._has_an_owner(topic) else None

    def _has_an_owner(self, topic: str) -> bool:
        """Tell whether this topic belongs to any deployment of verdict that Kafka has."""
        if all(one in self._known for one in Topics(self._application).siblings(topic)):
            return True  # an aggregate, of whatever application
        prefixes = {one.removesuffix(OWNERS) for one in self._known if one.endswith(OWNERS)}
        every = (
            Topics(self._application, prefix=one)
            for one in prefixes | {self._prefix}
            if topic.startswith(one)
        )
        return any(topic == one.name for topics in every for one in topics.all())

    def _closed(self, topic: str) -> str | None:
        if topic.startswith(OF_KAFKA) or is_verdicts_own(self._application, topic):
            return OF_VERDICT
        if topic in self._allowed:
            return None
        many = (one.removesuffix(MANY) for one in self._allowed if one.endswith(MANY))
        if any(topic.startswith(beginning) for beginning in many):
            return None
        return (
            f"dead letters may go to {', '.join(sorted(self._open))} and where the setting "
            "retry_topics says: add it there and start again, then replay the dead letter"
        )


def is_verdicts_own(application: Application, topic: str) -> bool:
    """Tell by its name whether a topic is one of any deployment."""
    every = Topics(application)
    of_aggregates = (every.commands, every.events, every.responses, every.rejected)
    endings = [of(name) for of in of_aggregates for name in application.aggregate_types]
    return topic.endswith(
        (*endings, every.dead_letters, every.owners, ".progress", ".skips", ".replies")
    )
