"""What librdkafka reports, in words that say which setting to look at."""

from confluent_kafka import KafkaError, KafkaException

from compose.errors import Unreachable, VerdictError

UNREACHABLE = {
    KafkaError._TRANSPORT,
    KafkaError._TIMED_OUT,
    KafkaError._ALL_BROKERS_DOWN,
    KafkaError._RESOLVE,
    KafkaError._AUTHENTICATION,
    KafkaError._SSL,
}


def kafka_failed(what: str, servers: str, error: KafkaException, said: str = "") -> VerdictError:
    """Return the error to raise for `error`.

    Args:
        what: What could not be done, such as `topic x cannot be created`.
        servers: Where Kafka was looked for.
        error: What librdkafka raised.
        said: What the connection said last; it knows more than the error.
    """
    reason = error.args[0]
    if reason.code() not in UNREACHABLE:
        return VerdictError(f"{what} (Kafka at {servers}: {reason.str()})")
    text = said.rpartition("]: ")[2] or reason.str()  # without the name of librdkafka's thread
    return Unreachable(f"cannot reach Kafka at {servers}, {what} ({text}): {advice(text)}")


def advice(text: str) -> str:
    """Return what to look at after a failed connection that said `text`."""
    if "SASL" in text:
        return "check kafka_user, kafka_password and kafka_sasl_mechanism"
    if "SSL" in text or "certificate" in text:
        return "check kafka_security_protocol, kafka_ca_file and the certificate's host name"
    return "see that it runs, and check the address and kafka_security_protocol"
