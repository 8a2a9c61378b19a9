"""What a call of the right-hand side costs by each route: Python, SciPy's fun(t, y), ctypes, cffi, C, inside Numba.

    python bench/embedding.py [--quick] [--part routes] [--write]

Markdown tables (processor time, medians of interleaved turns): time per evaluation and what the route adds to
the evaluation itself; the C program against the same loop in Numba; the C program against a Python loop over
`pin.aba`. Needs a C compiler, and Pinocchio for the last.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
from common import arguments, interleaved, markdown, part_of, publish_parts, ratio
from numba import njit

import mbkern as mb

# n evaluations; the state moves a little, so that no two are alike
PROGRAM = """
#include "mbkern.h"
void repeat(mbkern_ode f, double t, double *y, double *dydt, void *user, long n) {
    for (long k = 0; k < n; k++) {
        y[0] += 1e-12;
        f(t, y, dydt, user);
    }
}
"""

RHS, _ = mb.System(mb.zoo.chain(1), "emh-ldl").njit()


@njit
def repeat(block, t, q, p, tau, qdot, pdot, work, n):
    for _ in range(n):
        q[0] += 1e-12
        RHS(block, t, q, p, tau, qdot, pdot, work)


def c_program():
    """The compiled loop of PROGRAM."""
    compiler = shutil.which("gcc") or shutil.which("cc") or shutil.which("clang")
    if compiler is None:
        raise SystemExit("bench/embedding.py needs a C compiler (gcc, cc or clang) on the path")
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "repeat.c"), Path(folder, "repeat.so")
        source.write_text(PROGRAM)
        Path(folder, "mbkern.h").write_text(mb.embed.header())
        subprocess.run([compiler, "-O2", "-shared", "-fPIC", str(source), "-o", str(target)], check=True)
        loop = ctypes.CDLL(str(target)).repeat
    loop.argtypes = [ctypes.c_void_p, ctypes.c_double, *[ctypes.c_void_p] * 3, ctypes.c_long]
    loop.restype = None
    return loop


def routes(model, inner):
    """Calls by each route; those named in `inside` evaluate `inner` times."""
    system = mb.System(model, "emh-ldl").warmup()
    q, u = model.random_state(seed=1)
    y = model.pack(q, system.momenta(q, u))
    dydt = np.empty(y.size)
    q, p, qdot, pdot = y[:model.nq].copy(), y[model.nq:].copy(), np.empty(model.nq), np.empty(model.nv)
    f, block, work, none = system.cfunc, system.njit()[1], system.work(), np.empty(0)
    user, fun, rhs, out, call = f.user_data, system.ode(), system.rhs, (qdot, pdot), f.ctypes
    loop, state, rate = c_program(), y.ctypes.data, dydt.ctypes.data
    from cffi import FFI

    ffi = FFI()
    function, pointer = mb.embed.cffi_pointers(f, ffi)
    y_cffi, dydt_cffi = ffi.from_buffer("double[]", y), ffi.from_buffer("double[]", dydt)
    calls = {
        "inside Numba: rhs(block, ...)": lambda: repeat(block, 0.0, q, p, none, qdot, pdot, work, inner),
        "C: f(t, y, dydt, user)": lambda: loop(f.address, 0.0, state, rate, user, inner),
        "Python: system.rhs(q, p, out=...)": lambda: rhs(q, p, out=out),
        "Python: system.rhs(q, p)": lambda: rhs(q, p),
        "Python: system.ode()(t, y)": lambda: fun(0.0, y),
        "cffi, buffers made before": lambda: function(0.0, y_cffi, dydt_cffi, pointer),
        "ctypes with checked arrays": lambda: call(0.0, y, dydt, user),
    }
    return calls, ("inside Numba: rhs(block, ...)", "C: f(t, y, dydt, user)")


def measure(n, turns, extra=None):
    """Seconds per evaluation of each route, by turns, on a chain of n revolute joints."""
    inner = max(1, 10000 // n)
    calls, inside = routes(mb.zoo.chain(n), inner)
    times = interleaved({**calls, **(extra or {})}, turns, clock=time.thread_time)
    for name in inside:
        times[name] /= inner
    return times


def overhead_table(turns, sizes):
    measured = {n: measure(n, turns) for n in sizes}
    names = list(measured[sizes[0]])
    rows = []
    for name in names:
        added = float(np.median(measured[sizes[0]][name] - measured[sizes[0]][names[0]]))
        rows.append([name, *(f"{np.median(measured[n][name]) * 1e6:.2f}" for n in sizes), f"{added * 1e9:.0f}"])
    table = markdown(["route", *(f"N = {n}, us" for n in sizes), f"adds at N = {sizes[0]}, ns"], rows)
    rows = [[n, f"{ratio(measured[n], 'C: f(t, y, dydt, user)', names[0]):.3f}"] for n in sizes]
    return table + "\n\n" + markdown(["N (chain)", "a C program, as part of the same loop inside Numba"], rows)


def aba_table(turns, sizes):
    try:
        import pinocchio as pin
        from peers import pinocchio_model
    except ImportError:
        raise SystemExit("--part aba needs Pinocchio: pip install pin") from None
    rows = []
    for n in sizes:
        model = mb.zoo.chain(n)
        peer = pinocchio_model(model, pin.JointModelRZ)
        data, aba = peer.createData(), pin.aba
        q, v = model.random_state(seed=1)
        tau = np.zeros(n)
        times = measure(n, turns, {"aba": lambda: aba(peer, data, q, v, tau)})  # noqa: B023 - used at once
        rows.append([n, f"{ratio(times, 'C: f(t, y, dydt, user)', 'aba'):.3f}", f"{np.median(times['aba']) * 1e6:.1f}"])
    return markdown(["N (chain)", "a C program, as part of a Python loop over `pin.aba`", "pin.aba in us"], rows)


if __name__ == "__main__":
    tables = {
        "bench/embedding.py routes": lambda: overhead_table(turns, (10, 100) if options.quick else (10, 30, 100)),
        "bench/embedding.py aba": lambda: aba_table(turns, (30,) if options.quick else (10, 30, 100))}
    options = arguments(__doc__.splitlines()[0], publishes=True, parts=[part_of(mark) for mark in tables])
    turns = 11 if options.quick else 51
    publish_parts(options, "docs/howto/embedding.md", tables, "python bench/embedding.py")
