"""Which exchanges count as US, and how tables say with which of them they were filled."""

from collections.abc import Collection, Mapping

US_EXCHANGES = ("NASDAQ", "NYSE", "NYSE American", "NYSE Arca", "Cboe BZX", "IEX")
SETTINGS = "US exchanges: "


def settings_with(exchanges: Collection[str]) -> str:
    """Return in words what the tables depend on besides the events."""
    return SETTINGS + ", ".join(sorted(exchanges))


def built_with(settings: str) -> Mapping[str, object]:
    """Return the setting that tables were built with, by what they say of it."""
    if not settings.startswith(SETTINGS):
        return {}
    return {"us_exchanges": tuple(settings.removeprefix(SETTINGS).split(", "))}
