from io import StringIO

from compose.demo.voice import Voice


def test_a_check_is_counted_and_shown_with_what_differs(voice: Voice, heard: StringIO) -> None:
    voice.expect("one and one are two", 2, 1 + 1)
    voice.expect("one and one are two", 2, 3)

    assert (voice.made, voice.failed) == (2, ["one and one are two: expected 2, found 3"])
    assert heard.getvalue() == (
        "   ✓ one and one are two\n   ✗ one and one are two: expected 2, found 3\n"
    )


def test_what_somebody_may_copy_is_not_broken(voice: Voice, heard: StringIO) -> None:
    voice.show(("by", "why"), [("A", "order 'order-1' " + "x" * 100 + " is DELETED at version 2")])

    assert "x" * 100 + " is DELETED at version 2" in heard.getvalue()


def test_long_sentences_are_wrapped_at_a_hundred_columns(voice: Voice, heard: StringIO) -> None:
    voice.begin("A title", "word " * 50)

    _, title, *lines = heard.getvalue().splitlines()
    assert title == "1  A title"
    assert len(lines) == 3
    assert max(map(len, lines)) <= 100


def test_a_query_of_several_lines_is_shown_below_what_is_typed(
    voice: Voice, heard: StringIO
) -> None:
    voice.typed("sql", "--as", "auditor", "\n    SELECT 1\n    FROM outcome")
    voice.typed("verify")

    assert heard.getvalue().splitlines() == [
        "",
        '   $ verdict sql --as auditor "',
        "       SELECT 1",
        '       FROM outcome"',
        "",
        "   $ verdict verify",
    ]
