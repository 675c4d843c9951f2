"""A part of an address that is any text: slashes and ends of lines are parts of ids, too."""

from starlette.convertors import (  # codespell:ignore convertors
    PathConvertor,
    register_url_convertor,
)


class AnyText(PathConvertor):
    """What Starlette calls a path ends where its first line does."""

    regex = "(?s:.*)"


register_url_convertor("any_text", AnyText())


def any_text(name: str) -> str:
    """Return the last part of a route's path, which is given to its function under this name."""
    return f"{{{name}:any_text}}"
