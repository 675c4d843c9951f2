"""Where letters may go: topics that exist, and hold no word of verdict's own."""

from collections.abc import Callable, Collection

from schemas.registry import aggregate_types
from schemas.topics import Topics


class Destinations:
    """Knows which topics there are, and asks again when one is not among them.

    Args:
        topics: Of the deployment.
        names: Asks Kafka for the names of all topics.
    """

    def __init__(self, topics: Topics, names: Callable[[], Collection[str]]) -> None:
        self._names = names
        self._known: Collection[str] = ()
        self._asked = False
        said = (topics.events, topics.responses, topics.rejected)
        self._closed = {of(name) for of in said for name in aggregate_types()}
        self._closed |= {topics.markers, topics.dead_letters}

    def ask_again(self) -> None:
        """Let the next topic that is not known be asked for; else a flood would ask for each."""
        self._asked = False

    def forget(self) -> None:
        """Ask for all topics again, as one may be gone."""
        self._known, self._asked = (), False

    def problem_with(self, topic: str) -> str | None:
        """Return why no letter may go to `topic`, None when it may.

        Raises:
            Unreachable: Kafka does not answer.
        """
        if topic in self._closed or topic.startswith("__"):
            return "letters may not go there, name another topic"
        if topic not in self._known and not self._asked:
            self._known, self._asked = self._names(), True
        if topic not in self._known:
            return "there is no such topic, create it or mend the name, then replay the letter"
        return None
