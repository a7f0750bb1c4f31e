"""Reading a wheel takes little memory, whatever lies in it."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import corpus
import pytest

LIMIT = 64 << 10  # KiB above the interpreter with the package imported, mapped pages counted

READ = """
import json, sys
from pathlib import Path
from archcov.binaries.wheel import read_wheel
def peak():
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))
before = peak()
count = sum(1 for _ in read_wheel(Path(sys.argv[1])))
print(json.dumps([count, peak() - before]))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="peak memory is read from /proc")
@pytest.mark.parametrize("wheel", corpus.WHEELS, ids=str)
def test_memory_of_a_whole_wheel(wheel, at_hand, tmp_path, record_property):
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "TMPDIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", READ, str(at_hand(wheel))],
        env=env,
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
    )
    count, peak = json.loads(done.stdout)
    record_property("peak KiB", peak)
    print(f"\n{wheel}: {count} libraries, {peak / 1024:.1f} MiB")
    assert peak < LIMIT
    assert not list(tmp_path.iterdir())
