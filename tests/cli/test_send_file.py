"""What a line of `verdict send --file` may be."""

import json

import pytest
import typer

from verdict.cli.send_file import envelopes

SENT = {"aggregate_id": "o-1", "command_id": "c-1", "expected_version": 1}
LINE = json.dumps(SENT | {"payload": {"type": "ModifyOrder", "quantity": 5}}).encode()


def test_the_bytes_of_a_line_are_sent() -> None:
    value = LINE.replace(b"5", b"5.10")

    assert [*envelopes([b"\n", value + b"\r\n"], "order")] == [("order", "o-1", "c-1", value)]


def test_a_byte_order_mark_at_the_start_of_a_file_is_skipped() -> None:
    assert [*envelopes([b"\xef\xbb\xbf" + LINE], "order")] == [("order", "o-1", "c-1", LINE)]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (b"\xef\xbb\xbf" + LINE, "a byte order mark"),
        (LINE.decode().encode("utf-16"), "text in UTF-16"),
        (LINE.replace(b"c-1", b"\\ud800"), "half of a surrogate pair"),
        (LINE.replace(b"c-1", b"\xff"), "not JSON"),
        (LINE.replace(b"5", b"[" * 300 + b"]" * 300), "recursion limit"),
        (LINE.replace(b"5", b"NaN"), "not JSON"),
        (LINE.replace(b"5", b"1e400"), "the number 1e400 is too large"),
        (LINE.replace(b"5", b'5, "quantity": 6'), "the field 'quantity' is given twice"),
        (json.dumps(LINE.decode()).encode(), "JSON string that contains JSON"),
        (b"[]", "JSON array"),
        (LINE.replace(b"c-1", b""), "command_id: String should have at least 1 character"),
        (LINE.replace(b"c-1", b"\\u0000"), "command_id: String should match pattern"),
        (LINE.replace(b"o-1", b"x" * 257), "aggregate_id: String should have at most 256"),
        (LINE.replace(b'"o-1"', b"7"), "aggregate_id: Input should be a valid string"),
        (LINE.replace(b"{", b'{"aggregate": [], ', 1), "no aggregate []"),
        (LINE.replace(b"{", b'{"aggregate": null, ', 1), 'has no "aggregate"'),
    ],
)
def test_a_line_that_the_decider_cannot_read_is_named(line: bytes, problem: str) -> None:
    with pytest.raises(typer.BadParameter) as refused:
        [*envelopes([LINE, line], "order")]

    assert problem in refused.value.message
    assert "line 2" in refused.value.message
