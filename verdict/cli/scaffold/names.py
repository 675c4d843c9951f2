"""Names that users choose: which are possible, and what is made of them."""

import builtins
import keyword
import re
import sys
from importlib.util import find_spec
from pathlib import Path

from verdict.errors import VerdictError

LONGEST = 30
NAME = re.compile(rf"[a-z][a-z0-9_]{{0,{LONGEST - 1}}}")
# the modules that are written use these, as names or as classes
IN_USE = {
    "aggregate", "app", "command", "decide", "event", "evolve", "given", "happened", "message",
    "projection", "recorded", "refused", "row", "text", "using",
}  # fmt: skip


class InvalidNameError(VerdictError):
    """No file can be written for this name."""

    exit_code = 2


def require_valid_name(what: str, name: str) -> None:
    """Return if modules, classes and values can have this name.

    Raises:
        InvalidNameError: It is no identifier in lower case, too long, or has a meaning already.
    """
    if not NAME.fullmatch(name):
        raise InvalidNameError(
            f"{what} {name!r} cannot have this name: take a letter, then at most {LONGEST - 1} "
            "more letters, digits and _, all in lower case, such as gift_card"
        )
    if keyword.iskeyword(name) or hasattr(builtins, name):
        raise InvalidNameError(f"{what} {name!r} cannot have this name: Python uses it")
    if name in IN_USE:
        raise InvalidNameError(
            f"{what} {name!r} cannot have this name: the files that are written use it"
        )


def require_free_module(name: str) -> None:
    """Return if a package of this name in the working directory hides no other module.

    Raises:
        InvalidNameError: The standard library or an installed package has this name.
    """
    if name in sys.stdlib_module_names:
        raise InvalidNameError(
            f"application {name!r} cannot have this name: it would hide Python's own module {name}"
        )
    spec = find_spec(name)
    places = (
        [*filter(None, (spec.origin, *(spec.submodule_search_locations or ())))] if spec else []
    )
    if elsewhere := [one for one in places if not Path(one).is_relative_to(Path.cwd() / name)]:
        raise InvalidNameError(
            f"application {name!r} cannot have this name: it would hide the installed module "
            f"{name} ({elsewhere[0]})"
        )


def class_name(name: str) -> str:
    """Return `GiftCard` of `gift_card`."""
    return "".join(word.capitalize() for word in name.split("_"))


def words_of(name: str) -> str:
    """Return `gift card` of `gift_card`."""
    return " ".join(filter(None, name.split("_")))
