"""A new application: a package with the folders that all have, and a first aggregate in it."""

from pathlib import Path

from verdict.cli.scaffold.aggregate import aggregate
from verdict.cli.scaffold.files import render, write
from verdict.cli.scaffold.names import require_free_module, require_valid_name
from verdict.cli.scaffold.place import Target

FOLDERS = {
    "": "An application on verdict.",
    "schemas": "What happened: events, and their Avro files.",
    "commands": "What may be asked.",
    "aggregates": "The rules.",
    "projections": "What is known: read models.",
    "compose": "All of it, put together.",
    "tests": "What it does, as tests say it.",
}


def application(name: str, first: str) -> list[Path]:
    """Write an application into the working directory; return its files.

    Raises:
        InvalidNameError: It or its aggregate cannot be called so.
        FileExistsAlreadyError: One of its files is there.
    """
    require_valid_name("application", name)
    require_free_module(name)
    place = Target(Path.cwd(), f"{name}.compose.application", "app")
    part = aggregate(place, first)
    imported, _ = part.lines
    package = place.folder / name
    texts = {
        package / folder / "__init__.py": f'"""{about}"""\n' for folder, about in FOLDERS.items()
    }
    texts |= {
        place.folder / "verdict.toml": render("verdict.toml", name=name),
        place.file: render("application.py", name=name, aggregate=first, imported=imported),
        **part.files,
    }
    if not (unversioned := place.folder / ".gitignore").exists():
        texts[unversioned] = render("gitignore")
    write(texts)
    return [*texts]
