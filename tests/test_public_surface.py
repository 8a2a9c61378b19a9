"""The public names: which there are, that their signatures are typed, and that each shows an example."""

import inspect
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import mbkern as mb

# promised: names may be added here, none may go
NAMES = {
    "Event", "Joint", "Model", "ModelBuilder", "Solution", "System", "analytic", "ball", "batch", "cylindrical",
    "drive", "embed", "ensemble", "errors", "euler_ball", "event", "flops", "free", "harmonic", "load", "load_mjcf",
    "load_urdf",
    "planar", "polynomial", "prismatic", "revolute", "rotate", "spline", "translate", "universal", "viz", "weld", "zoo",
}
FUNCTIONS = {f"mb.{name}": getattr(mb, name) for name in mb.__all__ if inspect.isfunction(getattr(mb, name))}
METHODS = {f"System.{name}": value for name, value in inspect.getmembers(mb.System, inspect.isfunction)
           if not name.startswith("_")}
CALLS = FUNCTIONS | METHODS


def test_names():
    assert NAMES <= set(mb.__all__)
    assert set(dir(mb)) == {*mb.__all__, "__doc__", "__version__"}
    for module in (mb.zoo, mb.forces):  # what people look through by the tabulator
        assert dir(module) == sorted(module.__all__)


def test_nothing_else_is_loaded_by_name():
    """In a new process: an import statement anywhere else puts a submodule there for good."""
    program = """
import json
import mbkern as mb
def has(name):
    try:
        getattr(mb, name)
    except AttributeError:
        return False
    return True
print(json.dumps([has("costs"), has("callbacks"), has("integrate"), has("io"), has("threads"), has("nonsense")]))
"""
    root = str(Path(mb.__file__).parents[1])
    done = subprocess.run([sys.executable, "-c", program], cwd=root, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [False] * 6


@pytest.mark.parametrize("name", CALLS)
def test_signatures_are_typed(name):
    signature = inspect.signature(CALLS[name])
    for parameter in signature.parameters.values():
        assert parameter.name == "self" or parameter.annotation is not parameter.empty, f"{name}({parameter.name})"
        assert parameter.annotation != "Any", f"{name}({parameter.name})"
    assert signature.return_annotation is not signature.empty and signature.return_annotation != "Any", name


@pytest.mark.parametrize("name", CALLS)
def test_each_call_shows_an_example(name):
    assert ">>> " in (inspect.getdoc(CALLS[name]) or ""), name


def test_options_go_by_name_and_by_their_old_positions():
    model = mb.zoo.chain(2)
    system, q, p = mb.System(model), np.array([0.1, 0.2]), np.array([0.3, 0.4])
    parameters = inspect.signature(system.simulate).parameters
    assert parameters["rtol"].kind is parameters["save_every"].kind is inspect.Parameter.KEYWORD_ONLY
    named = system.simulate(q, p, (0.0, 0.01), "rk4", step=1e-3, t_eval=[0.0, 0.01])
    placed = system.simulate(q, p, (0.0, 0.01), "rk4", 1e-8, 1e-10, 1e-3, [0.0, 0.01])
    assert np.array_equal(named.q, placed.q) and named.q.shape == (2, 2)
    assert np.array_equal(system.rhs_batch([q], [p], 0.0, None, 1)[1], system.rhs_batch([q], [p], threads=1)[1])
    with pytest.raises(TypeError, match="multiple values for argument 'rtol'"):
        system.simulate(q, p, (0.0, 0.01), "dopri5", 1e-8, rtol=1e-8)
    with pytest.raises(TypeError, match="positional"):
        system.rhs_batch([q], [p], 0.0, None, 1, None)
