"""Loads applications by their path, `MODULE:NAME`, and lets them be pickled as it.

An application holds functions, which cannot be pickled. Workers get its path, load it once and
compile its codecs once.
"""

import copyreg
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from verdict.errors import VerdictError
from verdict.model.application import Application
from verdict.wire.catalog import AggregateContext, catalog_of
from verdict.wire.error_text import error_text


class ApplicationNotFoundError(VerdictError):
    """There is no application, or it cannot be loaded."""

    exit_code = 2


class NoApplicationHereError(ApplicationNotFoundError):
    """No application is named, and the working directory has none."""

    def __init__(self) -> None:
        super().__init__(
            f"there is no application: {Path.cwd()} has no compose/application.py; name yours as "
            "MODULE:NAME with --app, VERDICT_APP or `app` in verdict.toml, or write one with "
            "`verdict new application NAME`"
        )


_paths: dict[Application, str] = {}  # of what was loaded here


def load_application(path: str) -> Application:
    """Import an application, from the working directory too.

    Raises:
        ApplicationNotFoundError: There is none at `path`, or it cannot be loaded.
        InvalidApplicationError: It cannot be as it is declared.
    """
    module, colon, name = path.partition(":")
    if not (module and colon and name) or not all(map(str.isidentifier, module.split("."))):
        raise ApplicationNotFoundError(f"{path!r} names no application: write it as MODULE:NAME")
    look_in_the_working_directory()
    try:
        found = getattr(import_module(module), name, None)
    except VerdictError:
        raise
    except Exception as error:  # somebody else's code
        raise ApplicationNotFoundError(
            f"the application {path} cannot be loaded: {error_text(error)}"
        ) from error
    if not isinstance(found, Application):
        what = "is not there" if found is None else f"is a {type(found).__name__}"
        raise ApplicationNotFoundError(f"{path} {what}: it must be a verdict.Application")
    _paths[found] = path
    return found


def path_of(application: Application) -> str:
    """Return the path under which another process can import an application."""
    if (known := _paths.get(application)) is not None:
        return known
    module = application.module
    for name, value in vars(sys.modules.get(module, object)).items():
        if value is application and module != "__main__":
            return f"{module}:{name}"
    raise ApplicationNotFoundError(
        f"the application {application.name!r} cannot be imported by another process: assign it "
        f"to a name at the top level of the module that makes it (it was made in {module})"
    )


def is_in_the_working_directory(module: str) -> bool:
    """Tell whether a module would be imported from the working directory."""
    look_in_the_working_directory()
    try:
        spec = find_spec(module)
    except ModuleNotFoundError:  # not even its package
        return False
    return bool(spec and spec.origin and Path(spec.origin).is_relative_to(Path.cwd()))


def look_in_the_working_directory() -> None:
    """Let modules be found in the working directory, as for `python -m`."""
    if (here := str(Path.cwd())) not in sys.path:
        sys.path.insert(0, here)


def _load_context(path: str, aggregate_type: str) -> AggregateContext:
    return catalog_of(load_application(path))[aggregate_type]


copyreg.pickle(Application, lambda one: (load_application, (path_of(one),)))
copyreg.pickle(AggregateContext, lambda one: (_load_context, (path_of(one.application), one.name)))
