"""A data directory for one run, and settings that nothing outside can change."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pydantic_settings import SettingsConfigDict

from verdict import Settings, VerdictError


class DefaultSettings(Settings):
    """The defaults: an environment that names a real Kafka must not get the demo's commands."""

    model_config = SettingsConfigDict(toml_file=None, env_file=None)

    @classmethod
    def settings_customise_sources(cls, *args: Any, **sources: Any) -> tuple[Any, ...]:
        """Return the arguments of the call as the only source."""
        return (sources["init_settings"],)


@contextmanager
def data_directory(keep: Path | None) -> Iterator[Path]:
    """Give an empty directory, and remove it at the end.

    Args:
        keep: A directory to use instead; it is new or empty, and stays.

    Raises:
        VerdictError: `keep` holds something.
    """
    if keep is not None:
        if keep.exists() and (not keep.is_dir() or any(keep.iterdir())):
            raise VerdictError(f"{keep} is not empty: name a new directory to keep the data in")
        keep.mkdir(parents=True, exist_ok=True)
        yield keep
        return
    # mkdtemp's names are lower-case, as Spark's sockets want it
    folder = Path(tempfile.mkdtemp(prefix="verdict-demo-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
