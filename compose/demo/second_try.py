"""Chapter: a service that failed puts what it was told aside, and gets it again when it is due."""

from typing import cast

from compose.demo.story import Story

PARCEL, LOST = (f"parcel-{number}".encode() for number in (1, 2))
LETTERS, RETRY = "dead-letters", "retry"
OURS = f"FROM dead_letter WHERE key IN (X'{PARCEL.hex()}', X'{LOST.hex()}')"
LEFT, STATUSES = f"\n    SELECT id, status\n    {OURS}", f"SELECT status {OURS}"


def tell(story: Story) -> None:
    """Let a carrier fail, and see that its letters come back, or are kept for a person."""
    story.voice.begin(
        "A dead letter that succeeds on its second try",
        "A carrier, another service, fails to deliver two parcels. It puts both records on "
        f"{LETTERS}: one is tried again after a second, up to three times, the other is not.",
    )
    backoff = {"retry_backoff": "fixed:1s", "retry_attempts": "3"}
    story.kafka.produce(LETTERS, PARCEL, b"the first", retry_topic=RETRY, **backoff)
    story.kafka.produce(LETTERS, LOST, b"the other", retry_topic=RETRY, retry_attempts="0")
    story.kafka.flush()
    story.wait_until(lambda: bool(story.kafka.records(RETRY)), lambda: "the retry")
    # Kafka shows a retry a moment before the table forgets the letter
    story.wait_until(lambda: story.select(STATUSES) == [("PARKED",)], lambda: "the table")
    [retry] = story.kafka.records(RETRY)
    [letter] = (one for one in story.kafka.records(LETTERS) if one.key() == PARCEL)
    pairs = cast("list[tuple[str, bytes]]", retry.headers())
    headers = {name: value.decode() for name, value in pairs}
    waited_ms = retry.timestamp()[1] - letter.timestamp()[1]
    story.voice.say(f"{PARCEL.decode()} is on {RETRY} after {waited_ms / 1000:.1f} s, with")
    for name in ("retry_attempt", "retry_attempts", "retry_id"):
        story.voice.say(f"  {name} {headers[name]}")
    story.voice.expect(
        "the first came back when it was due: unchanged, with one more attempt",
        (True, PARCEL, b"the first", "1"),
        (waited_ms >= 1000, retry.key(), retry.value(), headers["retry_attempt"]),
    )
    left = story.ask(LEFT, "--as", "support")
    delivered = "the carrier delivers it on the second try, so no dead letter waits any more"
    story.voice.expect(delivered, ["PARKED"], [status for _, status in left])
    listed = story.service.verb("dead-letters", "list").stdout
    kept = "the other is parked for an operator: `verdict dead-letters list`"
    story.voice.expect(kept, True, str(left[0][0]) in listed)
