"""python -m mbkern warmup: what there is to compile, in processes of its own, and what it says."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import mbkern as mb
from mbkern import warming
from mbkern.cli import main
from mbkern.integrate.options import INTEGRATORS
from mbkern.methods import STATE_METHODS
from mbkern.model import zoo
from mbkern.operations import CONSTRAINT_OPERATIONS, OPERATIONS


def test_all_is_everything():
    jobs = [job for stage in warming.stages(everything=True) for job in stage]
    assert len(jobs) == len({*jobs})
    by_name = {job.name for job in jobs if job.machine == "any"}
    assert {*OPERATIONS, *[f"{name}_batch" for name in OPERATIONS], *INTEGRATORS, "rhs", "rhs_batch", "stepper",
            "simulate_batch", "accelerations"} <= by_name
    assert {(job.method, job.name) for job in jobs if job.machine == "any"} >= {
        (method, name) for method in STATE_METHODS for name in ("rhs", "rhs_batch")}
    assert {job.name for job in jobs if job.machine == "loops"} >= {"rhs", "simulate", *CONSTRAINT_OPERATIONS}
    assert {job.name for job in jobs if job.machine == "hinges"} == {
        "rhs", "rhs_batch", "simulate_batch", "jacobian_rhs", "jacobian_rhs_batch", "jvp", "jvp_batch", "vjp",
        "vjp_batch"}


def test_every_operation_gets_arrays_that_fit():
    """What `--all` calls each of them with: one row, vectors of the model's sizes; nothing where that will do."""
    system = mb.System(zoo.random_tree(5, seed=1))
    for name, operation in OPERATIONS.items():
        given = warming.neutral_inputs(system, name)
        for argument, value in zip(operation.inputs, given, strict=True):
            if value is None:
                assert argument.optional, (name, argument.name)
            else:
                wanted = argument.shape_for(system.model, 1)
                assert value.shape == wanted or value.shape == (1, *wanted), (name, argument.name)


@pytest.mark.parametrize("make", [zoo.chain, zoo.four_bar])
def test_names_are_those_of_system_warmup(make):
    model = make(2) if make is zoo.chain else make()
    with pytest.raises(mb.errors.MethodError, match="warmup: expected one of") as caught:
        mb.System(model).warmup("nothing")
    assert f"expected one of {', '.join(warming.names_for(model.constraints))}, got" in str(caught.value)


def test_what_others_need_comes_first():
    first, *_, last = warming.stages(everything=True)
    assert {job.name for job in first} == {"rhs"} and {job.name for job in last} == {"simulate_batch"}
    seconds = [job.seconds for job in first]
    assert seconds == sorted(seconds, reverse=True)  # the longest first: processes end together


def test_one_model():
    model = zoo.four_bar()
    names = [job.name for stage in warming.stages(everything=True, model=model) for job in stage]
    assert "closer" in names and "jacobian_rhs" in names and "jvp" not in names
    assert [str(job) for stage in warming.stages(["energy"], model=model) for job in stage] == ["energy"]


def test_in_processes(capsys):
    assert main(["warmup", "rhs", "momenta", "--model", "chain:1", "--jobs", "1"]) == 0
    shown = capsys.readouterr()
    assert shown.out.startswith("2 of 2 compiled or found on disk by 1 processes in ") and "kept in /" in shown.out
    assert shown.err.rstrip().startswith("\r[##############################] 100%  2 of 2 compiled")


def test_what_fails_is_named(capsys, monkeypatch):
    monkeypatch.setattr(warming, "stages", lambda *_: [[warming.Job("hinges", "emh-ldl", "no_such_name")]])
    assert main(["warmup", "--jobs", "1"]) == 1
    shown = capsys.readouterr()
    assert "no_such_name of trees of hinges: warmup: expected one of" in shown.err and "0 of 1" in shown.out


def runs(process):
    """Whether it does; one that has ended may still wait for somebody to notice (state Z)."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_ctrl_c_ends_it_at_once(tmp_path):
    """In the middle of a compilation, as nothing is on disk; no process is left."""
    command = [sys.executable, "-m", "mbkern", "warmup", "rhs_batch", "--model", "pipelayer", "--jobs", "1"]
    running = subprocess.Popen(command, env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}, stderr=subprocess.PIPE,
                               stdout=subprocess.PIPE, text=True, start_new_session=True)
    children, deadline = Path(f"/proc/{running.pid}/task/{running.pid}/children"), time.monotonic() + 300.0
    while len(children.read_text().split()) < 2 and time.monotonic() < deadline:  # one compiles, one tracks resources
        time.sleep(0.05)
    others = children.read_text().split()
    time.sleep(1.0)
    os.killpg(running.pid, signal.SIGINT)  # as a terminal does it: to all of them
    _, said = running.communicate(timeout=300)
    assert (running.returncode, said) == (130, "")
    assert len(list(tmp_path.rglob("*.nbc"))) < 2  # what a finished compilation leaves
    deadline = time.monotonic() + 300.0
    while any(map(runs, others)) and time.monotonic() < deadline:  # they notice that nobody is there
        time.sleep(0.05)
    assert len(others) == 2 and not any(map(runs, others))


@pytest.mark.parametrize("arguments, words", [
    (["energies"], "the nearest is 'energy'"),
    (["--jobs", "0"], "--jobs 0: expected at least 1"),
    (["energy", "--all"], "give names or --all"),
    (["--model", "chian:3"], "model 'chian:3'"),
])
def test_bad_arguments(arguments, words, capsys):
    assert main(["warmup", *arguments]) == 2
    assert words in capsys.readouterr().err
