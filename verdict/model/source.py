"""The position of a record in Kafka."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Source:
    """The position of one record; sorts in the order in which commands are decided."""

    topic: str
    partition: int
    offset: int

    def __str__(self) -> str:
        return f"{self.topic}:{self.partition}:{self.offset}"
