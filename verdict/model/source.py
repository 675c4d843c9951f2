"""Where a record lies in Kafka."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Source:
    """The place of one record; in the order in which commands are decided."""

    topic: str
    partition: int
    offset: int

    def __str__(self) -> str:
        return f"{self.topic}:{self.partition}:{self.offset}"
