"""The command line: one module per verb, loaded when it is called.

A verb of an application takes its settings by `settings_of`.
"""

from typing import TYPE_CHECKING

from verdict.lazy_imports import load_lazily

if TYPE_CHECKING:
    from verdict.cli.options import settings_of

__all__ = ["settings_of"]

if not TYPE_CHECKING:  # it reads the imports above
    __getattr__, __dir__ = load_lazily(__name__)
