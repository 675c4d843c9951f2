"""The directory of a generation: the decider's checkpoint, and the seed that it began with.

Every recovery begins a new generation in a directory of its own. The former one stays as it was
until the progress names the new one: that single record decides which directory is used. The seed
has a list of its files with their hashes: without a file, or with another one, aggregates would
begin again at version 0.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from verdict.adapters.spark.errors import DamagedCheckpointError
from verdict.adapters.storage.folders import flush, remove, write_whole
from verdict.errors import ABSENT, VerdictError
from verdict.model.application import Application
from verdict.streaming.exactly_once.checkpoint import CheckpointPosition, exists
from verdict.streaming.exactly_once.resume_checks import FIRST_GENERATION
from verdict.wire.catalog import catalog_of
from verdict.wire.progress_record import ProgressRecord
from verdict.write_side.decide.snapshot import form_of

FOLDER = "decider"
NAME = "generation-"
SHARD = "shard="  # as Spark names the directories of a partitioned table

SHOWN = 3  # differing files


class DamagedSeedError(VerdictError):
    """The recovered state that a fresh checkpoint is to begin with is not as it was written."""


class Generation:
    """One generation of the decider's state in a data directory."""

    def __init__(self, data_dir: Path, number: int) -> None:
        self.number = number
        self._all = data_dir.absolute() / FOLDER
        self.folder = self._all / f"{NAME}{number}"
        self.checkpoint = self.folder / "checkpoint"
        self.seed = self.folder / "seed"
        self._complete = self.folder / "seed.complete"
        self._formats = self.folder / "snapshot-formats.json"

    @property
    def seeded(self) -> bool:
        """Whether the whole recovered state is here for a fresh checkpoint."""
        return exists(self._complete)

    def seeds(self, position: CheckpointPosition) -> list[tuple[int, str]]:
        """Return (shard, file) of the seed that batch 0 has yet to take in, if it is whole."""
        if not self.seeded or _has_begun(position):
            return []
        found = self._digests()
        self._check_seed(found)
        shards = (int(name.partition("/")[0].removeprefix(SHARD)) for name in found)
        return [(shard, str(self.seed / name)) for shard, name in zip(shards, found, strict=True)]

    def clear(self) -> None:
        """Remove what an interrupted recovery left."""
        remove(self.folder)
        self.folder.mkdir(parents=True, exist_ok=True)

    def complete(self, application: Application) -> None:
        """Mark the seed as whole, with the hashes of its files, once it is safely on the disk."""
        self.note_formats(application)
        flush((*self.seed.rglob("*"), self.seed, self.folder))
        write_whole(self._complete, json.dumps(self._digests()))
        flush((self._all, self._all.parent))

    def _check_seed(self, found: Mapping[str, str]) -> None:
        try:
            written = json.loads(self._complete.read_text())
        except (*ABSENT, ValueError) as error:
            problems = [f"{self._complete.name} cannot be read ({type(error).__name__})"]
        else:
            problems = [
                f"{name} is {'not what was written' if name in found else 'missing'}"
                for name in sorted(written.keys() | found.keys())
                if written.get(name) != found.get(name)
            ]
        if problems:
            more = f" and {len(problems) - SHOWN} more" if len(problems) > SHOWN else ""
            raise DamagedSeedError(
                f"the recovered state in {self.seed} is not as it was written: "
                f"{'; '.join(problems[:SHOWN])}{more}: aggregates would begin at version 0 again; "
                "run `verdict recover` again"
            )

    def _digests(self) -> dict[str, str]:
        """Return the SHA-256 of each file of the seed by its name, sorted."""
        files = sorted(self.seed.glob(f"{SHARD}*/*.parquet"))
        return {str(file.relative_to(self.seed)): _sha256(file) for file in files}

    def others(self) -> list[Path]:
        """Return the folders of all other generations."""
        return [other for other in self._all.glob("*") if other != self.folder]

    def tidy(self, position: CheckpointPosition, former: Iterable[Path]) -> None:
        """Remove what this generation, which has started, does not need any more."""
        for other in former:
            remove(other)
        if self.seeded and _has_begun(position):
            self._complete.unlink()
            remove(self.seed)

    def note_formats(self, application: Application) -> None:
        """Write down the formats of snapshots, for `outdated`."""
        self.folder.mkdir(parents=True, exist_ok=True)
        write_whole(self._formats, json.dumps(snapshot_formats(application)))

    def outdated(self, application: Application) -> list[str]:
        """Return the aggregates whose stored snapshots today's rules cannot read."""
        if not exists(self._formats):
            return []
        try:
            stored: dict[str, str] = json.loads(self._formats.read_text())
        except ValueError as error:
            raise DamagedCheckpointError(
                f"{self._formats} is damaged ({error}): restore the data directory as it was, or "
                "rebuild the state from Kafka with `verdict recover`"
            ) from error
        now = snapshot_formats(application)
        return sorted(name for name in now.keys() & stored if stored[name] != now[name])


def generation_of(data_dir: Path, progress: ProgressRecord | None) -> Generation:
    """Return the generation that `progress` names; without one, the first."""
    return Generation(data_dir, FIRST_GENERATION if progress is None else progress.generation)


def newest_generation(data_dir: Path) -> int:
    """Return the greatest number that was ever used here, the first at least."""
    there = (data_dir.absolute() / FOLDER).glob(f"{NAME}*")
    numbers = (one.name.removeprefix(NAME) for one in there)
    return max((int(number) for number in numbers if number.isdecimal()), default=FIRST_GENERATION)


def snapshot_formats(application: Application) -> dict[str, str]:
    """Return the form of every aggregate's snapshots."""
    return {context.name: form_of(context) for context in catalog_of(application)}


def _has_begun(position: CheckpointPosition) -> bool:
    """Whether Spark is done with batch 0."""
    last = position.last
    return last is not None and (last.batch_id > 0 or position.committed)


def _sha256(file: Path) -> str:
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()
