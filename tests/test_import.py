"""What a process loads, and when: the parts that a right-hand side does not need wait for their first use.

Each program runs in a new process, because this one has loaded everything long ago.
"""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import children
import pytest

import mbkern as mb

FOLDER = Path(mb.__file__).parents[1]

# none of them, and nothing inside them
OTHER_PARTS = ("analytic", "batch", "callbacks", "cli", "costs", "embed", "flops", "integrate", "io",
               "threads", "viz", "model.serial", "model.vary")
OTHER_KERNELS = ("appell", "body_motions", "cabi", "energies", "energy", "joint_forces", "lagrange", "lanes", "mass",
                 "newton_euler", "newton_euler_lu", "quasi", "rotor_calls")
OTHER_COPIES = ("appell", "extended", "multipliers", "reduced")  # the sources as plain Python
OTHER_LIBRARIES = ("http.client", "matplotlib", "mujoco", "scipy.integrate", "scipy.interpolate", "scipy.spatial",
                   "ssl", "urllib.request", "xml.sax")
NOT_NEEDED = (*(f"mbkern.{name}" for name in OTHER_PARTS), *(f"mbkern.core.{name}" for name in OTHER_KERNELS),
              *(f"mbkern._plain_core.{name}" for name in OTHER_COPIES), *OTHER_LIBRARIES)


def run(program: str, anew: bool = False) -> Any:
    """What the program prints as JSON. `anew`: in a process that finds nothing loaded, Numba neither."""
    environment = dict(os.environ, PYTHONPATH=str(FOLDER))
    if anew:
        done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
    else:
        done = children.python(program, env=environment)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def unwanted(modules: list[str]) -> list[str]:
    return [name for name in modules if any(name == part or name.startswith(f"{part}.") for part in NOT_NEEDED)]


def test_import_and_first_right_hand_side_load_nothing_else():
    imported, evaluated = run("""
import json, sys
import mbkern as mb
imported = sorted(sys.modules)
mb.System(mb.zoo.chain(3), "emh-ldl").rhs([0.1] * 3, [0.2] * 3)
print(json.dumps([imported, sorted(sys.modules)]))
""", anew=True)
    assert "mbkern.core.entry" in imported and "mbkern.core.extended" in evaluated  # the lists are what they seem
    assert unwanted(imported) == []
    assert unwanted(evaluated) == []


def test_the_names_that_must_not_be_loaded_exist():
    """A misspelt or renamed one would never be found loaded."""
    for name in OTHER_PARTS + tuple(f"core.{name}" for name in OTHER_KERNELS + OTHER_COPIES):
        path = FOLDER / "mbkern" / name.replace(".", "/")
        assert path.with_suffix(".py").exists() or (path / "__init__.py").exists(), name


def test_every_public_name_is_there_before_its_first_use():
    listed, documented = run("""
import json, pydoc
import mbkern
print(json.dumps([dir(mbkern), pydoc.render_doc(mbkern, renderer=pydoc.plaintext)]))
""")
    starred = run("import json; from mbkern import *; print(json.dumps(dir()))")
    assert set(mb.__all__) <= set(listed)
    assert set(mb.__all__) <= set(starred)
    for name in ("class Event", "class Solution", "load_urdf", "event("):
        assert name in documented


@pytest.mark.parametrize("expression", [
    "mbkern.Event.__module__", "mbkern.batch.BatchSolution.__module__", "mbkern.embed.CFunc.__module__",
    "mbkern.load.__module__",
])
def test_a_name_loads_its_module(expression):
    assert run(f"import json, mbkern; print(json.dumps({expression}))").startswith("mbkern.")


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'mbkern' has no attribute 'System2'"):
        mb.System2  # noqa: B018


def test_first_uses_from_many_threads():
    """All threads want something that nobody has loaded yet, some of them the same thing."""
    assert run("""
import json, sys
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
import mbkern as mb, numpy as np

sys.setswitchinterval(1e-6)
model = mb.zoo.chain(3)
system = mb.System(model, "emh-ldl")
q, u = model.random_state(seed=1)
uses = [
    lambda: system.rhs(q, u)[1], lambda: system.momenta(q, u), lambda: system.mass_matrix(q),
    lambda: system.body_poses(q)[1], lambda: system.body_velocities(q, u), lambda: system.energy(q, u),
    lambda: system.accelerations(q, u), lambda: len(mb.System(model).method_report().costs),
    lambda: mb.Event.__name__, lambda: mb.load_urdf(model.to_urdf()).nv,
    lambda: mb.batch.Varied.__name__, lambda: mb.embed.header(),
] * 2
together = Barrier(len(uses))

def first(use):
    together.wait()
    return use()

with ThreadPoolExecutor(len(uses)) as pool:
    results = list(pool.map(first, uses))
print(json.dumps([bool(np.array_equal(result, use())) for result, use in zip(results, uses, strict=True)]))
""") == [True] * 24


def test_first_uses_and_import_statements_of_many_threads_do_not_wait_for_each_other():
    """Parts of packages and the packages themselves, all at once, and found so slowly that the threads surely meet:
    Python found a deadlock of its locks of modules, now and then."""
    assert run("""
import json, sys, time
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from threading import Barrier
import mbkern as mb, numpy as np

class Slow:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name in {"mbkern.integrate", "mbkern.embed"}:
            time.sleep(0.3)

sys.meta_path.insert(0, Slow)
system = mb.System(mb.zoo.chain(3), "emh-ldl")
q, Q = np.zeros(3), np.zeros((8, 3))
uses = [
    lambda: system.simulate_batch(Q, Q, (0.0, 1e-3)).success, lambda: system.simulate(q, q, (0.0, 1e-3)).success,
    lambda: import_module("mbkern.batch"), lambda: import_module("mbkern.integrate"), lambda: mb.Event,
    lambda: mb.ensemble.run, lambda: system.cfunc, lambda: import_module("mbkern.embed"), lambda: mb.analytic,
    lambda: system.stepper("rk4"), lambda: system.rhs_batch(Q, Q), lambda: mb.System(mb.zoo.chain(9)),
    lambda: mb.flops.count, lambda: mb.viz.viewer, lambda: import_module("mbkern.viz"), lambda: mb.load_urdf,
]
together = Barrier(len(uses))

def first(use):
    together.wait(60)
    return bool(use())

with ThreadPoolExecutor(len(uses)) as pool:
    print(json.dumps(list(pool.map(first, uses))))
""") == [True] * 16


def imports_of(tree: ast.AST) -> list[ast.Import | ast.ImportFrom]:
    return [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]


def test_late_imports_of_parts_of_mbkern_go_through_one_place():
    """An import statement in a function does not hold the lock that a fork waits for: use `mbkern.lazy.module`."""
    found = []
    for path in sorted((FOLDER / "mbkern").rglob("*.py")):
        if path.parent.name != "core":  # these import one another before they are used
            for function in ast.walk(ast.parse(path.read_text())):
                if isinstance(function, ast.FunctionDef):
                    found += [f"{path}:{node.lineno}" for node in imports_of(function)
                              if isinstance(node, ast.ImportFrom) and node.names[0].name != "__version__"
                              and (node.level or "mbkern" in str(node.module))]
    assert found == []


def test_no_cached_property_holds_a_lock():
    """That of Python has one until 3.11, which stays closed in a process that is forked meanwhile."""
    assert [path for path in (FOLDER / "mbkern").rglob("*.py")
            if "functools import cached_property" in path.read_text()] == []


def test_packages_are_loaded_before_their_parts():
    """Where modules of a package import parts of another package, the package itself imports the other one first."""
    root = FOLDER / "mbkern"
    first = {"integrate": {"embed"}, "batch": {"integrate", "embed"}, "analytic": {"integrate", "embed"},
             "derivatives": {"identification"}, "export": {"integrate", "embed"}, "variational": {"integrate"}}
    for package, others in first.items():
        top = [node.names[0].name for node in ast.parse((root / package / "__init__.py").read_text()).body
               if isinstance(node, ast.Import)]
        assert top and top[0].removeprefix("mbkern.") in others
    loaded_by_mbkern = {"core", "model", "workspace", "_plain_core"}
    for path in sorted(root.rglob("*.py")):
        here = path.parent.relative_to(root).parts
        for node in ast.parse(path.read_text()).body:
            if here and isinstance(node, ast.ImportFrom) and node.level > 1 and node.module:
                parts = [*here[:len(here) - node.level + 1], *node.module.split(".")]
                if len(parts) > 1 and parts[0] != here[0] and here[0] not in ("cli", "viz"):
                    assert parts[0] in loaded_by_mbkern | first.get(here[0], set()), f"{path}: {'.'.join(parts)}"
