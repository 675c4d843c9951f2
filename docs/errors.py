"""The catalogue of errors and refusals, read from the code, with what operators are told of it."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from verdict import errors
from verdict.errors import VerdictError
from verdict.http.application import FAILED, OTHER_ERROR
from verdict.http.commands import STATUS, UNPROCESSABLE
from verdict.model.reason import Reason

ROOT = Path(__file__).parents[1]
OPERATING = ROOT / "docs" / "operating.md"
SYMPTOM = re.compile(r"\*\*`([^`]+)`\*\*")
MEANS = {
    Reason.INVALID_COMMAND: "A field is missing, unknown or wrong, or the record's key is not the "
    "`aggregate_id`; `details` names the fields.",
    Reason.UNKNOWN_TYPE: "The aggregate has no such command.",
    Reason.COMMAND_ID_REUSED: "The id was used for another command to this aggregate.",
    Reason.QUARANTINED: "The history of the aggregate is damaged: an operator has to bring its "
    "events back.",
    Reason.EXPIRED: "It reached Kafka after its `deadline`.",
    Reason.VERSION_CONFLICT: "The aggregate is not at the version that the sender has seen: "
    "`actual_version` and `actual_state` say where it is.",
    Reason.ALREADY_EXISTS: "It was to be new, and it exists, or did before it was deleted.",
    Reason.NOT_FOUND: "It was to be there, and never was.",
    Reason.DELETED: "It was to be there, and was deleted at `actual_version`.",
    Reason.BUSINESS_RULE: "A rule refuses, with its words and numbers in `message` and its code in "
    "`details`.",
    Reason.TOO_LARGE: "The events that it causes are larger than `max_events_bytes` together.",
    Reason.HANDLER_ERROR: "A bug in the rules: the aggregate is unchanged, the bytes are on "
    "`dead-letters` too.",
}


class Fault(NamedTuple):
    """A class of errors; `said` are the texts that its messages are made of.

    Exit code and status are None where they are as for any other.
    """

    name: str
    means: str
    exit_code: int | None
    status: int | None
    said: list[str]


def catalogue() -> Iterator[str]:
    """Yield the lines of the page."""
    yield "# Errors"
    yield ""
    yield "What can go wrong, by name: a response has its `reason`, an error over HTTP its `type`,"
    yield "Python its class. A verb prints the message and ends with the exit code."
    yield from ("", "## Refusals", "")
    yield "A refused command is a result and no error until `raise_for_rejection()` raises it; the"
    yield "command line ends with 3. The command id may be used again for what is retriable alone."
    for reason in Reason:
        again = " Retriable." if reason.retriable else ""
        yield from ("", f"### {reason}", "", MEANS[reason], "")
        yield f"HTTP {STATUS.get(reason, UNPROCESSABLE)}.{again} What to do: {reason.advice}."
    yield from ("", "## Of a client", "")
    yield "`Client` and `AsyncClient` raise these. Where the outcome is unknown, send the command"
    yield "again with the `command_id` of the error: it is decided once. A verb ends with 5, unless"
    yield "an error says otherwise."
    yield from _entries(faults("SendFailedError"))
    yield from ("", "## Of verdict", "")
    yield "The message says what happened, to what, and what to do next. The words by which"
    yield "[operating](../operating.md) tells more of an error lead there. Exit code"
    yield f"{VerdictError.exit_code} and HTTP {OTHER_ERROR}, unless it says otherwise."
    of_a_client = {fault.name for fault in faults("SendFailedError")}
    every = faults(VerdictError.__name__)
    yield from _entries(fault for fault in every if fault.name not in of_a_client)


def _entries(found: Iterable[Fault]) -> Iterator[str]:
    for fault in sorted(found):
        yield from ("", f"### {fault.name}", "", fault.means)
        code = f"Exit code {fault.exit_code}." if fault.exit_code else ""
        status = f"HTTP {fault.status}." if fault.status else ""
        is_public = fault.name in errors.__all__
        public = f"`from verdict.errors import {fault.name}`" if is_public else ""
        if facts := " ".join(filter(None, (code, status, public))):
            yield from ("", facts)
        if told := [*_told(fault.said)]:
            yield from ("", *(f"- [`{words}`](../operating.md#{anchor})" for words, anchor in told))


def faults(root: str) -> list[Fault]:
    """Return a class of errors and all that are kinds of it, wherever they are."""
    found = {root: next(node for node in _classes() if node.name == root)}
    codes: dict[str, int | None] = {root: None}
    statuses = {kind.__name__: status for kind, status in FAILED.items()}
    while new := [n for n in _classes() if n not in found.values() and _bases(n) & {*found}]:
        for node in new:
            [base, *_] = [one for one in _bases(node) if one in found]
            found[node.name] = node
            codes[node.name] = _own_code(node) or codes[base]
            if base in statuses:
                statuses.setdefault(node.name, statuses[base])
    return [
        Fault(name, _meaning(node), codes[name], statuses.get(name), _said(name, node))
        for name, node in found.items()
    ]


def _told(said: list[str]) -> Iterator[tuple[str, str]]:
    """Yield the words by which operators look for an error that says this, and their section."""
    for section in OPERATING.read_text().split("\n## ")[1:]:
        anchor = re.sub(r"[^a-z ]", "", section.partition("\n")[0].lower()).replace(" ", "-")
        for symptom in SYMPTOM.findall(section):
            words = " ".join(symptom.split())
            pieces = re.split(r"\s*…[:,;.]?\s*", words)
            if any(all(piece.strip("() ") in text for piece in pieces) for text in said):
                yield words, anchor


@cache
def _nodes() -> list[ast.AST]:
    files = sorted((ROOT / "verdict").rglob("*.py"))
    return [node for file in files for node in ast.walk(ast.parse(file.read_text()))]


@cache
def _classes() -> list[ast.ClassDef]:
    return [node for node in _nodes() if isinstance(node, ast.ClassDef)]


@cache
def _calls() -> dict[str, list[ast.Call]]:
    found = defaultdict(list)
    for node in _nodes():
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            found[node.func.id].append(node)
    return found


def _bases(node: ast.ClassDef) -> set[str]:
    return {base.id for base in node.bases if isinstance(base, ast.Name)}


def _own_code(node: ast.ClassDef) -> int | None:
    for one in node.body:
        if isinstance(one, ast.Assign) and ast.unparse(one.targets[0]) == "exit_code":
            return int(ast.literal_eval(one.value))
    return None


def _meaning(node: ast.ClassDef) -> str:
    return " ".join((ast.get_docstring(node) or "").partition("\n\n")[0].split())


def _said(name: str, node: ast.ClassDef) -> list[str]:
    spoken = (one for each in (node, *_calls()[name]) for one in ast.walk(each))
    return [" ".join(text.split()) for text in map(_text, spoken) if text]


def _text(node: ast.AST) -> str:
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=values):
            return "".join(_text(one) or "…" for one in values)
    return ""
