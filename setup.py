"""What every command passes through can be compiled; without, the same `.py` files run.

`MYPYC=1` asks for it, as `make wheel` does. The modules go through mypyc as they are
(https://mypyc.readthedocs.io); tests/test_compiled.py holds that they do the same.
"""

import os

from setuptools import setup

COMPILED = (
    "verdict/decision/answering.py",
    "verdict/decision/consulting.py",
    "verdict/decision/handle.py",
    "verdict/decision/received.py",
    "verdict/decision/recording.py",
    "verdict/decision/snapshot.py",
    "verdict/model/digest.py",
    "verdict/operator/batch.py",
    "verdict/operator/chunk.py",
    "verdict/operator/entries.py",
    "verdict/operator/output.py",
    "verdict/wire/avro_pieces.py",
    "verdict/wire/avro_reader.py",
    "verdict/wire/avro_writer.py",
    "verdict/wire/commands.py",
    "verdict/wire/sliced_envelope.py",
    "verdict/wire/sound_commands.py",
)

if os.environ.get("MYPYC"):
    from mypyc.build import mypycify

    setup(ext_modules=mypycify([*COMPILED], opt_level="3", debug_level="0"))
else:
    setup()
