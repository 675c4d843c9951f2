"""Where a life of the decider lies on disk: its checkpoint, and what that began with.

Every recovery begins a new generation in a directory of its own, so the former one stays as it
was until the progress record names the new one: that single record decides which directory is used.
"""

import json
from collections.abc import Container, Iterable
from pathlib import Path

from verdict.adapters.spark.checkpoint_errors import DamagedCheckpointError
from verdict.adapters.storage.folders import flush, remove, write_whole
from verdict.model.application import Application
from verdict.streaming.exactly_once.checkpoint import CheckpointPosition
from verdict.streaming.exactly_once.checkpoint_files import exists
from verdict.streaming.exactly_once.resume import FIRST_GENERATION
from verdict.wire.catalog import catalog_of
from verdict.wire.progress_record import ProgressRecord
from verdict.write_side.decide.snapshot import form_of
from verdict.write_side.decider.manifest import check_manifest, manifest

FOLDER = "decider"
NAME = "generation-"
SHARD = "shard="  # as Spark names the directories of a partitioned table


class Generation:
    """One life of the decider on this data directory.

    Args:
        data_dir: Of the service.
        number: As in the progress record.
    """

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
        """Whether the whole recovered state lies here for a fresh checkpoint."""
        return exists(self._complete)

    def seeds(self, position: CheckpointPosition) -> list[tuple[int, str]]:
        """Return (shard, file) of all that the checkpoint has yet to take in.

        Batch 0 takes it in, so it is kept until Spark is done with that one.

        Raises:
            DamagedSeedError: Some of it is not as the recovery wrote it.
        """
        if not self.seeded or _has_begun(position):
            return []
        files = self._seed_files()
        check_manifest(self._complete, self.seed, files)
        return [(int(file.parent.name.removeprefix(SHARD)), str(file)) for file in files]

    def clear(self) -> None:
        """Remove all of it: what an interrupted recovery left."""
        remove(self.folder)
        self.folder.mkdir(parents=True, exist_ok=True)

    def complete(self, application: Application, **counts: int) -> None:
        """Say that the seed is whole, and of what it consists, after it is safely on the disk."""
        self.note_formats(application)
        flush((*self.seed.rglob("*"), self.seed, self.folder))
        write_whole(self._complete, manifest(self.seed, self._seed_files(), **counts))
        flush((self._all, self._all.parent))

    def _seed_files(self) -> list[Path]:
        return sorted(self.seed.glob(f"{SHARD}*/*.parquet"))

    def others(self) -> list[Path]:
        """Return the folders of all other generations."""
        return [other for other in self._all.glob("*") if other != self.folder]

    def tidy(self, position: CheckpointPosition, former: Iterable[Path]) -> None:
        """Remove what this generation, which has started, will never need again."""
        for other in former:
            remove(other)
        if self.seeded and _has_begun(position):
            self._complete.unlink()
            remove(self.seed)

    def note_formats(self, application: Application) -> None:
        """Write down in which formats the rules store snapshots, for `outdated`."""
        self.folder.mkdir(parents=True, exist_ok=True)
        write_whole(self._formats, json.dumps(snapshot_formats(application)))

    def outdated(self, application: Application, decided: Container[str] = ()) -> list[str]:
        """Return the aggregates whose stored snapshots the rules of today cannot read."""
        if not exists(self._formats):
            return []
        try:
            stored: dict[str, str | int] = json.loads(self._formats.read_text())
        except ValueError as error:
            raise DamagedCheckpointError(
                f"{self._formats} is damaged ({error}): restore the data directory as it was, or "
                "rebuild the state from Kafka with `verdict recover`"
            ) from error
        now = snapshot_formats(application)
        lacking = [name for name in now if name in decided and name not in stored]
        changed = [name for name in now.keys() & stored if not _is_form(stored[name], now[name])]
        return sorted((*lacking, *changed))


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


def _is_form(stored: str | int, now: str) -> bool:
    """Tell whether snapshots are as now; a number is all that was noted once."""
    return stored == now or (isinstance(stored, int) and now.startswith(f"{stored} "))


def _has_begun(position: CheckpointPosition) -> bool:
    """Whether Spark is done with batch 0."""
    last = position.last
    return last is not None and (last.batch_id > 0 or position.committed)
