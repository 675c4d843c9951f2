"""Which views there are, and what they say of themselves, as the application declares them."""

from collections.abc import Mapping

from verdict.adapters.sql.readers.reader import Access, role_of
from verdict.read_side.catalog import first_versions
from verdict.read_side.projections.described import View
from verdict.read_side.tables.processor_tables import views_of
from verdict.settings.settings import Settings


def views_for(settings: Settings, sees: Access) -> Mapping[str, View]:
    """Return the views that somebody may select from, by their names, sorted."""
    every, role = views_of(first_versions(settings.application)), role_of(settings, sees)
    return {name: every[name] for name in settings.roles.open_to(role, [*every])}
