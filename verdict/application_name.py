"""Which application is wanted, as `MODULE:NAME`; light, for those who do not load it."""

import os
from pathlib import Path

VARIABLE = "VERDICT_APP"
TOML = "verdict.toml"
DOTENV = ".env"
IN_A_CHECKOUT = "compose.application:app"


def named() -> str | None:
    """Return what is said of which application is wanted: in the environment, `.env` or TOML."""
    return os.environ.get(VARIABLE) or _in_dotenv() or _in_toml()


def _in_dotenv() -> str | None:
    if not Path(DOTENV).exists():
        return None
    from dotenv import dotenv_values  # which takes longer to load than all of this

    return dotenv_values(DOTENV).get(VARIABLE)


def _in_toml() -> str | None:
    from tomllib import loads

    try:
        found = loads(Path(TOML).read_text()).get("app")
    except (OSError, ValueError):  # who reads the settings says what is wrong with it
        return None
    return found if isinstance(found, str) else None
