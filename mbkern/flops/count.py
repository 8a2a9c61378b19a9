"""Executed operations: the sources of the kernels, run on counting numbers.

``level="kernel"`` runs the very source of the compiled kernels (:mod:`mbkern.plain`); ``level="textbook"`` the
algorithms as they are printed (:mod:`mbkern.textbook`). Both return the numbers as well.

What a textbook count covers. Every printed algorithm is executed to its end, pdot, and can be summed up in two
ways: *to mu* (all lines but the two of `RATE`: the linear system solved for qdot, v and mu) and *to pdot* (all
lines). The tables of the two papers do not cover the same. The Russian one goes to pdot: F* and pdot are in the
ledger of ERA. The English one has no room for pdot, which is read off its formulas: what is linear in the degrees
of freedom of DAH is 109/6 = 1/6 (Cholesky) + 6 (triangle of H) + 12, of TSP 235/6 = -5/6 (L^T D L) - 1 + 6 + 12 +
23, with the 23 of pdot. So the forms with square roots, which the English paper prints, are set against its table
to mu, the forms L^T D L against the Russian one to pdot. What remains: :mod:`mbkern.flops.residuals`.

Methods with the state (q, u) are counted to udot: velocities, wr and Omega M v are counted, Adot u + vrdot is given as
Adot^T - A^T Omega is for pdot, and reactions that come after udot are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FunctionType, ModuleType, SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .. import collector, inputs, plain
from ..errors import MethodError, ModelError
from ..inputs import Array
from ..methods import STATE_METHODS
from ..model.checks import show, word
from ..model.model import Model
from ..system import System
from ..textbook import ACCELERATIONS
from ..textbook import METHODS as TEXTBOOK
from ..textbook import accelerations as textbook_accelerations
from ..textbook import rhs as textbook_rhs
from ..workspace.bases import with_bases
from .numbers import FLOPS, OPERATIONS, Count, Ledger, Memory
from .sources import evaluate_drives, rebound, with_drives
from .table1 import checked_model

LEVELS = ("kernel", "textbook")
RATE = ("F*", "pdot")  # the lines that only pdot needs
TO_MU, TO_PDOT, TO_UDOT = "mu", "pdot", "udot"
# the forms that the English paper prints; its table ends at mu
COVERED = {"emh-cholesky": TO_MU, "dah": TO_MU, "hzu": TO_MU}
# Functions of a kernel whose results compiled code computes in full, although not all of them are used on every path:
# they are called before a branch, or in a loop that ends only later. Found by stepping through the machine code.
IN_FULL = {name: ("composite", ("force_to_parent",)) for name in ("dah", "lagrange-2")}
# lines of printed algorithms that give reactions, after udot is known
REACTIONS = {"newton-euler-ldl": ("mu",), "newton-euler-lu": ("mu",), "lagrange-1": (), "appell": ("R",),
             "lagrange-2": ("A qdot + vr", "C v_k", "M v", "C^T mu")}


@dataclass(frozen=True)
class Counted:
    """What one evaluation of qdot and pdot, or of qdot and udot, took.

    Attributes
    ----------
    method, level : str
        What was counted.
    total : int
        Flops: additions, subtractions, multiplications, divisions and square roots.
    by_operation : dict
        The same by "add" (with subtractions), "multiply", "divide", "root"; and "sincos", pairs not in `total`.
    by_sweep : dict
        Flops by sweep: the functions that the kernel calls, or the sweeps of the printed algorithm.
    by_step : dict
        Textbook level: flops by line of the algorithm.
    covers : "pdot", "mu" or "udot"
        How far `total` and its breakdowns go. "mu" for the textbook's "emh-cholesky", "dah" and "hzu": F* and pdot are
        left out. "udot" for methods with the state (q, u).
    to_mu, to_pdot : int
        Textbook level: flops of all lines but F* and pdot, and of all lines, by the same rule for every method.
    unused : int
        Kernel level: operations of the source whose results nobody uses; compiled code leaves them out, which is
        tested against its instructions (:mod:`mbkern.flops.numbers`).
    qdot, pdot, udot : array
        The result of the counting run: one of pdot and udot is empty.
    """

    method: str
    level: str
    total: int
    by_operation: dict[str, int]
    by_sweep: dict[str, int]
    by_step: dict[str, int] = field(default_factory=dict)
    covers: str = TO_PDOT
    to_mu: int | None = None
    to_pdot: int | None = None
    unused: int = 0
    qdot: Array = field(default_factory=lambda: np.empty(0), repr=False)
    pdot: Array = field(default_factory=lambda: np.empty(0), repr=False)
    udot: Array = field(default_factory=lambda: np.empty(0), repr=False)

    def __str__(self) -> str:
        pairs = self.by_operation["sincos"]
        lines = [f"{self.method} ({self.level}): {self.total} flops and {pairs} sine-cosine pairs"]
        if self.covers == TO_MU:
            lines[0] += f" to mu; to pdot {self.to_pdot} flops"
        for heading, table in (("operation", self.by_operation), ("sweep", self.by_sweep), ("step", self.by_step)):
            lines += [f"  by {heading}: " + ", ".join(f"{name} {n}" for name, n in table.items())] if table else []
        return "\n".join(lines)


def count(
    model: Model,
    method: str = "auto",
    level: str = "kernel",
    q: ArrayLike | None = None,
    p: ArrayLike | None = None,
    t: float = 0.0,
    tau: ArrayLike | None = None,
) -> Counted:
    """Count the operations of one right-hand side by executing it: of qdot and pdot, or of qdot and udot.

    Parameters
    ----------
    model : Model
        A welded body costs nothing in the kernels "emh-ldl" and "dah", because it is merged with its parent when the
        model is built. The kernels "emh-lu" and "hzu" and the textbook go body by body: there it is a body whose
        joint has 0 dofs.
    method : str
        Kernel level: a method of `System` ("emh-ldl", "emh-lu", ...). Textbook level: "emh-ldl" (Algorithm 2 as L^T D
        L: the ERA formula exactly), "dah-ldl", "hzu-ldl" (set against TSP, OSP); "emh-cholesky", "dah", "hzu" (the same
        with square roots, set against EMH, DAH, HZU); "emh-lu" (Algorithm 1). On both levels, with joint speeds u for
        p: "newton-euler-ldl", "newton-euler-lu", "lagrange-2", "lagrange-1", "appell".
    level : "kernel" or "textbook"
        The shipped kernels, or the algorithms as printed. The textbook takes C, A, vr, Adot^T - A^T Omega, the
        weights, the inertias (for HZU their inverses, Z and A (A^T A)^-1 too) and joint forces as given, as the papers
        do. All are executed to pdot and can be summed up `to_mu` and `to_pdot`; `total` is one of the two: `to_mu` for
        the forms with square roots, because the English table ends there, `to_pdot` for all others, as in the Russian
        table (reasons: :mod:`mbkern.flops.count`).
    q, p, t : state, optional
        Where to evaluate; by default any state (the count is the same).
    tau : (nv,), optional
        Joint forces; adding them is counted at the kernel level.

    Returns
    -------
    Counted
        `.total`, `.by_operation`, `.by_sweep`, and the numerical results `.qdot`, `.pdot`.

    Notes
    -----
    Literal zeros and ones of the source and results that nobody uses do not count at the kernel level, because
    compiled code does not execute them (:mod:`mbkern.flops.numbers`). A compiled user drive (`mb.drive`) is a black
    box: its own operations are unknown and left out.

    Examples
    --------
    >>> import mbkern as mb
    >>> model = mb.zoo.chain(10)
    >>> mb.flops.count(model, "emh-ldl", level="textbook").total == mb.flops.table1(model)["ERA"]
    True
    >>> mb.flops.count(model, "emh-ldl").total < mb.flops.table1(model)["EMH"]
    True
    """
    model = checked_model(model)
    if model.constraints:
        raise ModelError("model: operations are counted for trees; this model has constraints "
                         f"({model.constraints[0].name!r}, ...)")
    if not isinstance(level, str) or level not in LEVELS:
        raise MethodError(f"level: expected one of {', '.join(LEVELS)}, got {show(level)}")
    some_q, some_u = model.random_state(0)
    q = some_q if q is None else inputs.configuration(q, model)
    p = some_u if p is None else inputs.vector(p, "p", model.speed_names)
    t = inputs.time(t)
    forces = np.empty(0) if tau is None else inputs.vector(tau, "tau", model.speed_names)
    with collector.paused():  # numbers by the million, none of them garbage
        return _counted(model, method, level, q, p, t, forces)


def _counted(model: Model, method: str, level: str, q: Array, p: Array, t: float, forces: Array) -> Counted:
    if level == "textbook":
        word(method, "method", ("auto", *TEXTBOOK, *ACCELERATIONS), MethodError)
        if method in ACCELERATIONS:
            return _textbook_of_speeds(model, method, q, p, t, forces)
        return _textbook(model, "emh-ldl" if method == "auto" else method, q, p, t, forces)
    return _kernel(model, method, q, p, t, forces)


def _kernel(model: Model, name: str, q: Array, p: Array, t: float, tau: Array) -> Counted:
    method = STATE_METHODS[System(model, name).method]  # an error says what is wrong with name or model
    ledger = Ledger()
    module = plain.load(method.module)
    block, drives = with_drives(model)
    if method.needs_inertias:
        block = with_bases(block)
    work = Memory(np.zeros(method.work_size(block)), ledger)
    qdot, rate = Memory(np.zeros(model.nq), ledger), Memory(np.zeros(model.nv), ledger)
    constants, *arrays = [Memory(x, ledger) for x in (block, q, p, tau)]
    sweeps = _with_headings(ledger, getattr(module, method.function))
    with _in_full(*IN_FULL.get(method.name, (method.module, ()))):
        _headed(ledger, "evaluate_drives", evaluate_drives(drives))(constants, ledger.number(t), work)
        if method.variable == "p":
            sweeps(constants, *arrays, qdot, rate, work)
        else:
            sweeps(constants, *arrays, rate, work)
            _headed(ledger, "put_rates", plain.load("joints").put_rates)(constants, *arrays[:2], 0, qdot)
    used = {heading[0]: page.used for heading, page in ledger.pages.items()}
    done = {heading[0]: page.done for heading, page in ledger.pages.items()}
    total, momenta, none = _flops(used), method.variable == "p", np.empty(0)
    return Counted(method.name, "kernel", total, _by_operation(used), _by_key(used), unused=_flops(done) - total,
                   covers=TO_PDOT if momenta else TO_UDOT, qdot=qdot.values(),
                   pdot=rate.values() if momenta else none, udot=none if momenta else rate.values())


def _textbook(model: Model, name: str, q: Array, p: Array, t: float, tau: Array) -> Counted:
    ledger = Ledger(history=False)
    qdot, pdot = textbook_rhs(model, q, p, t, tau if tau.size else None, name, ledger=ledger)
    covers = COVERED.get(name, TO_PDOT)
    sweeps: Pages = {}
    steps: Pages = {}
    for (sweep, step), page in ledger.pages.items():
        steps[step] = page.done
        if covers == TO_PDOT or step not in RATE:
            sweeps[sweep] = [a + b for a, b in zip(sweeps.get(sweep, [0] * len(OPERATIONS)), page.done, strict=True)]
    to_pdot = _flops(steps)
    for step in RATE if covers == TO_MU else ():
        steps.pop(step, None)
    to_mu = _flops({step: page for step, page in steps.items() if step not in RATE})
    return Counted(name, "textbook", _flops(sweeps), _by_operation(sweeps), _by_key(sweeps), _by_key(steps),
                   covers=covers, to_mu=to_mu, to_pdot=to_pdot, qdot=qdot, pdot=pdot)


def _textbook_of_speeds(model: Model, name: str, q: Array, u: Array, t: float, tau: Array) -> Counted:
    ledger = Ledger(history=False)
    udot, _ = textbook_accelerations(model, q, u, t, tau if tau.size else None, name, ledger=ledger)
    sweeps: Pages = {}
    steps: Pages = {}
    for (sweep, step), page in ledger.pages.items():
        if step not in REACTIONS[name]:
            steps[step] = page.done
            sweeps[sweep] = [a + b for a, b in zip(sweeps.get(sweep, [0] * len(OPERATIONS)), page.done, strict=True)]
    qdot = np.zeros(model.nq)
    plain.load("joints").put_rates(model.block, q, u, 0, qdot)
    return Counted(name, "textbook", _flops(sweeps), _by_operation(sweeps), _by_key(sweeps), _by_key(steps),
                   covers=TO_UDOT, qdot=qdot, udot=udot)


# ---- the sweeps under headings ------------------------------------------------------------------------------------


def _headed(ledger: Ledger, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, with its operations written down under `name`."""

    def call(*args: Any) -> Any:
        with ledger.under(name):
            return function(*args)

    return call


def _with_headings(ledger: Ledger, sweeps: Any) -> FunctionType:
    """`sweeps` with each function that it calls under its own heading, those of other modules too."""
    names = sweeps.__code__.co_names
    called = {name: sweeps.__globals__[name] for name in names if name in sweeps.__globals__}
    others = {name: SimpleNamespace(**{part: _headed(ledger, part, getattr(module, part)) for part in names
                                       if isinstance(getattr(module, part, None), FunctionType)})
              for name, module in called.items() if isinstance(module, ModuleType)}
    return rebound(sweeps, **others, **{name: _headed(ledger, name, function) for name, function in called.items()
                                        if isinstance(function, FunctionType)})


@contextmanager
def _in_full(module_name: str, names: tuple[str, ...]) -> Iterator[None]:
    """Within, these functions of a plain module count all operations behind their results."""
    module = plain.load(module_name)
    before = {name: getattr(module, name) for name in names}

    def used(x: Any) -> Any:
        if isinstance(x, tuple):
            return tuple(used(part) for part in x)
        if isinstance(x, Count):
            x.use()
        return x

    def in_full(function: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *args: used(function(*args))

    try:
        for name, function in before.items():
            setattr(module, name, in_full(function))
        yield
    finally:
        for name, function in before.items():
            setattr(module, name, function)


# ---- sums over the ledger ------------------------------------------------------------------------------------------

Pages = dict[str, list[int]]  # operations in the order of OPERATIONS


def _flops(pages: Pages) -> int:
    return sum(sum(page[: len(FLOPS)]) for page in pages.values())


def _by_operation(pages: Pages) -> dict[str, int]:
    return {name: sum(page[i] for page in pages.values()) for i, name in enumerate(OPERATIONS)}


def _by_key(pages: Pages) -> dict[str, int]:
    return {key: flops for key, page in pages.items() if (flops := sum(page[: len(FLOPS)]))}
