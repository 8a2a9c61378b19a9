"""The right-hand side inside a user's cached @njit function: cached across processes, one compilation for all models,
and a copy that has become old says so."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import children
import numpy as np
import pytest
from embedded import CALLERS, T, machines

import mbkern as mb
from mbkern.core import checks
from mbkern.methods import METHODS

KEPT = ("emh-ldl", "dah")  # of whose compiled users copies are kept on disk; all methods are compiled in CALLERS
# what a user would write: the right-hand side is a global name, the block an argument
USER_MODULE = """
import numba
import numpy as np

import mbkern as mb

RHS, _ = mb.System(mb.zoo.chain(1), METHOD).njit()


@numba.njit(cache=True)
def euler(block, t, h, steps, q, p, tau, qdot, pdot, work):
    for _ in range(steps):
        code = RHS(block, t, q, p, tau, qdot, pdot, work)
        if code != 0:
            return code
        q += h * qdot
        p += h * pdot
        t += h
    return 0
"""

# prints the results, and for every compiled function whether it came from disk
SCRIPT = """
import importlib, json, pkgutil, sys
import numpy as np
from numba.core.dispatcher import Dispatcher

import mbkern as mb
import mbkern.core
from mbkern.core.jit import CFunction

compiled, results = {}, []
with_c, *names = sys.argv[1:]
for name in names:
    user = importlib.import_module(name)
    method = user.METHOD
    for model in (mb.zoo.chain(4), mb.zoo.random_tree(9, seed=3)):
        system = mb.System(model, method)
        block, q, p = system.njit()[1], model.neutral(), np.zeros(model.nv)
        code = user.euler(block, 0.0, 1e-3, 3, q, p, np.empty(0), np.empty(model.nq), np.empty(model.nv), system.work())
        results.append([code, p.tolist()])
        if with_c == "with-c":
            f = system.cfunc
            dydt = np.empty(f.size)
            f.ctypes(0.0, model.pack(), dydt, f.user_data)
            results.append([f.status, dydt.tolist()])
    compiled[f"{name}.euler"] = [len(user.euler.signatures), sum(user.euler.stats.cache_hits.values()),
                                 sum(user.euler.stats.cache_misses.values())]
for info in pkgutil.iter_modules(mbkern.core.__path__):
    module = importlib.import_module(f"mbkern.core.{info.name}")
    for key, thing in vars(module).items():
        if isinstance(thing, Dispatcher) and thing.py_func.__module__ == module.__name__ and not (
                thing.targetoptions.get("forceinline")):
            stats = thing.stats
            compiled[f"{info.name}.{key}"] = [
                len(thing.signatures), sum(stats.cache_hits.values()), sum(stats.cache_misses.values())]
        elif isinstance(thing, CFunction) and thing._compiled is not None:
            hits = thing.compiled.cache_hits
            compiled[f"{info.name}.{key}"] = [1, hits, 1 - hits]
for name, made in mbkern.operations._COMPILED.items():
    if made.one._compiled is not None:
        hits = made.one.compiled.cache_hits
        compiled[f"operations.{name}"] = [1, hits, 1 - hits]
print(json.dumps([compiled, results]))
"""


def run(folder, package, *modules, c="with-c"):
    """Run SCRIPT in a new process with the user's modules of `folder`."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(folder), str(package)))}
    done = children.python(SCRIPT, c, *modules, cwd=folder, env=environment, timeout=600)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def write_user(folder, method):
    name = "user_" + method.replace("-", "_")
    (folder / f"{name}.py").write_text(f"METHOD = {method!r}\n{USER_MODULE}")
    return name


def test_import_compiles_nothing():
    """C functions are made when their address is asked for, not at import."""
    program = ("import mbkern\nfrom mbkern.core import cabi\nfrom mbkern.core.jit import CFunction\n"
               "from mbkern.methods import ACCELERATIONS, METHODS\n"
               "made = [m.operation.compiled for m in (*METHODS.values(), *ACCELERATIONS.values())]\n"
               "forms = [f for m in made for f in (m.one, m.lanes, m.varied)]\n"
               "functions = (*vars(cabi).values(), *forms)\n"
               "made = [f._compiled for f in functions if isinstance(f, CFunction)]\n"
               "assert len(made) >= 30 and not any(made), made")
    subprocess.run([sys.executable, "-c", program], check=True, cwd=Path(mb.__file__).parents[1])


@pytest.fixture(scope="module")
def users(tmp_path_factory):
    """A folder with a module of a user for each method, their names, and what the first process said of them."""
    folder, package = tmp_path_factory.mktemp("user"), Path(mb.__file__).parents[1]
    modules = [write_user(folder, method) for method in KEPT]
    return folder, modules, run(folder, package, *modules)


@pytest.mark.slow
def test_a_second_process_only_loads(users):
    folder, modules, (first, results) = users
    again, same = run(folder, Path(mb.__file__).parents[1], *modules)
    assert results == same and all(code == 0 for code, _ in results)
    assert {f"{name}.euler" for name in modules} <= set(again)
    assert sum(name.startswith("operations.rhs_") for name in again) >= len(KEPT)
    for name in modules:
        assert first[f"{name}.euler"] == [1, 0, 1]  # compiled once, for two models
        assert again[f"{name}.euler"] == [1, 1, 0]  # not compiled: loaded
    for name, (_, _, misses) in again.items():
        assert misses == 0, f"{name} was compiled again"


@pytest.mark.slow
def test_old_machine_code_says_that_it_is_old(users, tmp_path):
    """A user's cached function holds a copy of the core. After an upgrade it must not go on as if nothing had been."""
    folder, modules, _ = users
    [name] = [name for name in modules if name == "user_emh_ldl"]
    shutil.copytree(Path(mb.__file__).parent, tmp_path / "mbkern", ignore=shutil.ignore_patterns("__pycache__"))
    source = tmp_path / "mbkern" / "core" / "vec3.py"
    source.write_text(source.read_text() + "\n# another version\n")
    compiled, results = run(folder, tmp_path, name, c="without")
    assert compiled[f"{name}.euler"] == [1, 1, 0]  # Numba itself saw no reason to compile
    assert [code for code, _ in results] == [checks.STALE, checks.STALE]
    assert not any(np.any(p) for _, p in results)


@pytest.mark.parametrize("method", METHODS)
def test_stale_block(method):
    model, q, p = machines()[0]
    system = mb.System(model, method)
    _, block = system.njit()
    arguments = (T, q, p, np.empty(0), np.empty(model.nq), np.empty(model.nv), system.work())
    assert CALLERS[method](block, *arguments) == checks.OK
    block[0] += 1.0
    assert CALLERS[method](block, *arguments) == checks.STALE
    assert CALLERS[method](system.njit()[1], *arguments) == checks.OK  # each block is a copy
