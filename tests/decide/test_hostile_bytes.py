"""C-11, the decoders: no bytes crash them, stall them, or take more memory than a multiple."""

import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

from tests.application import receive
from tests.decide.desk import command_record
from tests.hostile import KINDS
from tests.model import Record
from tests.tiers import examples, the_first_of
from verdict.wire.dead_letter import DeadLetter
from verdict.wire.response import Response

ROOT = Path(__file__).parents[2]


@pytest.mark.proves("C-11")
@pytest.mark.process
@pytest.mark.parametrize("seed", the_first_of(1, 2, 3))
@pytest.mark.long
def test_hostile_bytes_take_neither_the_process_nor_its_memory_nor_its_time(seed: int) -> None:
    command = [sys.executable, "-m", "tests.decide.devour", str(seed), str(examples(2000))]

    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)

    assert done.returncode == 0, f"ended with {done.returncode}: {done.stderr[-2000:]}"


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_hostile_record_is_refused_or_kept(kind: str) -> None:
    random = Random(kind)
    for _ in range(20):
        key, value = KINDS[kind](random)
        record = command_record(Record("order.commands", 3, 14, 1, key, value))

        received = receive("order", record)

        if kind == "flipped Avro" and not isinstance(received, DeadLetter | Response):
            continue  # what was flipped is a text: sound, and refused as of no order
        assert isinstance(received, DeadLetter | Response)
