"""Nobody waits without a word: the line before compiling, when it comes, and warmup by name."""

import io
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import mbkern as mb
from mbkern import waits
from mbkern.errors import MethodError, StateError
from mbkern.operations import OPERATIONS

ROOT = Path(__file__).parents[1]
# compiles one operation; a chain of one hinge
PROGRAM = """
import mbkern as mb
system = mb.System(mb.zoo.chain(1))
system.mass_matrix([0.1])
system.mass_matrix([0.2])
print("done")
"""


def run(folder, **environment):
    return subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=300, check=True,
                          env=dict(os.environ, PYTHONPATH=str(ROOT), NUMBA_CACHE_DIR=str(folder), **environment))


@pytest.mark.slow
def test_one_line_at_the_first_call_on_a_machine_and_none_for_programs(tmp_path):
    first = run(tmp_path, MBKERN_ANNOUNCE="on")
    assert first.stdout == "done\n"
    assert first.stderr == waits.line("mass_matrix", waits.SECONDS["mass_matrix"][0]) + "\n"
    assert run(tmp_path, MBKERN_ANNOUNCE="on").stderr == ""  # it is on disk now


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_who_is_told(monkeypatch):
    monkeypatch.setattr(waits, "_setting", "auto")
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    assert not waits.wanted()  # a program whose standard error goes elsewhere
    monkeypatch.setattr(sys, "stderr", None)
    assert not waits.wanted()
    monkeypatch.setattr(sys, "stderr", Terminal())
    assert waits.wanted()
    monkeypatch.setattr(waits.multiprocessing, "parent_process", lambda: object())
    assert not waits.wanted()  # a worker
    monkeypatch.undo()
    monkeypatch.setattr(waits, "_setting", "auto")
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    monkeypatch.setattr(waits.builtins, "__IPYTHON__", True, raising=False)
    assert waits.wanted()
    mb.announce_compiling("off")
    assert not waits.wanted()


def test_settings_are_checked():
    with pytest.raises(StateError, match="when: expected one of auto, on, off, got 'loud'"):
        mb.announce_compiling("loud")


def said(monkeypatch, name, seconds):
    stream = io.StringIO()
    monkeypatch.setattr(waits, "_setting", "on")
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setitem(waits.SECONDS, name, (seconds, seconds))
    with waits.task(name):
        waits._compiling()
        with waits.task("something inside"):
            waits._compiling()
    waits._compiling()  # nobody has asked for this
    return stream.getvalue()


def test_once_for_what_was_asked_for_and_not_for_short_waits(monkeypatch):
    assert said(monkeypatch, "simulate_batch", 12.6) == waits.line("simulate_batch", 12.6) + "\n"
    assert "about 13 s" in waits.line("simulate_batch", 12.6)
    assert said(monkeypatch, "simulate_batch", 0.9) == ""


def test_every_wait_has_a_measured_time():
    names = {"rhs", "rhs_batch", "simulate", "dopri5", "gauss4", "stepper", "simulate_batch", "accelerations"}
    assert names | set(OPERATIONS) <= set(waits.SECONDS)
    assert all(0.1 < seconds < 100.0 for pair in waits.SECONDS.values() for seconds in pair)


def test_before_the_right_hand_side_a_run_takes_longer(monkeypatch):
    system = mb.System(mb.zoo.chain(2)).warmup()
    monkeypatch.setitem(waits.SECONDS, "dopri5", (9.0, 11.0))
    monkeypatch.setitem(waits.SECONDS, "rhs", (4.0, 5.0))
    assert waits._Task("dopri5", system).seconds() == 9.0
    monkeypatch.setattr(type(system.binding), "ready", False)
    assert waits._Task("dopri5", system).seconds() == 13.0
    assert waits._Task("rhs", system).seconds() == 4.0 and waits._Task("gauss4", system).seconds() == 13.0
    monkeypatch.setattr(type(system.binding), "ready_on_lanes", False)
    both = waits.SECONDS["simulate_batch"][0] + waits.SECONDS["rhs_batch"][0]
    assert waits._Task("simulate_batch", system).seconds() == pytest.approx(both)
    ball = mb.ModelBuilder()
    ball.add_body("bob", joint=mb.ball(), mass=1.0, com=(0, 0, 1), inertia=(1, 1, 1))
    other = mb.System(ball.build())
    assert waits._Task("mass_matrix", other).seconds() == waits.SECONDS["mass_matrix"][1]


def test_warmup_by_name():
    system = mb.System(mb.zoo.chain(2))
    assert system.warmup("simulate", "rk4", "momenta", "rhs_batch") is system
    before = len(system._calls), len(system.binding.runs["dopri5"]), len(system.binding.runs["rk4"])
    assert before[1:] == (1, 1)
    system.simulate([0.1, 0.2], [0.0, 0.0], (0.0, 0.1))
    system.momenta(np.zeros(2), np.zeros(2))
    assert (len(system._calls), len(system.binding.runs["dopri5"])) == before[:2]  # nothing new was needed


@pytest.mark.parametrize(("name", "nearest"), [("simulat", "simulate"), ("mass_matrix_bach", "mass_matrix_batch")])
def test_warmup_knows_the_nearest_name(name, nearest):
    with pytest.raises(MethodError, match=f"got '{name}'; the nearest is '{nearest}'"):
        mb.System(mb.zoo.chain(2)).warmup("rhs", name)
