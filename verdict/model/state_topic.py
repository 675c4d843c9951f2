"""States that others carry on a compacted topic: the whole of something as it is now, in JSON.

The key is its id, the value its newest state; a record without a value says that it is gone. What
else the others put into the value is theirs, and is passed over.
"""

from dataclasses import dataclass

from pydantic import ConfigDict

from verdict.model.message import Message, Name


class StateRecord(Message):
    """What is read of a state; `id` is the record's key."""

    model_config = ConfigDict(extra="ignore")

    id: Name


@dataclass(frozen=True, slots=True)
class StateTopic:
    """A topic of states.

    Args:
        topic: Its name, without the prefix of a deployment.
        state: What a value is read as.
        about: The aggregate type that the states are of, if they are of one.
    """

    topic: str
    state: type[StateRecord]
    about: str | None = None
