"""What every command passes through can be compiled; without, the same `.py` files run.

`MYPYC=1` asks for it, as `make wheel` does. The modules go through mypyc as they are
(https://mypyc.readthedocs.io); tests/test_compiled.py holds that they do the same.
"""

import os

from setuptools import setup

COMPILED = (
    "verdict/write_side/decide/respond.py",
    "verdict/write_side/decide/command_checks.py",
    "verdict/write_side/decide/parse.py",
    "verdict/write_side/decide/event_encoding.py",
    "verdict/write_side/decide/snapshot.py",
    "verdict/write_side/decide/digest.py",
    "verdict/write_side/processor/batch.py",
    "verdict/streaming/exactly_once/output_chunks.py",
    "verdict/write_side/state/entries.py",
    "verdict/write_side/processor/outputs.py",
    "verdict/wire/avro/reader.py",
    "verdict/wire/avro/writer.py",
    "verdict/wire/commands.py",
    "verdict/wire/command_record.py",
    "verdict/wire/avro/envelope.py",
)

if os.environ.get("MYPYC"):
    from mypyc.build import mypycify

    setup(ext_modules=mypycify([*COMPILED], opt_level="3", debug_level="0"))
else:
    setup()
