"""Who follows whom, drawn from the application, so that it says what the application does."""

from verdict.application import current
from verdict.configuration.settings import Settings
from verdict.projection.declared import projections


def followers(settings: Settings) -> list[tuple[str, dict[str, list[str]]]]:
    """Return who follows each aggregate's events, as the application declares it."""
    app, topics = current(), settings.topics
    models = projections(settings.chosen)
    return [
        (
            kind,
            {
                "commands": sorted(app.aggregate(kind).command_types),
                "events": sorted(app.aggregate(kind).event_types),
                "policies": [one.name for one in app.policies if kind in one.follows],
                "told to others": [one.name for one in app.notifications if kind in one.follows],
                "read models": [
                    one.name for one in models if topics.events(kind) in one.topics(topics)
                ],
            },
        )
        for kind in app.aggregate_types
    ]
