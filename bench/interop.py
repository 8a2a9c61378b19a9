"""What the kernel costs outside Python: exported C library, CasADi, JAX.

    python bench/interop.py [--part exported|calls|batches|optimal-control] [--quick] [--write]

Prints Markdown tables (processor time of one thread, medians of interleaved turns). The exported right-hand side
against the same kernel called in this process by the same C loop (limit 1.03); a call from CasADi and from JAX, and
what each adds to the evaluation; a batch under `jax.vmap` against `rhs_batch` on one thread (limit 1.3); the swing-up
and the arm of docs/examples/optimal_control.py by IPOPT, and which part of its time is spent in the right-hand side,
beside the same problems written with CasADi's own expressions. Needs a C compiler; CasADi and JAX for their tables.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from common import arguments, interleaved, markdown, part_of, publish_parts, ratio

import mbkern as mb

# n evaluations; the state moves a little, so that no two are alike
PROGRAM = """
typedef int (*rhs)(double, const double *, const double *, const double *, double *, double *, double *);
typedef long long (*kernel)(double, long long, long long, long long);
void exported(rhs f, double *q, double *p, double *qdot, double *pdot, double *work, long n) {
    for (long k = 0; k < n; k++) { q[0] += 1e-12; f(0.0, q, p, 0, qdot, pdot, work); }
}
void in_process(kernel f, double *q, long long *arguments, double *block, double *work, long n) {
    for (long k = 0; k < n; k++) {
        q[0] += 1e-12;
        f(0.0, (long long)arguments, (long long)block, (long long)work);
    }
}
"""
PAGE = "docs/howto/without_python.md"
COMMAND = "python bench/interop.py"


def loops():
    """The compiled loops of PROGRAM."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        raise SystemExit("bench/interop.py needs a C compiler (cc, gcc or clang) on the path")
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "loops.c"), Path(folder, "loops.so")
        source.write_text(PROGRAM)
        subprocess.run([compiler, "-O2", "-shared", "-fPIC", str(source), "-o", str(target)], check=True)
        return ctypes.CDLL(str(target))


def address(array):
    return ctypes.c_void_p(array.ctypes.data)


def machines():
    return {"chain(7)": mb.zoo.chain(7), "chain(30)": mb.zoo.chain(30), "pipelayer": mb.zoo.pipelayer()}


INNER = ctypes.c_long(200)  # evaluations in a call of a C loop; a plain int would pass as 32 bits


def kernel_loop(both, system, q, p):
    """INNER evaluations of the kernel in this process, called from C."""
    model, qdot, pdot = system.model, np.empty(system.model.nq), np.empty(system.model.nv)
    own = np.zeros(system.binding.work_size + 8)
    words = np.array([q.ctypes.data, model.nq, p.ctypes.data, model.nv, 0, 0, qdot.ctypes.data, model.nq,
                      pdot.ctypes.data, model.nv], np.int64)
    native = ctypes.c_void_p(system.binding.native)
    return lambda alive=(p, qdot, pdot): both.in_process(native, address(q), address(words), address(system.block),
                                                         address(own), INNER)


def exported_table(turns):
    """Exported code and the same kernel in this process."""
    both, rows = loops(), []
    for name, model in machines().items():
        system = mb.System(model, "emh-ldl").warmup()
        with tempfile.TemporaryDirectory() as folder:
            made = mb.export.library(system, Path(folder) / "machine")
            library = ctypes.CDLL(str(made.library))
            size = made.object.stat().st_size
        q, u = model.random_state(seed=1)
        p, qdot, pdot = system.momenta(q, u), np.empty(model.nq), np.empty(model.nv)
        work = np.zeros(made.work_size)
        times = interleaved({
            "in process": kernel_loop(both, system, q.copy(), p),
            "exported": lambda f=library.machine_rhs, q=q, p=p, qdot=qdot, pdot=pdot, work=work: both.exported(
                f, address(q), address(p), address(qdot), address(pdot), address(work), INNER),
        }, turns, clock=time.thread_time)
        once = {key: 1e9 * np.median(found) / INNER.value for key, found in times.items()}
        rows.append((name, f"{once['in process']:.0f} ns", f"{once['exported']:.0f} ns",
                     f"{ratio(times, 'exported', 'in process'):.3f}", f"{size / 1000:.0f} kB"))
    return markdown(("machine", "in process", "exported", "ratio", "object file"), rows)


def calls_table(turns):
    """A call from CasADi and from JAX."""
    both, rows, casadi, jax = loops(), [], available("casadi"), available("jax")
    for name, model in machines().items():
        system = mb.System(model, "emh-ldl").warmup()
        q, u = model.random_state(seed=1)
        p = system.momenta(q, u)
        out = np.empty(model.nq), np.empty(model.nv)
        calls = {"kernel": kernel_loop(both, system, q.copy(), p),
                 "Python, rhs(out=)": lambda q=q, p=p, s=system, out=out: s.rhs(q, p, out=out)}
        if casadi and model.nq == model.nv:
            f = mb.export.casadi(system)
            calls["CasADi, buffers"] = buffered(f, [q, p, np.zeros(model.nv), 0])
            calls["CasADi, f(q, p, tau, t)"] = lambda f=f, q=q, p=p, tau=0.0 * p: f(q, p, tau, 0.0)
        if jax:
            jax.config.update("jax_enable_x64", True)
            g = mb.embed.jax(system)
            once, a, b = jax.jit(g.rhs), jax.numpy.asarray(q), jax.numpy.asarray(p)
            calls[f"JAX, jit ({g.route})"] = lambda once=once, a=a, b=b: once(a, b)[1].block_until_ready()
        times = interleaved(calls, turns)
        kernel = np.median(times.pop("kernel")) / INNER.value
        rows.append((name, "the kernel alone", f"{1e6 * kernel:.2f} us", ""))
        rows += [(name, key, f"{1e6 * np.median(found):.2f} us", f"{1e6 * (np.median(found) - kernel):.2f} us")
                 for key, found in times.items()]
    return markdown(("machine", "call from", "time", "more than the kernel"), rows)


def batch_table(turns):
    """Many states under vmap."""
    jax = available("jax")
    if not jax:
        return "JAX is not installed."
    jax.config.update("jax_enable_x64", True)
    rows = []
    for name, model in machines().items():
        system = mb.System(model, "emh-ldl").warmup()
        f = mb.embed.jax(system)
        for count in (256, 4096):
            rng = np.random.default_rng(0)
            Q, P = rng.normal(size=(count, model.nq)), rng.normal(size=(count, model.nv))
            out = np.empty_like(Q), np.empty_like(P)
            many, A, B = jax.jit(jax.vmap(f.rhs)), jax.numpy.asarray(Q), jax.numpy.asarray(P)
            doubled = jax.jit(lambda q, p: (2.0 * q, 2.0 * p))
            times = interleaved({
                "rhs_batch": lambda Q=Q, P=P, s=system, out=out: s.rhs_batch(Q, P, threads=1, out=out),
                "vmap": lambda many=many, A=A, B=B: many(A, B)[1].block_until_ready(),
                "alone": lambda doubled=doubled, A=A, B=B: doubled(A, B)[1].block_until_ready()}, turns)
            rows.append((name, count, *[f"{1e6 * np.median(found):.0f} us" for found in times.values()],
                         f"{ratio(times, 'vmap', 'rhs_batch'):.2f}"))
    return markdown(("machine", "states", "rhs_batch, one thread", "jit(vmap(rhs))", "jit of (2 q, 2 p)", "ratio"),
                    rows)


def available(name):
    try:
        return __import__(name)
    except ImportError:
        return None


# ---- optimal control -------------------------------------------------------------------------------------------------

def own_expressions(ca, model):
    """Hamilton's equations in CasADi's symbols, (q, p, tau, t) -> (qdot, pdot): derivatives of H = p M^-1 p / 2 + V,
    with M from the Jacobians of the bodies and the rotors. For trees of hinges and slides without springs."""
    q, p, tau, t = (ca.SX.sym(name, size) for name, size in (
        ("q", model.nq), ("p", model.nv), ("tau", model.nv), ("t", 1)))
    frames, M, V, at = [], ca.SX.zeros(model.nv, model.nv), 0, 0
    for body in model.body_specs:
        R, r, axes = frames[body.parent] if body.parent >= 0 else (ca.SX.eye(3), ca.SX.zeros(3), [])
        r, R = r + R @ ca.SX(body.position), R @ ca.DM(np.array(body.rotation))
        for step in body.joint.elements:
            axis = ca.DM(step.axis)
            axes = [*axes, (at, step.move, R @ axis, r)]
            if step.move == "rotate":
                K = ca.skew(axis)
                R = R @ (ca.SX.eye(3) + ca.sin(q[at]) * K + (1 - ca.cos(q[at])) * K @ K)
            else:
                r = r + q[at] * (R @ axis)
            M[at, at] += body.armature[0] if body.armature else 0.0
            at += 1
        frames.append((R, r, axes))
        centre = r + R @ ca.DM(body.com)
        J, W = ca.SX.zeros(3, model.nv), ca.SX.zeros(3, model.nv)
        for k, move, axis, origin in axes:
            J[:, k] = ca.cross(axis, centre - origin) if move == "rotate" else axis
            W[:, k] = axis if move == "rotate" else 0
        M += body.mass * J.T @ J + W.T @ R @ ca.DM(np.array(body.inertia)) @ R.T @ W
        V -= body.mass * ca.dot(ca.DM(model.gravity), centre)
    u = ca.solve(M, p)
    H = ca.dot(p, u) / 2 + V
    return ca.Function("own", [q, p, tau, t], [u, -ca.gradient(H, q) + tau])


def buffered(function, given):
    """A call of a CasADi function on arrays that stay where they are."""
    buffer, run = function.buffer()
    arrays = [np.array(x, float).ravel() for x in given], [np.empty(function.nnz_out(k)) for k in range(
        function.n_out())]
    for k, array in enumerate(arrays[0]):
        buffer.set_arg(k, memoryview(array))
    for k, array in enumerate(arrays[1]):
        buffer.set_res(k, memoryview(array))
    return lambda alive=(buffer, arrays): run()


def seconds_in(f, state, task, stats):
    """Seconds of a solution in the function f itself: its calls, each as long as one alone. A value of the constraints
    has four calls of f in each step, a Jacobian of them four of f and four of its Jacobian."""
    calls = {"f": buffered(f, [*state, 0]), "J": buffered(f.jacobian(), [*state, 0, *state[:2]])}
    times = {name: float(np.median(t)) for name, t in interleaved(calls, 11).items()}
    values, jacobians = stats["n_call_nlp_g"], stats["n_call_nlp_jac_g"]
    return 4 * task.n * (values * times["f"] + jacobians * (times["f"] + times["J"]))


def optimal_table():
    """IPOPT with the exported function, and with CasADi's own expressions."""
    ca = available("casadi")
    if not ca:
        return "CasADi is not installed."
    sys.path.insert(0, str(Path(__file__).parents[1] / "docs" / "examples"))
    import optimal_control as example

    rows = []
    for task in (example.swing_up(), example.reach()):
        model = task.system.model
        ours, own = mb.export.casadi(task.system), own_expressions(ca, model)
        state = np.random.default_rng(0).normal(size=(3, model.nv))
        difference = max(float(np.abs(a.full() - b.full()).max()) for a, b in zip(
            ours(*state, 0), own(*state, 0), strict=True))
        assert difference < 1e-9, f"the two right-hand sides differ by {difference}"
        for name, f, options in (("mbkern, L-BFGS", ours, None), ("CasADi's expressions, L-BFGS", own, None),
                                 ("CasADi's expressions, exact Hessian", own, {})):
            answer = example.solve(task, f, options)
            inside = seconds_in(f, state, task, answer.stats) if options is None else None
            rows.append((task.name, name, answer.iterations, f"{answer.seconds:.2f} s",
                         f"{1e3 * answer.seconds / max(answer.iterations, 1):.2f} ms",
                         f"{100 * answer.in_functions / answer.seconds:.0f} %",
                         "" if inside is None else f"{100 * inside / answer.seconds:.1f} %", f"{answer.cost:.4f}"))
    return markdown(("problem", "right-hand side", "iterations", "time", "an iteration",
                     "of it in functions and derivatives", "in the right-hand side itself", "cost"), rows)


def main():
    tables = {"bench/interop.py exported": lambda: exported_table(turns),
              "bench/interop.py calls": lambda: calls_table(turns),
              "bench/interop.py batches": lambda: batch_table(turns),
              "bench/interop.py optimal-control": optimal_table}
    options = arguments(__doc__, publishes=True, parts=[part_of(mark) for mark in tables])
    turns = 7 if options.quick else 31
    publish_parts(options, PAGE, tables, COMMAND)


if __name__ == "__main__":
    main()
