"""Compiled code on disk: never stale, never at import, nothing to compile in a second process."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import children
import pytest

import mbkern

PACKAGE = Path(mbkern.__file__).parent

EVALUATE = """
import numpy as np, mbkern as mb
from mbkern.operations import OPERATIONS
model = mb.zoo.chain(3)
q, u = model.random_state(1)
p = mb.System(model).momenta(q, u)
hits = OPERATIONS["momenta"].compiled.one.compiled.cache_hits
print(repr(float(p[0])), hits, 1 - hits)
"""


def evaluate(folder: Path, cache: Path, program: str = EVALUATE) -> list[str]:
    environment = dict(os.environ, PYTHONPATH=str(folder), NUMBA_CACHE_DIR=str(cache))
    done = children.python(program, cwd=folder, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@pytest.mark.slow
def test_a_changed_leaf_is_noticed_and_an_unchanged_one_comes_from_the_cache(tmp_path):
    """Numba alone would go on using machine code with the old leaf inlined: its cache looks at one file only."""
    folder, cache = tmp_path / "copy", tmp_path / "cache"
    shutil.copytree(PACKAGE, folder / "mbkern", ignore=shutil.ignore_patterns("__pycache__"))
    first = evaluate(folder, cache)
    second = evaluate(folder, cache)
    assert first[1:] == ["0", "1"] and second == [first[0], "1", "0"]
    leaf = folder / "mbkern" / "core" / "vec3.py"
    source = leaf.read_text()
    changed = source.replace("fma(a[1], b[1], a[2] * b[2])", "fma(a[1], b[1], a[2])")
    assert changed != source
    leaf.write_text(changed)
    third = evaluate(folder, cache)
    assert third[0] != first[0] and third[2] == "1"


def test_import_compiles_nothing_and_leaves_scipy_and_matplotlib_alone(tmp_path):
    program = """
import sys, mbkern
from mbkern.core import body_motions, blocks, entry, extended, extended_lu, mass, momenta
kernels = [x for m in (body_motions, blocks, entry, extended, extended_lu, mass, momenta) for x in vars(m).values()
           if hasattr(x, "signatures")]
print(len(kernels) > 10, any(k.signatures for k in kernels))
print("scipy.integrate" in sys.modules, "scipy.interpolate" in sys.modules, "matplotlib" in sys.modules)
"""
    assert evaluate(PACKAGE.parent, tmp_path, program) == ["True", "False", "False", "False", "False"]


def test_kernels_release_the_gil_and_inlined_code_has_no_wrappers():
    from mbkern.core import vec3
    from mbkern.methods import METHODS

    assert METHODS["emh-ldl"].rhs.targetoptions["nogil"] is True
    assert vec3.cross.targetoptions["no_cpython_wrapper"] is True


def test_rhs_allocates_nothing(tmp_path):
    """A thousand evaluations inside compiled code allocate as much as one."""
    program = """
import numpy as np, mbkern as mb
from numba import njit
from numba.core.runtime import rtsys
model = mb.zoo.random_tree(6, seed=2)
system = mb.System(model)
rhs, block = system.njit()
q, u = model.random_state(0)
arrays = np.empty(0), np.empty(model.nq), np.empty(model.nv), system.work()

@njit
def repeat(block, q, p, tau, qdot, pdot, work, n):
    for _ in range(n):
        rhs(block, 0.0, q, p, tau, qdot, pdot, work)
    return np.empty(3 * n)

def allocations(n):
    before = rtsys.get_allocation_stats()
    repeat(block, q, u, *arrays, n)
    return rtsys.get_allocation_stats().alloc - before.alloc

repeat(block, q, u, *arrays, 1)  # compile; the statistics begin here
print(allocations(1), allocations(1000))
"""
    environment = dict(os.environ, PYTHONPATH=str(PACKAGE.parent), NUMBA_CACHE_DIR=str(tmp_path), NUMBA_NRT_STATS="1")
    one, many = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True,
                               check=True).stdout.split()  # statistics begin with Numba
    assert int(one) >= 1  # the array that `repeat` returns is seen: the statistics are on
    assert many == one


# ---- a cache in trouble: a small kernel, compiled in a moment --------------------------------------------------------

SMALL = """
from mbkern.core.jit import checked

@checked
def twice(x):
    return 2.0 * x

@checked
def thrice(x):
    return 3.0 * x
"""
USE = """
import sys, warnings
warnings.simplefilter("always")
import small
print(small.twice(3.0), small.thrice(3.0), sum(small.twice.stats.cache_hits.values()))
"""


@pytest.fixture
def use(tmp_path):
    """Runs a program beside the small kernels; what it printed, and how many warnings there were."""
    (tmp_path / "small.py").write_text(SMALL)
    cache = tmp_path / "cache"

    def run(program=USE, **more):
        environment = os.environ | {"PYTHONPATH": f"{PACKAGE.parent}{os.pathsep}{tmp_path}",
                                    "NUMBA_CACHE_DIR": str(cache)} | more
        done = children.python(program, env=environment)
        assert done.returncode == 0, done.stderr
        return done.stdout.split(), done.stderr.count("RuntimeWarning: mbkern")

    run.cache = cache
    return run


def flip_the_middle(data):
    return data[:len(data) // 2] + bytes(255 - x for x in data[len(data) // 2:][:64]) + data[len(data) // 2 + 64:]


def cut(data):
    return data[:len(data) // 2]


@pytest.mark.parametrize("files, damage", [
    ("*.nbi", cut), ("*.nbc", flip_the_middle),
    pytest.param("*.nbi", lambda data: b"no pickle", marks=pytest.mark.nightly),
    pytest.param("*.nbc", cut, marks=pytest.mark.nightly)],
    ids=["index cut", "code with wrong bits", "index garbage", "code cut"])
def test_a_damaged_cache_is_said_once_and_written_anew(use, files, damage):
    assert use() == (["6.0", "9.0", "0"], 0)
    damaged = sorted(use.cache.rglob(files))
    assert len(damaged) == 2
    for path in damaged:
        path.write_bytes(damage(path.read_bytes()))
    assert use() == (["6.0", "9.0", "0"], 1)
    assert use() == (["6.0", "9.0", "1"], 0)


@pytest.mark.parametrize("trouble", [
    "caching.IndexDataCacheFile._save_data = full", "caching.CacheImpl._locator_classes = []",
    pytest.param("caching.IndexDataCacheFile._save_index = full", marks=pytest.mark.nightly),
    pytest.param("caching._CacheLocator.ensure_cache_path = full", marks=pytest.mark.nightly)])
def test_a_cache_that_cannot_be_written_is_said_once(use, trouble):
    """A full disk, an unwritable folder, no folder at all: compiled code is used and not kept."""
    program = f"""
import errno
from numba.core import caching
def full(*args):
    raise OSError(errno.ENOSPC, "No space left on device")
{trouble}
""" + USE
    assert use(program) == (["6.0", "9.0", "0"], 1)


def test_a_numba_that_does_not_compile_is_refused():
    environment = os.environ | {"PYTHONPATH": str(PACKAGE.parent), "NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run([sys.executable, "-c", "import mbkern"], env=environment, capture_output=True, text=True,
                          timeout=300)
    assert done.stderr.splitlines()[-1] == (
        "ImportError: mbkern is compiled by Numba and cannot work with NUMBA_DISABLE_JIT=1: unset that variable")


# ---- without Numba's private parts: .ci/oldest-numba runs all of these, and right-hand sides both ways ---------------

@pytest.mark.parametrize("part", ["caching.FunctionCache",
                                  pytest.param("codegen.JITCodeLibrary", marks=pytest.mark.nightly)])
def test_a_missing_private_part_costs_time_and_one_warning(use, part):
    """Numba itself has taken hold of them before they are removed."""
    program = f"import numba.core.ccallback, numba.core.registry\ndel numba.core.{part}\n"
    assert use(program + USE) == (["6.0", "9.0", "0"], 1)


STRANGE = "import numba\nnumba.__version__ = '9.1.0'\n"


def test_an_unknown_numba_is_tried_and_used(use):
    check = "\nfrom mbkern.core import toolchain, numba_private\nassert toolchain.parts is numba_private\n"
    assert use(STRANGE + USE + check) == (["6.0", "9.0", "0"], 0)


@pytest.mark.parametrize("module, name", [("np.arrayobj", "populate_array"),
                                          pytest.param("core.ccallback", "CFunc", marks=pytest.mark.nightly)])
def test_a_private_part_that_behaves_differently_costs_time_and_one_warning(use, module, name):
    program = f"""{STRANGE}
import numba.core.registry, numba.experimental.function_type, numba.{module}
def other(first):
    return first
numba.{module}.{name} = other
"""
    check = "\nfrom mbkern.core import toolchain, numba_public\nassert toolchain.parts is numba_public\n"
    assert use(program + USE + check) == (["6.0", "9.0", "0"], 1)


def test_public_numba_alone_warns_of_nothing(use):
    assert use(MBKERN_NUMBA="public") == (["6.0", "9.0", "0"], 0)
    assert use(MBKERN_NUMBA="public") == (["6.0", "9.0", "1"], 0)
    assert use() == (["6.0", "9.0", "0"], 0)  # each has code of its own


@pytest.mark.parametrize("mode", ["private", pytest.param("public", marks=pytest.mark.nightly)])
def test_a_changed_leaf_in_another_file_is_noticed(use, tmp_path, mode):
    """Kernels and C functions; a function that is not of mbkern keeps its place."""
    (tmp_path / "leaf.py").write_text("from mbkern.core.jit import inline\n@inline\ndef leaf(x):\n    return 2.0 * x\n")
    (tmp_path / "users.py").write_text("import numba\n@numba.njit(cache=True)\ndef own(x):\n    return x\n")
    (tmp_path / "small.py").write_text("""
from numba import types
from leaf import leaf
from mbkern.core.jit import c_function, checked

@checked
def twice(x):
    return leaf(x)

@c_function(types.float64(types.float64))
def in_c(x):
    return leaf(x)
""")
    program = """
import small, users
users.own(1.0)
print(small.twice(3.0), small.in_c.compiled.ctypes(3.0), sum(small.twice.stats.cache_hits.values()),
      small.in_c.compiled.cache_hits, "mbkern-" in users.own.stats.cache_path)
"""
    assert use(program, MBKERN_NUMBA=mode) == (["6.0", "6.0", "0", "0", "False"], 0)
    assert use(program, MBKERN_NUMBA=mode) == (["6.0", "6.0", "1", "1", "False"], 0)
    leaf = (tmp_path / "leaf.py").read_text()
    (tmp_path / "leaf.py").write_text(leaf.replace("2.0 * x", "5.0 * x"))
    assert use(program, MBKERN_NUMBA=mode) == (["15.0", "15.0", "0", "0", "False"], 0)


def test_public_numba_alone_without_a_place_to_write(use):
    """Compiled code is used and not kept."""
    program = """
from mbkern.core import numba_public
numba_public.cache_folder = lambda stamp: None
""" + USE
    assert use(program, MBKERN_NUMBA="public") == (["6.0", "9.0", "0"], 0)


BITS = {
    "kernels": """
import numpy as np
from mbkern.core.momenta import wrenches_to_joints
tree = mb.zoo.random_tree(9, seed=3)  # joints of all kinds
results = (np.empty(tree.nv),)
wrenches_to_joints(tree.block, 0.0, tree.random_state(1)[0], np.arange(54.0), *results, mb.System(tree).work())
""",
    "operations": """
tree = mb.zoo.random_tree(9, seed=3)  # joints of all kinds
q, u = tree.random_state(1)
results = (mb.System(tree).momenta(q, u),)
""",
    "right-hand sides": """
tree = mb.zoo.binary_tree(5)  # hinges alone
results = mb.System(tree, "emh-ldl").rhs(*tree.random_state(1))
""",
    "all kinds of joints": """
moved = mb.harmonic(0.3, 2.0)
joints = [mb.revolute("z"), mb.prismatic("x"), mb.screw((1, 1, 0), 0.1), mb.ball(), mb.free(), mb.weld(),
          mb.universal("x", "y"), [mb.rotate("x", moved), mb.rotate("y")], [mb.translate((0, 1, 2), moved),
          mb.twist("z", 0.2)], [mb.twist("x", 0.1, moved), mb.translate("y")]]
tree = mb.zoo.random_tree(25, seed=3, joints=joints)
q, u = tree.random_state(1)
p = mb.System(tree).momenta(q, u)
results = [x for method in ("emh-ldl", "dah") for x in mb.System(tree, method).rhs(q, p)]
""",
    "batches": """
results = mb.System(mb.zoo.chain(4)).rhs_batch([[0.1] * 4] * 5, [[0.2] * 4] * 5)
""",
    "derivatives": """
system, x = mb.System(mb.zoo.chain(4)), [0.1] * 4
results = [system.jacobian_rhs(x, x).matrix, *system.jvp(x, x, x, x), system.jacobian_rhs_batch([x] * 5, [x] * 5)]
""",
}


@pytest.mark.slow
@pytest.mark.parametrize("what", ["kernels", *(pytest.param(name, marks=pytest.mark.nightly)
                                               for name in BITS if name != "kernels")])
def test_both_ways_to_compile_give_the_same_bits(what):
    """The others take a minute each; .ci/oldest-numba has right-hand sides in every run."""
    program = f"import mbkern as mb{BITS[what]}print(*(x.tobytes().hex() for x in results))"
    found = []
    for mode in ("private", "public"):
        environment = os.environ | {"PYTHONPATH": str(PACKAGE.parent), "MBKERN_NUMBA": mode}
        found.append(children.python(program, env=environment, check=True).stdout)
    assert len(found[0]) > 100 and found[0] == found[1]
