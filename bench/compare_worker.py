"""One version of mbkern at work for bench/compare.py: orders on standard input, answers in JSON on standard output.

    {"list": true}              names all cases   {"cases": names}
    {"case": name}              prepares it       {"seconds": processor time of one call}, or {"missing": why not}
    {"case": name, "calls": n}  calls it n times  {"seconds": processor time of one call}

A case is a function without arguments. All use names that mbkern promises, so that old versions can be measured.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from functools import cache, partial

import numpy as np
from numba import njit

import mbkern as mb

Call = Callable[[], object]
INNER = 3000  # coordinates to go through in one call of a compiled loop: the call itself then does not count
STATES = 1024


@cache
def model(text: str) -> mb.Model:
    """A model of the zoo from the Python text of its call."""
    return eval(f"zoo.{text}", {"zoo": mb.zoo, "mb": mb})


@cache
def system(text: str, method: str) -> mb.System:
    return mb.System(model(text), method).warmup()


def state(text: str) -> tuple[np.ndarray, np.ndarray]:
    q, u = model(text).random_state(seed=1)
    return q, system(text, "emh-ldl").momenta(q, u)


def from_python(text: str, method: str) -> Call:
    rhs, (q, p) = system(text, method).rhs, state(text)
    out = (np.empty(len(q)), np.empty(len(p)))
    return lambda: rhs(q, p, out=out)


@cache
def loop(method: str) -> Callable[..., None]:
    """Many evaluations inside compiled code; one function serves every model of a method."""
    rhs, _ = mb.System(mb.zoo.pipelayer(), method).njit()

    @njit
    def repeat(block, q, p, tau, qdot, pdot, work, times):
        for _ in range(times):
            rhs(block, 0.0, q, p, tau, qdot, pdot, work)

    return repeat


def compiled(text: str, method: str) -> Call:
    own, (q, p) = system(text, method), state(text)
    repeat, block, work, tau = loop(method), own.njit()[1], own.work(), np.empty(0)
    qdot, pdot, times = np.empty(len(q)), np.empty(len(p)), max(1, INNER // len(p))
    return lambda: repeat(block, q, p, tau, qdot, pdot, work, times)


def batch(text: str) -> Call:
    own = system(text, "emh-ldl")
    rng = np.random.default_rng(1)
    Q, P = rng.normal(size=(STATES, own.model.nq)), rng.normal(size=(STATES, own.model.nv))
    out = (np.empty_like(Q), np.empty_like(P))
    return lambda: own.rhs_batch(Q, P, threads=1, out=out)


def accelerations(text: str, method: str) -> Call:
    own = system(text, "emh-ldl")
    q, u = own.model.random_state(seed=1)
    return lambda: own.accelerations(q, u, method=method)


def run(text: str, integrator: str) -> Call:
    own, (q, p) = system(text, "emh-ldl"), state(text)
    options = {"step": 1e-3} if integrator == "rk4" else {"rtol": 1e-6}
    return lambda: own.simulate(q, p, (0.0, 0.1), integrator, **options)


BALLS, TREE = "chain(30, mb.ball())", "random_tree(20, seed=3)"
UNIVERSALS = "chain(30, mb.universal('x', 'y'))"
CASES: dict[str, Callable[[], Call]] = {
    **{f"rhs from Python, {method}, {text}": partial(from_python, text, method) for method, text in (
        ("emh-ldl", "chain(10)"), ("emh-ldl", "chain(100)"), ("emh-ldl", "pipelayer()"), ("emh-ldl", TREE))},
    **{f"rhs in compiled code, {method}, {text}": partial(compiled, text, method) for method, text in (
        ("emh-ldl", "chain(10)"), ("emh-ldl", "chain(100)"), ("emh-ldl", "carousel(30)"),
        ("emh-ldl", "binary_tree(31)"), ("emh-ldl", "pipelayer()"), ("emh-ldl", BALLS), ("emh-ldl", TREE),
        ("emh-ldl", UNIVERSALS),
        ("emh-lu", TREE), ("dah", "carousel(30)"), ("dah", TREE), ("hzu", "pipelayer()"), ("hzu", "chain(30)"))},
    **{f"rhs_batch, {STATES} states, {text}": partial(batch, text) for text in (
        "chain(7)", "chain(30)", "binary_tree(31)", "pipelayer()")},
    **{f"accelerations, {method}, chain(30)": partial(accelerations, "chain(30)", method) for method in (
        "newton-euler-ldl", "newton-euler-lu", "lagrange-2", "lagrange-1")},
    **{f"simulate 0.1 s, {name}, chain(10)": partial(run, "chain(10)", name) for name in ("rk4", "dopri5")},
}


def answer(order: dict, prepared: dict[str, Call]) -> dict:
    if "list" in order:
        return {"cases": list(CASES)}
    name, calls = order["case"], order.get("calls", 1)
    if name not in prepared:
        try:
            prepared[name] = CASES[name]()
            for _ in range(3):
                prepared[name]()
        except Exception as error:  # an older version may lack it; anything wrong is shown
            return {"missing": f"{type(error).__name__}: {error}"}
    call = prepared[name]
    call()  # the other version has used the caches in between
    start = time.thread_time()
    for _ in range(calls):
        call()
    return {"seconds": (time.thread_time() - start) / calls}


if __name__ == "__main__":
    prepared: dict[str, Call] = {}
    print(json.dumps({"version": mb.__version__, "file": mb.__file__}), flush=True)
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line), prepared)), flush=True)
