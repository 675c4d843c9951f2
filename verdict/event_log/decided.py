"""What to say about an operator's decisions; pure."""

from verdict.wire.decision import Decision


def quarantine_in_words(decision: Decision) -> str:
    """Return what is damaged of a quarantined aggregate, and who went on without it."""
    of, who, why = decision.aggregate, decision.who, decision.why
    assert of is not None
    return (
        f"{of.aggregate_type} {of.aggregate_id!r} is quarantined: its history is damaged from "
        f"version {of.version} on ({of.error}); {who} decided so ({why})"
    )


def undecided_in_words(decision: Decision) -> str:
    """Return who decided that some commands are passed over, which and why."""
    source, who, why = decision.source, decision.who, decision.why
    upto = f" to {decision.until - 1}" if decision.until > source.offset + 1 else ""
    return f"{source}{upto} is passed over undecided: {who} decided so ({why})"
