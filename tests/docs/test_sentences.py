"""Documents are short, and so are their sentences."""

from pathlib import Path

import pytest

from tests.docs.sentences import LONGEST, MOST_WORDS, measure, sentences, words, written_by_hand


@pytest.mark.parametrize("path", written_by_hand(), ids=lambda path: path.name)
def test_an_average_sentence_is_short(path: Path) -> None:
    assert measure(path).average <= LONGEST


def test_all_documents_together_are_read_in_little_time() -> None:
    assert words(written_by_hand()) <= MOST_WORDS


def test_code_tables_and_headings_are_no_long_sentences() -> None:
    text = (
        "# A title\n\nOne two `three four`. Five\nsix, e.g. seven.\n\n```\nno\n```\n\n| a b | c d |"
    )

    assert [*sentences(text)] == ["A title", "One two Code.", "Five six, e.g. seven.", "a b", "c d"]
