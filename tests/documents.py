"""Documents as data: their code, their tables, and their commands with the output they show."""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
END = "-- end of the output --"
FENCED = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Document:
    """A page in Markdown, by its path from the root of the checkout."""

    def __init__(self, name: str) -> None:
        self.path = ROOT / name
        self.text = self.path.read_text()

    def blocks(self, language: str) -> list[str]:
        """Return the code blocks of one language."""
        return [block for found, block in FENCED.findall(self.text) if found == language]

    def files(self, language: str) -> dict[str, str]:
        """Return the blocks whose first line is a comment with the name of a file."""
        named = (
            re.fullmatch(r"# (\S+)\n(.*)", block, re.DOTALL) for block in self.blocks(language)
        )
        return {match[1]: match[2] for match in named if match}

    def excerpts(self) -> list[tuple[str, list[str]]]:
        """Return what is shown of files that are there: their names, and the parts in order."""
        shown = [one for one in self.blocks("python") if one.startswith("# from ")]
        named = (one.removeprefix("# from ").partition("\n") for one in shown)
        return [(name, parts.split("...\n")) for name, _, parts in named]

    def code(self) -> str:
        """Return all that is shown as code, a piece a line."""
        fenced = [block for _, block in FENCED.findall(self.text)]
        return "\n".join([*fenced, *re.findall(r"`([^`]+)`", FENCED.sub("", self.text))])

    def links(self) -> set[str]:
        """Return where links lead to, but for those to other sites."""
        return set(re.findall(r"\]\((?!http)([^)]+)\)", FENCED.sub("", self.text)))

    def table(self, heading: str) -> list[list[str]]:
        """Return the rows of the table whose row of column names begins with `heading`."""
        after = self.text.partition(f"| {heading} |")[2].split("\n\n")[0].splitlines()[2:]
        return [[cell.strip() for cell in row.strip("|").split("|")] for row in after]


README = Document("README.md")
PAGES = [
    README,
    *(
        Document(path.relative_to(ROOT).as_posix())
        for path in sorted((ROOT / "docs").rglob("*.md"))
        if path.name != "renamed.md"  # it names what is gone
    ),
    *(
        Document(name)
        for name in ("GUARANTEES.md", "DECISIONS.md", "BENCHMARKS.md", "examples/README.md")
    ),
]


class Shell:
    """One bash, as a person has it open: what is exported stays."""

    def __init__(self, bash: "subprocess.Popen[str]", servers: str) -> None:
        self._bash = bash
        self._servers = servers

    def run(self, command: str) -> str:
        """Return what a command prints, on stdout and stderr."""
        assert self._bash.stdin is not None
        assert self._bash.stdout is not None
        command = re.sub(r"127\.0\.0\.1:\d+", self._servers, command)
        ended = f"rc=$?; echo; echo '{END}'; (exit $rc)"
        self._bash.stdin.write(f"{{ {command}\n}} < /dev/null 2>&1\n{ended}\n")
        self._bash.stdin.flush()
        return "".join(iter(self._bash.stdout.readline, f"{END}\n"))


def commands(block: str) -> Iterator[tuple[str, str]]:
    """Yield each command of a block with the output that is shown below it."""
    for part in block.removeprefix("$ ").split("\n$ "):
        lines = part.splitlines()
        size = 1
        while lines[size - 1].endswith("\\") or " ".join(lines[:size]).count('"') % 2:
            size += 1
        yield "\n".join(lines[:size]), "\n".join(lines[size:])


def shape(output: str) -> str:
    """Return an output without what differs from run to run."""
    for pattern, name in (
        (r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d\.\d{3}Z?", "TIME"),
        (r'"last_hash": "[0-9a-f]{64}"', '"last_hash": "HASH"'),
        (r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "ID"),
        (r"127\.0\.0\.1:\d+", "SERVERS"),
        (r"sqlite:\S+", "DATABASE"),
        (r"─+", "─"),
        (r"read so far: .*", "read so far: POSITIONS"),
        (r"\s+", " "),
    ):
        output = re.sub(pattern, name, output)
    return output.strip()
