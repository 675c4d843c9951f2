"""What must have become of records that no one should have sent."""

from collections.abc import Iterable, Mapping
from hashlib import sha256

from tests.comparison import Published
from tests.hostile import WHOLE, Sent
from verdict.model.source import Source
from verdict.wire.dead_letter import DeadLetter
from verdict.wire.records import decode
from verdict.wire.response import Rejection
from verdict.wire.topics import KEY_BYTES, Topics


def assert_contained(
    sent: Mapping[Source, Sent], published: Iterable[Published], topics: Topics
) -> None:
    """Hold that each record became one dead letter or one rejection, with its bytes and place."""
    letters: dict[Source, list[DeadLetter]] = {place: [] for place in sent}
    rejections: dict[Source, list[Rejection]] = {place: [] for place in sent}
    for one in published:
        if one.topic == topics.dead_letters:
            letter = decode(DeadLetter, one.value)
            letters.get(letter.source, []).append(letter)
        elif one.topic.endswith(".rejected"):
            rejection = decode(Rejection, one.value)
            rejections.get(rejection.source, []).append(rejection)
    for place, (key, value) in sent.items():
        assert len(letters[place]) + len(rejections[place]) == 1, place
        for rejection in rejections[place]:
            assert rejection.command_bytes == value, place
        for letter in letters[place]:
            assert (letter.key, letter.length) == (key and key[:KEY_BYTES], len(value or b"")), (
                place
            )
            if key is not None and len(key) > KEY_BYTES:
                whole = len(key), sha256(key).digest()
                assert (letter.key_length, letter.key_sha256) == whole, place
            else:
                assert (letter.key_length, letter.key_sha256) == (None, None), place
            assert letter.bytes == (value and value[:WHOLE]), place
            assert letter.sha256 == sha256(value or b"").digest(), place
