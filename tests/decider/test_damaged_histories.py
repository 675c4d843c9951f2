"""C-04, C-17: what recovery does about damaged histories, against a model that knows the truth."""

from collections import Counter
from random import Random

import pytest

from tests.decider.damaged import World
from verdict.model.reason import Reason


def lived(seed: int) -> Counter[str]:
    """Let a world be damaged, recovered, restored and used; return how often what happened."""
    random = Random(seed)
    world, seen = World(random), Counter[str]()
    for _ in range(40):
        act = random.choice(["send"] * 4 + ["again", "damage", "skip", "restore", "recover"])
        if act == "send":
            send(world, seen)
        elif act == "again" and world.answers:
            send_again(world, random.choice([*world.answers]))
        elif act in ("damage", "skip", "restore"):
            for _ in range(random.choice([1, 1, 3])):
                getattr(world, act)()
            recover(world, seen)
        else:
            recover(world, seen)
    return seen


def recover(world: World, seen: Counter[str]) -> None:
    """Recover, and compare with what the model knows."""
    was_quarantined = world.quarantine is not None
    expected = world.is_whole

    is_whole = world.recover()

    assert is_whole == expected
    assert (world.quarantine is None) == is_whole
    if is_whole:
        assert world.snapshot.version == len(world.truth), "no version is lost or invented"
    seen["lifted" if was_quarantined and is_whole else "whole" if is_whole else "damaged"] += 1


def send(world: World, seen: Counter[str]) -> None:
    """Send a new command: a quarantined aggregate rejects it, any other goes on."""
    before = len(world.truth)

    answer = world.send()

    if world.snapshot.quarantined:
        assert (answer.reason, len(world.truth)) == (Reason.QUARANTINED, before)
        assert (answer.from_version, answer.to_version, answer.last_hash) == (None, None, None)
        seen["rejected"] += 1
    else:
        assert (answer.reason, answer.to_version) == (None, before + 1)


def send_again(world: World, command_id: str) -> None:
    """Send a known command again: its first outcome counts, quarantined or not.

    While the history is damaged, events do not stand in for a response that is lost.
    """
    before, first = len(world.truth), world.answers[command_id]
    is_known = world.knows(command_id)

    answer = world.send(command_id)

    if not is_known and answer.reason is Reason.QUARANTINED:
        assert len(world.truth) == before
        return
    assert (answer.duplicate, len(world.truth)) == (True, before)
    assert (answer.status, answer.to_version) == (first.status, first.to_version)
    assert answer.event_ids == first.event_ids


@pytest.mark.proves("C-04", "C-17")
@pytest.mark.parametrize(
    "seeds", [range(80), pytest.param(range(1000, 1500), marks=pytest.mark.long)], ids=str
)
def test_no_version_is_lost_invented_or_given_twice_whatever_is_damaged(seeds: range) -> None:
    seen = Counter[str]()
    for seed in seeds:
        try:
            seen += lived(seed)
        except BaseException as error:
            error.add_note(f"seed {seed}")
            raise

    assert min(seen[what] for what in ("whole", "damaged", "lifted", "rejected")) > len(seeds) / 4
