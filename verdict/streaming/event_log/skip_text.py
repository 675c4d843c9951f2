"""What to say about an operator's decisions; pure."""

from verdict.wire.skip_decision import Decision


def quarantine_in_words(decision: Decision) -> str:
    """Return what is damaged of a quarantined aggregate, and who went on without it."""
    of, who, why = decision.aggregate, decision.who, decision.why
    assert of is not None
    return (
        f"{of.aggregate_type} {of.aggregate_id!r} is quarantined: its history is damaged from "
        f"version {of.version} on ({of.error}); {who} decided so ({why})"
    )
