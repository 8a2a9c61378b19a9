"""Nobody waits without a word: the line before compiling, when it comes, and warmup by name."""

import io
import os
import sys
from pathlib import Path

import children
import numba
import numpy as np
import pytest

import mbkern as mb
from mbkern import waits
from mbkern.errors import MethodError, StateError
from mbkern.operations import CONSTRAINT_OPERATIONS, OPERATIONS

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
    return children.python(PROGRAM, timeout=300, check=True,
                           env=dict(os.environ, PYTHONPATH=str(ROOT), NUMBA_CACHE_DIR=str(folder), **environment))


@pytest.mark.slow
def test_one_line_at_the_first_call_on_a_machine_and_none_for_programs(tmp_path):
    first = run(tmp_path, MBKERN_ANNOUNCE="on")
    assert first.stdout == "done\n"
    assert first.stderr == waits.line("mass_matrix", waits.expected("mass_matrix", "hinges", alone=True)) + "\n"
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
    monkeypatch.setitem(waits.AFTER, name, (seconds, seconds))
    listener = waits._Listener()
    with waits.task(name):
        listener.begin(said, False)
        with waits.task("something inside"):
            listener.begin(said, False)
    listener.begin(said, False)  # nobody has asked for this
    return stream.getvalue()


def test_once_for_what_was_asked_for_and_not_for_short_waits(monkeypatch):
    assert said(monkeypatch, "simulate_batch", 12.6) == waits.line("simulate_batch", 12.6) + "\n"
    assert "about 13 s" in waits.line("simulate_batch", 12.6)
    assert said(monkeypatch, "simulate_batch", 0.9) == ""


def test_the_first_function_of_a_user_is_said(monkeypatch):
    """It takes seconds in each program; later ones about one."""
    stream = io.StringIO()
    monkeypatch.setattr(waits, "_setting", "on")
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(waits, "_first_function", True)
    system = mb.System(mb.zoo.chain(1))
    for push in (numba.njit(lambda t, q, p, out: None), numba.njit(lambda t, q, p, out: None)):
        system.simulate([0.1], [0.0], (0.0, 0.01), tau=push)
    assert [line for line in stream.getvalue().splitlines(True) if "function" in line] == [
        waits.function_line("<lambda>") + "\n"]


def test_what_nobody_asked_for_is_said_after_a_second(monkeypatch):
    """Kernels inside a function of the user, for example: pieces of a second or less that add up."""
    stream, clock = io.StringIO(), [100.0]
    monkeypatch.setattr(waits, "_setting", "on")
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(waits.time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(waits, "_unasked", waits._Unasked())
    listener = waits._Listener()

    def compiled(seconds, function=waits.line, inside=()):
        listener.begin(function, False)
        for each in inside:
            compiled(each)
        clock[0] += seconds
        listener.end()

    compiled(0.9)
    clock[0] += 1.0  # a pause: something else
    compiled(0.9)
    assert stream.getvalue() == ""
    compiled(0.1)
    compiled(0.1)  # more than a second has gone
    compiled(5.0)
    assert stream.getvalue() == waits.longer_line("waits") + "\n"
    clock[0] += 1.0
    compiled(3.0, said, inside=[0.6, 0.6, 0.6])  # a function of the user, in which three of ours are compiled
    assert stream.getvalue() == 2 * (waits.longer_line("waits") + "\n")
    clock[0] += 1.0
    compiled(3.0, said)
    compiled(3.0, said)  # nothing of ours
    assert stream.getvalue().count("\n") == 2


def test_every_wait_has_a_measured_time():
    names = {"rhs", "rhs_batch", "simulate", "dopri5", "gauss4", "stepper", "simulate_batch", "accelerations"}
    assert names <= set(waits.ALONE) == set(waits.AFTER) and set(waits.OPERATION) == set(OPERATIONS)
    assert {"constraints"} <= set(waits.LOOP) <= {"constraints", *names, *waits.ALONE, *CONSTRAINT_OPERATIONS}
    for table in (waits.ALONE, waits.AFTER, waits.OPERATION):
        assert all(0.0 < seconds < 100.0 for pair in table.values() for seconds in pair)
    # to a tenth of a second: the engine of closed loops has compiled what some operations on them call
    assert all(0.0 <= from_disk <= seconds < 100.0 for seconds, from_disk in waits.LOOP.values())
    assert all(waits.LOOP[name][0] > 1.0 for name in ("constraints", "rhs", "dopri5"))


def test_what_is_compiled_already_need_not_be_waited_for(monkeypatch):
    """The first function that is compiled for a task tells: where it is that of everything, nothing is there yet."""
    ball = mb.ModelBuilder()
    ball.add_body("bob", joint=mb.ball(), mass=1.0, com=(0, 0, 1), inertia=(1, 1, 1))
    hinge, other = mb.System(mb.zoo.chain(2)), mb.System(ball.build())
    monkeypatch.setitem(waits.ALONE, "dopri5", (13.0, 23.0))
    monkeypatch.setitem(waits.AFTER, "dopri5", (9.0, 11.0))
    monkeypatch.setitem(waits.OPERATION, "energy", (8.0, 2.0))
    assert [waits._Task("dopri5", system).seconds(alone) for system in (hinge, other) for alone in (True, False)] == [
        13.0, 9.0, 23.0, 11.0]
    assert waits._Task("energy", hinge).seconds(True) == 8.0 and waits._Task("energy", other).seconds(False) == 2.0
    assert waits._Task("of no table", hinge).seconds(False) == waits.USUAL


@pytest.mark.slow
@pytest.mark.parametrize("name", ["momenta", "dopri5", "rhs_batch"])
def test_the_first_function_tells(tmp_path, name):
    """In a new process with nothing on disk, up to the moment in which a wait would be announced."""
    program = f"""
import os
import mbkern as mb
from mbkern.core.toolchain import parts
system = mb.System(mb.zoo.chain(1))
class Listener:
    def begin(self, function, first):
        print(first, function.__module__.startswith("mbkern."), flush=True)
        os._exit(0)
parts.listen(Listener())
system.warmup({name!r})
"""
    done = children.python(program, timeout=300,
                           env=dict(os.environ, PYTHONPATH=str(ROOT), NUMBA_CACHE_DIR=str(tmp_path)))
    assert done.stdout == "True True\n", done.stderr


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
