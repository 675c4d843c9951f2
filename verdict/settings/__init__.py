"""What can be set, where it is set, and whether it can work."""

from typing import TYPE_CHECKING

from verdict.lazy_imports import load_lazily

if TYPE_CHECKING:
    from verdict.settings.application_loader import load_application
    from verdict.settings.parsers import listed

__all__ = ["listed", "load_application"]

IVY_SETTINGS = "VERDICT_IVY_SETTINGS"  # a variable that is read where there are no settings yet

if not TYPE_CHECKING:  # it reads the imports above
    __getattr__, __dir__ = load_lazily(__name__)
