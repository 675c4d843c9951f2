"""README as data: its code, its tables, and its commands with the output it shows."""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
END = "-- end of the output --"


def blocks(language: str) -> list[str]:
    """Return README's code blocks of one language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


def files(language: str) -> dict[str, str]:
    """Return the blocks whose first line is a comment with the name of a file."""
    named = (re.fullmatch(r"# (\S+)\n(.*)", block, re.DOTALL) for block in blocks(language))
    return {match[1]: match[2] for match in named if match}


def code() -> str:
    """Return all that README shows as code, a piece a line."""
    fenced = re.findall(r"^```\w+\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
    prose = re.sub(r"^```\w+\n.*?^```$", "", README, flags=re.MULTILINE | re.DOTALL)
    return "\n".join([*fenced, *re.findall(r"`([^`]+)`", prose)])


def table(heading: str) -> list[list[str]]:
    """Return the rows of the table under the row of column names that begins with `heading`."""
    after = README.partition(f"| {heading} |")[2].split("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in after]


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
        (r"\s+", " "),
    ):
        output = re.sub(pattern, name, output)
    return output.strip()
