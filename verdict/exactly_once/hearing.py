"""What a producer has to say, heard also while nobody calls it."""

from threading import Event, Lock, Thread

from confluent_kafka import KafkaException, Producer

EVERY_S = 1.0


class Hearing:
    """Takes what a producer logs and reports, at once when asked, and every second by itself.

    Until somebody polls, its lines wait in a queue that librdkafka (2.x) goes through for each
    further one. A producer that waits for a Kafka that is away writes hundreds a second, with the
    log of `ClientLog`: after some minutes that alone took a core.

    A producer that is at its end, being fenced say, tells it once, to whoever polls: `now` tells
    it from then on.

    Args:
        producer: Is held until `end`: for ever, if one of its calls never comes back.
        name: Of the producer, for whoever looks at threads.
    """

    def __init__(self, producer: Producer, name: str) -> None:
        self._producer = producer
        self._ended = Event()
        self._lock = Lock()
        self._fatal: KafkaException | None = None
        self.at_its_end = Event()
        self._thread = Thread(target=self._run, name=f"hearing {name}", daemon=True)
        self._thread.start()

    def now(self) -> None:
        """Return when everything that was said before has been told to those whom it is for.

        Without the lock, a line could be in the hands of the other thread still.

        Raises:
            KafkaException: The producer is at its end.
        """
        self._hear()
        if self._fatal is not None:
            raise self._fatal

    def end(self) -> None:
        """Hear no more, and let the producer go; again does nothing."""
        self._ended.set()
        self._thread.join()
        self.__dict__.pop("_producer", None)

    def _run(self) -> None:
        while not self._ended.wait(EVERY_S):
            self._hear()

    def _hear(self) -> None:
        with self._lock:
            try:
                self._producer.poll(0)
            except KafkaException as fatal:
                self._fatal = fatal
                self.at_its_end.set()
