"""The length of sentences in documents: `python -m tests.docs.sentences` lists each document."""

import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
LONGEST = 18  # words of an average sentence
MOST_WORDS = 15_000
FENCE = re.compile(r"^```.*?^```", re.M | re.S)
COMMENT = re.compile(r"<!--.*?-->", re.S)
LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
CODE = re.compile(r"`[^`]*`")
END = re.compile(r"(?<=[.!?])\s+(?=[\"'(*]*[A-Z0-9`*_])|\s*\|\s*|\n\s*\n")
BULLET = re.compile(r"^\s*(?:[-*]|\d+\.|#+|>)\s+", re.M)
WORD = re.compile(r"[A-Za-z0-9][\w'./-]*")


class Measured(NamedTuple):
    """One document."""

    path: Path
    words: int
    sentences: int

    @property
    def average(self) -> float:
        """Words of an average sentence."""
        return self.words / max(self.sentences, 1)


def written_by_hand() -> list[Path]:
    """Return the documents that people write; docs/reference is generated."""
    names = ("README.md", "GUARANTEES.md", "DECISIONS.md", "CHANGELOG.md", "BENCHMARKS.md")
    return [*(ROOT / name for name in names), *sorted((ROOT / "docs").glob("*.md"))]


def sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a Markdown text; a line of code counts as one word of its sentence."""
    text = COMMENT.sub("", FENCE.sub("\n\n", text))
    text = CODE.sub("Code", LINK.sub(r"\1", text))
    text = BULLET.sub("\n\n", text)
    for sentence in END.split(text):
        if len(WORD.findall(sentence)) > 1:
            yield " ".join(sentence.split())


def measure(path: Path) -> Measured:
    """Count the words and sentences of a document."""
    counts = [len(WORD.findall(one)) for one in sentences(path.read_text())]
    return Measured(path, sum(counts), len(counts))


def words(paths: Sequence[Path]) -> int:
    """Count all words, as `wc -w` does."""
    return sum(len(path.read_text().split()) for path in paths)


def report() -> Iterator[str]:
    """Yield a line for each document, then the longest sentences."""
    paths = written_by_hand()
    for one in map(measure, paths):
        yield f"{one.words:6} words  {one.average:5.1f} a sentence  {one.path.name}"
    yield f"{words(paths):6} words in all"
    every = [sentence for path in paths for sentence in sentences(path.read_text())]
    for sentence in sorted(every, key=lambda one: -len(WORD.findall(one)))[:10]:
        yield f"{len(WORD.findall(sentence)):4}: {sentence[:200]}"


if __name__ == "__main__":
    sys.stdout.writelines(f"{line}\n" for line in report())
