"""The topics that dead letters may go to: they exist, and are open to letters."""

from collections.abc import Callable, Collection

from verdict.wire.topics import Topics

OF_KAFKA = "__"
MANY = "*"


class AllowedTopics:
    """Knows which topics are open, and asks once per batch which ones exist.

    The topics of other deployments are known by the ends of their names.
    """

    def __init__(
        self, topics: Topics, allowed: Collection[str], names: Callable[[], Collection[str]]
    ) -> None:
        self._names = names
        self._known: Collection[str] = ()
        self._open = {*topics.every_commands(), *topics.inbound, topics.retry}
        self._own = {topic.name for topic in topics.all()}
        self._allowed = sorted(allowed)
        anyones = Topics(topics.application)
        every = (anyones.commands, anyones.events, anyones.responses, anyones.rejected)
        names_of = (of(name) for of in every for name in topics.application.aggregate_types)
        ends = (anyones.dead_letters, anyones.owners, ".progress", ".skips", ".replies")
        self._ends_of_verdict = (*names_of, *ends)

    def refresh(self) -> None:
        """Ask again which topics there are: some may be new, or gone."""
        self._known = ()

    def problem_with(self, topic: str) -> str | None:
        """Return why no letter may go to `topic`, None when it may."""
        if topic not in self._open and (problem := self._closed(topic)):
            return problem
        self._known = self._known or self._names()
        if topic not in self._known:
            return "there is no such topic, create it or fix the name, then replay the dead letter"
        return None

    def _closed(self, topic: str) -> str | None:
        own = topic in self._own or topic.startswith(OF_KAFKA)
        if own or topic.endswith(self._ends_of_verdict):
            return "topics of Kafka's own and of any verdict never take dead letters, skip it"
        for one in self._allowed:
            if topic == one or (one.endswith(MANY) and topic.startswith(one.removesuffix(MANY))):
                return None
        return (
            f"dead letters may go to {', '.join(sorted(self._open))} and where the setting "
            "retry_topics says: add it there and start again, then replay the dead letter"
        )
