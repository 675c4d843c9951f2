"""Files of outputs: each owner has its own, and none removes those of who came after it."""

from pathlib import Path

from verdict.streaming.exactly_once.outputs import Outputs


def written(outputs: Outputs) -> Path:
    """Return a file of these outputs."""
    outputs.folder.mkdir(parents=True)
    file = outputs.folder / "a.chunk"
    file.touch()
    return file


def test_an_owner_removes_what_the_one_before_left(tmp_path: Path) -> None:
    left = written(Outputs(tmp_path))
    owner = Outputs(tmp_path)
    own = written(owner)

    owner.clear()

    assert not left.exists()
    assert not own.exists()


def test_one_that_was_fenced_and_wakes_up_leaves_alone_what_its_successor_has(
    tmp_path: Path,
) -> None:
    fenced = Outputs(tmp_path)
    own, theirs = written(fenced), written(Outputs(tmp_path))

    fenced.clear()

    assert not own.exists()
    assert theirs.exists()
