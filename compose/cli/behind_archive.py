"""What Kafka has of a partition of events behind what is archived of it."""

from compose.errors import VerdictError
from compose.kafka.errors import NotThereYet
from compose.kafka.log import KafkaLog, Span


def span_behind(log: KafkaLog, topic: str, partition: int, reached: int) -> Span:
    """Return what is to be read from Kafka; nothing lies between that and the archive.

    Args:
        log: Of Kafka.
        topic: Of events.
        partition: Of the topic.
        reached: The offset up to which all is archived; asked for before.

    Raises:
        VerdictError: Kafka has dropped what is not archived.
        NotThereYet: More is archived than Kafka ever had: it is another one than before.
        Unreachable: Kafka does not answer.
    """
    earliest, end = log.bounds(topic, partition)
    if reached < earliest:
        raise VerdictError(
            f"events of {topic}:{partition} are archived up to offset {reached} and Kafka has them "
            f"from {earliest} only, so events could be missing: name the read side whose archive "
            "has them with --database-url"
        )
    if reached > end:
        raise NotThereYet(topic, partition, reached, end)
    return Span(topic, partition, reached, end)
