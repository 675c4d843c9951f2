"""Which views there are, and what they say of themselves, as the application declares them."""

from collections.abc import Mapping

from verdict.configuration.settings import Settings
from verdict.projection.declared import first_versions
from verdict.projection.described import View
from verdict.projection.processor_tables import views_of
from verdict.reading.reader import Access, role_of


def views_for(settings: Settings, sees: Access) -> Mapping[str, View]:
    """Return the views that somebody may select from, by their names, sorted.

    Args:
        settings: As for `open_reader`.
        sees: How much.
    """
    every, role = views_of(first_versions(settings.application)), role_of(settings, sees)
    return {name: every[name] for name in settings.roles.open_to(role, [*every])}
