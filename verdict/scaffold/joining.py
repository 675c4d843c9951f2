"""A part put into the value that lists all of an application, where it says so in the usual way."""

import ast
import re

from verdict.scaffold.source import imports as imported

FOLDERS = {"aggregates", "commands", "compose", "projections", "schemas"}  # at a checkout's root
NOTHING_ELSE = re.compile(rb"\s*,\s*(#.*)?")

Imports = list[ast.Import | ast.ImportFrom]
Sequence = ast.Tuple | ast.List


def bound(source: str) -> set[str]:
    """Return the names that a module imports or assigns at its top."""
    found: set[str] = set()
    for node in ast.parse(source).body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            found |= {alias.asname or alias.name.partition(".")[0] for alias in node.names}
        if isinstance(node, ast.Assign):
            found |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return found


def joined(source: str, value: str, listed: str, module: str, name: str) -> str | None:
    """Return a module with one import more, and what it imports at the end of what is listed.

    Args:
        source: The module, which has `value = Application(…, listed=(…), …)` at its top.
        value: Name of the application.
        listed: The argument that takes the new part, such as `aggregates`.
        module: Has the new part.
        name: Of the new part.

    Returns:
        None: It is written in another way, and a person has to do it.
    """
    before: Imports = []
    for node in ast.parse(source).body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            before.append(node)
        sequence = listed_in(node, value, listed)
        if sequence is not None and before:
            lines = source.encode().splitlines(keepends=True)
            if not _add_member(lines, sequence, name):
                return None
            _add_import(lines, before, module, name)
            return b"".join(lines).decode()
    return None


def listed_in(node: ast.stmt, value: str, listed: str) -> Sequence | None:
    """Return the literal that is given as `listed` to what a statement assigns to `value`."""
    if not (isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)):
        return None
    if value not in {target.id for target in node.targets if isinstance(target, ast.Name)}:
        return None
    given = {keyword.arg: keyword.value for keyword in node.value.keywords}
    found = given.get(listed)
    return found if isinstance(found, ast.Tuple | ast.List) else None


def _add_member(lines: list[bytes], sequence: Sequence, name: str) -> bool:
    """Put a name behind the members of a literal; return whether it was clear where."""
    if not sequence.elts:
        return _add_first(lines, sequence, name)
    last = sequence.elts[-1]
    assert last.end_lineno is not None
    line = lines[last.end_lineno - 1]
    indent, rest = lines[last.lineno - 1][: last.col_offset], line[last.end_col_offset :]
    if not indent.strip():  # one member a line
        if clear := NOTHING_ELSE.fullmatch(rest.rstrip()) is not None:
            lines.insert(last.end_lineno, indent + f"{name},\n".encode())
        return clear
    closing = sequence.end_col_offset or 0
    between = line[last.end_col_offset : closing - 1]
    if sequence.end_lineno != last.end_lineno or between.strip() not in (b"", b","):
        return False
    lines[last.end_lineno - 1] = (
        line[: last.end_col_offset] + f", {name}".encode() + line[closing - 1 :]
    )
    return True


def _add_first(lines: list[bytes], sequence: Sequence, name: str) -> bool:
    line = lines[sequence.lineno - 1]
    start, end = sequence.col_offset + 1, (sequence.end_col_offset or 0) - 1
    if sequence.lineno != sequence.end_lineno or line[start:end].strip():
        return False
    indent = line[: len(line) - len(line.lstrip())]
    member = b"\n" + indent + f"    {name},\n".encode() + indent
    lines[sequence.lineno - 1] = line[:start] + member + line[end:]
    return True


def _add_import(lines: list[bytes], imports: Imports, module: str, name: str) -> None:
    """Put an import in its alphabetical place among those of the application, or behind all."""
    line = f"{imported([(module, name)])}\n".encode()
    root = module.partition(".")[0]
    roots = FOLDERS if root in FOLDERS else {root}
    ours = [one for one in imports if _module(one).partition(".")[0] in roots]
    if not ours:
        lines.insert(imports[-1].end_lineno or 0, b"\n" + line)
        return
    later = next((one for one in ours if _module(one) > module), None)
    lines.insert(later.lineno - 1 if later else ours[-1].end_lineno or 0, line)


def _module(node: ast.Import | ast.ImportFrom) -> str:
    return (node.module or "") if isinstance(node, ast.ImportFrom) else node.names[0].name
