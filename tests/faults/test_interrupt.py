"""Ctrl-C: it ends what runs, and what was done is kept."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import children
import numpy as np
import pytest
from processes import LIMIT, printed

pytestmark = pytest.mark.skipif(os.name != "posix", reason="sends SIGINT")

BEGIN = """
import os
import numpy as np, mbkern as mb
from interrupts import ctrl_c
"""

# sixteen chunks of about half a second; ctrl-C comes in the third or so
ENSEMBLE = BEGIN + """
system = mb.System(mb.zoo.chain(3), "emh-ldl")
states = np.random.default_rng(0).normal(size=(128, 3)), np.zeros((128, 3))
options = dict(integrator="rk4", step=1e-3, chunk=8, threads=1)
mb.ensemble.run(system, states, (0.0, 1e-2), **options)  # compiles
"""


def test_the_command_line_writes_what_is_done_and_exits_with_130(tmp_path):
    command = [sys.executable, "-u", "-m", "mbkern", "simulate", "chain:5", "--time", "1e7", "--frames", "11",
               "--no-picture", "--out", "part.npz"]
    with subprocess.Popen(command, cwd=tmp_path, env=os.environ | {"PYTHONPATH": children.FOLDERS}, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        try:
            assert "method" in process.stdout.readline() + process.stdout.readline()
            time.sleep(2.0)
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=LIMIT)
        finally:
            process.kill()
    assert process.returncode == 130 and "Traceback" not in err
    if "interrupted at t" in out:  # else the kernels were still on their way from the cache
        assert np.load(tmp_path / "part.npz")["t"].size >= 1


def test_a_study_of_times_ends():
    assert printed(BEGIN + """
from mbkern.flops.scaling import integration
integration(mb.zoo.chain(3), "emh-ldl", 1e-2)  # compiles
try:
    with ctrl_c(0.5, watched=False):
        for _ in range(3):
            integration(mb.zoo.chain(3), "emh-ldl", 20.0)()
        while True:
            integration(mb.zoo.chain(3), "emh-ldl", 1e9)
except KeyboardInterrupt:
    print("ended")
""") == "ended"


@pytest.mark.parametrize("client", ["None", "ThreadPoolExecutor(1)"])
def test_an_ensemble_keeps_what_is_done_and_begins_nothing_new(client):
    found = printed(ENSEMBLE + f"""
from concurrent.futures import ThreadPoolExecutor
with ctrl_c(1.5):
    solution = mb.ensemble.run(system, states, (0.0, 100.0), client={client}, **options)
print(len(solution), solution.message(0), "|", solution.message(127), "|", np.isnan(solution.q[-1, -1]).all())
os._exit(0)
""")
    assert found.startswith("128 state 0 reached the end")
    assert found.endswith("state 127 stopped at t = 0 s: interrupted | True")


def test_a_stream_yields_what_is_done_and_raises():
    found = printed(ENSEMBLE + """
sizes = []
try:
    with ctrl_c(1.5):
        for part in mb.ensemble.run(system, states, (0.0, 100.0), stream=True, **options):
            sizes.append(len(part.solution))
except KeyboardInterrupt:
    print("raised", 0 < len(sizes) < 16)
""")
    assert found == "raised True"
