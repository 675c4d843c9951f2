"""Runs the notebook of `examples/` without Jupyter, and keeps in it what its cells show.

`make reference` writes it; a test compares what is there with what its cells would show.
"""

import ast
import json
from pathlib import Path
from typing import Any

NOTEBOOK = Path(__file__).parents[1] / "examples" / "holders.ipynb"
RICH = {"image/svg+xml": "_repr_svg_", "text/html": "_repr_html_"}


def run(text: str) -> str:
    """Return a notebook with the outputs of its cells, run one after the other in one namespace."""
    notebook = json.loads(text)
    names: dict[str, Any] = {}
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    for number, cell in enumerate(cells, 1):
        value = _value("".join(cell["source"]), names)
        cell["execution_count"] = number
        cell["outputs"] = [] if value is None else [_shown(value, number)]
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"


def _value(source: str, names: dict[str, Any]) -> Any:
    """Run a cell and return the value of its last line, which Jupyter would show."""
    *before, last = ast.parse(source).body
    shown = ast.Expression(last.value) if isinstance(last, ast.Expr) else None
    ran = before if shown else [*before, last]
    exec(compile(ast.Module(ran, []), NOTEBOOK.name, "exec"), names)
    return shown and eval(compile(shown, NOTEBOOK.name, "eval"), names)


def _shown(value: Any, number: int) -> dict[str, Any]:
    rich = {kind: getattr(value, name)() for kind, name in RICH.items() if hasattr(value, name)}
    data = {kind: text.splitlines(keepends=True) for kind, text in rich.items()}
    plain = {"text/plain": repr(value).splitlines(keepends=True)}
    about = {"execution_count": number, "metadata": {}, "output_type": "execute_result"}
    return about | {"data": data | plain}


def write() -> None:
    """Put what its cells show now into the notebook."""
    NOTEBOOK.write_text(run(NOTEBOOK.read_text()))


if __name__ == "__main__":
    write()
