"""Turns errors of librdkafka into ours, which say which setting to look at."""

from confluent_kafka import KafkaError, KafkaException

from verdict.errors import UnreachableError, VerdictError
from verdict.settings.load import InvalidSettingsError
from verdict.wire.partitions import TopicPartition

UNREACHABLE = {
    KafkaError._TRANSPORT,
    KafkaError._TIMED_OUT,
    KafkaError._ALL_BROKERS_DOWN,
    KafkaError._RESOLVE,
    KafkaError._AUTHENTICATION,
    KafkaError._SSL,
}

OURS = {
    "ssl.ca.location": "kafka_ca_file",
    "ssl.certificate.location": "kafka_certificate_file",
    "ssl.key.location": "kafka_key_file and kafka_key_password",
}


class RecordsDroppedError(VerdictError):
    """Kafka has dropped records that were to be read next."""

    def __init__(self, topic: str, partition: int, needed: int, earliest: int) -> None:
        self.place = TopicPartition(topic, partition)
        self.needed, self.earliest = needed, earliest
        super().__init__(
            f"{self.place} was to be read from offset {needed}, and Kafka has it from "
            f"{earliest} only: begin again, at {earliest} or later where you name the offset, and "
            "give the topic unlimited retention, or more than a reader is ever behind"
        )


class TopicMissingError(VerdictError):
    """Records were to be read that are after the end of a partition."""

    def __init__(self, topic: str, partition: int, needed: int, end: int) -> None:
        super().__init__(
            f"{topic}:{partition} was to be read from offset {needed}, and Kafka has it up to "
            f"{end} only: ask for an offset up to that, or find out who created the topic again"
        )


def kafka_failed(what: str, servers: str, error: KafkaException, said: str = "") -> VerdictError:
    """Return the error to raise for `error`."""
    reason = error.args[0]
    if reason.code() not in UNREACHABLE:
        return VerdictError(f"{what} (Kafka at {servers}: {reason.str()})")
    text = said.rpartition("]: ")[2] or reason.str()  # without the name of librdkafka's thread
    return UnreachableError(f"cannot reach Kafka at {servers}, {what} ({text}): {advice(text)}")


def settings_refused(error: KafkaException) -> InvalidSettingsError:
    """Return the error to raise if librdkafka does not accept its settings."""
    said = error.args[0].str()
    ours = next((ours for theirs, ours in OURS.items() if theirs in said), "the table kafka")
    return InvalidSettingsError(
        f"the Kafka client does not accept its settings ({said}): check {ours}, `verdict config "
        "show` tells where it comes from"
    )


def advice(text: str) -> str:
    """Return what to look at after a failed connection that said `text`."""
    if "SASL" in text:
        return "check kafka_user, kafka_password and kafka_sasl_mechanism"
    if "alert" in text:  # by the broker
        return "check kafka_certificate_file and kafka_key_file, or whether they are missing"
    if "certificate" in text:
        return "check kafka_ca_file, and the host name in bootstrap_servers against the certificate"
    if "SSL" in text:
        return "check kafka_security_protocol and the port in bootstrap_servers"
    return "see that it runs, and check the address and kafka_security_protocol"
