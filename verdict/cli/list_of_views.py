"""Which views there are and what they show; what is asked of one need not wait for that."""

from typing import Any

from verdict.configuration.settings import Settings
from verdict.reading.reader import Sees

Answer = tuple[tuple[str, ...], list[tuple[Any, ...]]]
"""Names of columns, and rows."""


def list_of_views(settings: Settings, sees: Sees) -> Answer:
    """Return the views that somebody may select from, each with a sentence about it."""
    from verdict.projection.described import about_view
    from verdict.reading.views import views_for

    views = views_for(settings, sees)
    return ("view", "about"), [(name, about_view(view)) for name, view in views.items()]


def description(settings: Settings, sees: Sees, name: str) -> Answer | None:
    """Return the columns of a view, None: there is no such view for who sees so much.

    One that says nothing of itself has types only.
    """
    from verdict.projection.described import columns_of
    from verdict.reading.views import views_for

    if (view := views_for(settings, sees).get(name)) is None:
        return None
    return ("column", "type", "about"), [tuple(column) for column in columns_of(view)]
