"""Studies that are made of many runs, and what calls programs of the system: what happens when one of these fails.

A stand-in for `simulate` fails in the ways that the real one does (`integrate/test_integrate_faults.py`), so nothing is
compiled here.
"""

from __future__ import annotations

import sys
import time
from types import SimpleNamespace

import numpy as np
import pytest
from integrate_cases import pendulum
from interrupts import assert_ctrl_c_ends

import mbkern as mb
from mbkern.errors import ExportError, IntegrationError, NotEnoughMemoryError
from mbkern.export import linking

STUDIES = {
    "lyapunov": lambda system: mb.chaos.lyapunov(system, [0.3], [0.1], 5.0, step=0.02),
    "periodic": lambda system: mb.orbits.periodic(system, [0.3], [0.1], 2.0, step=0.02),
    "monodromy": lambda system: mb.orbits.monodromy(system, [0.3], [0.1], 2.0, step=0.02),
    "poincare": lambda system: mb.orbits.poincare(system, [0.3], [0.1], "bob", 3),
}


def failing(status, cause=None):
    """A run that ended so at its first step."""
    nothing = SimpleNamespace(t=np.empty(0), q=np.empty((0, 1)), p=np.empty((0, 1)))

    def simulate(self, q, p, t_span, *arguments, **options):
        return SimpleNamespace(success=False, status=status, message="stopped at t = 0.25 s", cause=cause, nfev=1,
                               t=np.array([0.25]), q=np.array([q]), p=np.array([p]), events=[nothing])
    return simulate


@pytest.mark.parametrize("study", STUDIES)
def test_a_run_that_fails_ends_the_study_with_its_cause(study, monkeypatch):
    cause = ZeroDivisionError("in a force")
    monkeypatch.setattr(mb.System, "simulate", failing("failed", cause))
    with pytest.raises(IntegrationError, match=r"stopped at t = 0\.25 s") as caught:
        STUDIES[study](pendulum())
    assert caught.value.__cause__ is cause


@pytest.mark.parametrize("study", STUDIES)
def test_a_run_that_ctrl_c_ended_ends_the_study(study, monkeypatch):
    monkeypatch.setattr(mb.System, "simulate", failing("interrupted"))
    with pytest.raises(KeyboardInterrupt):
        STUDIES[study](pendulum())


@pytest.mark.parametrize("study", STUDIES)
def test_what_a_run_refuses_the_study_refuses(study, monkeypatch):
    def refuse(self, *arguments, **options):
        raise NotEnoughMemoryError("this run would take 5 GB")

    monkeypatch.setattr(mb.System, "simulate", refuse)
    with pytest.raises(NotEnoughMemoryError, match="5 GB"):
        STUDIES[study](pendulum())


@pytest.mark.skipif(sys.platform == "win32", reason="programs of a Unix system, signals")
def test_a_compiler_that_fails_or_never_ends_is_an_error(monkeypatch):
    with pytest.raises(ExportError, match="library: false failed"):
        linking.run(["false"], "library")
    with pytest.raises(ExportError, match=r"did not run: .*no-such-compiler"):
        linking.run(["no-such-compiler"], "library")
    monkeypatch.setattr(linking, "LONGEST", 0.2)
    with pytest.raises(ExportError, match=r"timed out after 0\.2 seconds"):
        linking.run(["sleep", "100"], "library")


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_ctrl_c_ends_the_compiler():
    assert_ctrl_c_ends(lambda: linking.run(["sleep", "1000"], "library"), 0.2, watched=False,
                       clock=time.monotonic)
