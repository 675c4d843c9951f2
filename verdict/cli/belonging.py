"""Whether Kafka, the markers and the read side are of one log, for `verdict status`."""

from collections.abc import Iterator
from typing import Any

from verdict.configuration.settings import Settings
from verdict.event_log.followed_log import refuse_another_read_side
from verdict.foundation.ensured_topics import refuse_another_log
from verdict.kafka.access import kafka_of


def belonging(settings: Settings) -> dict[str, Any]:
    """Return nothing, when everything is of one log.

    Raises:
        AnotherLog: The markers or the read side are of other topics than there are.
        Unreachable: Kafka or the database does not answer.
    """
    kafka = kafka_of(settings)
    refuse_another_log(settings, kafka)
    refuse_another_read_side(settings, kafka)
    return {}


def ahead(facts: dict[str, Any]) -> Iterator[str]:
    """Yield who has read further than Kafka goes, by the lags in `facts`."""
    lags = {"the decider": [row["lag"] for row in facts["commands"] or ()]}
    lags |= {f"the {one['processor']}": [one["lag"]] for one in facts["processors"] or ()}
    lags |= {
        f"projection {one['projection']} v{one['version']}": [one["lag"]]
        for one in facts["projections"] or ()
    }
    lags["the intake of letters"] = [(facts["letters"] or {"lag": None})["lag"]]
    for name, found in lags.items():
        if (lag := min((one for one in found if one is not None), default=0)) < 0:
            yield (
                f"{name} has read {-lag} offsets further than Kafka goes: a topic was deleted, or "
                "these are the marker or the tables of another Kafka; look at bootstrap_servers "
                "and database_url"
            )
