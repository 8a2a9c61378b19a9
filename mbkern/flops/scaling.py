"""The scaling study: time of one evaluation and of one integration against the number of bodies.

Chains, carousels and binary trees of bodies on equal joints (revolute, universal, ball, free: 1, 2, 3 and 6 dofs, the
papers' rotational, gimbal and ball hinges and free bodies) by the six methods of the papers, and by other libraries
where they are given. `study` measures, `Study` fits growth exponents, judges the claims of the papers, and writes
tables and figures.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import ModelError
from ..methods import STATE_METHODS
from ..model import zoo
from ..model.checks import show
from ..model.model import Model
from ..system import System
from .count import count
from .diagrams import interpolate, joint_of, pyplot, selection_map
from .timing import best_times, evaluation, some_state

FAMILIES: dict[str, Callable[..., Model]] = {
    "chain": zoo.chain, "carousel": zoo.carousel, "binary tree": zoo.binary_tree,
}
EVALUATION, INTEGRATION, FIXED, STEP, CALL = "evaluation", "integration", "fixed", "step", "call"
STEPS = 100  # of a run by RK4 with fixed steps
PATIENCE = 0.1  # seconds: longer runs are left out
PARTS = 20  # one of which says how long an adaptive run is
BESIDE = 1e5  # ns: beside longer steps the cost of a call is lost in the noise of theirs
FLOPS_ONLY = "confirmed for flops, not for times"
# how far the exponent of times may be from that of the executed flops at the same N: below because a call costs
# something by itself (an exponent of 0.67 is not linear), above because large trees leave the caches
BAND = (-0.15, 0.3)
DOFS = (1, 2, 3, 6)  # of every joint
QUICK_SIZES, SIZES = (2, 4, 8, 16, 32, 64), (2, 4, 8, 16, 32, 64, 128, 256, 512)
# the six methods of the papers: Hamilton's equations and those with accelerations, each extended, reduced to the joint
# speeds, and with multipliers
SIX = ("emh-ldl", "dah", "hzu", "newton-euler-ldl", "lagrange-2", "lagrange-1")
# methods whose work grows with the cube of N, or of the dofs ("appell"): beyond this many dofs or multipliers they are
# left out
CUBIC_LIMIT = {("dah", "chain"): 800, ("lagrange-2", "chain"): 800, ("hzu", "carousel"): 800,
               ("lagrange-1", "carousel"): 800, **{("appell", family): 64 for family in FAMILIES}}
Peer = Callable[[Model], Callable[[], object] | None]


@dataclass(frozen=True)
class Measurement:
    """One time: `what` is an evaluation of the equations, an (adaptive) integration over `study`'s span, a run of RK4
    with fixed steps, and of that one step and the call around the steps."""

    family: str
    dofs: int
    bodies: int
    method: str
    what: str
    nanoseconds: float


@dataclass(frozen=True)
class Claim:
    """A claim of the papers, the number that was measured for it, and the verdict."""

    claim: str
    measured: str
    verdict: str  # "confirmed", with "for flops, not for times" or the like; "not confirmed", "not measured"


@dataclass(frozen=True)
class Study:
    """The measurements of `study`, and what follows from them."""

    measurements: tuple[Measurement, ...]

    def times(self, family: str, dofs: int, method: str, what: str = EVALUATION) -> tuple[np.ndarray, np.ndarray]:
        """Numbers of bodies and nanoseconds of one curve."""
        points = [(m.bodies, m.nanoseconds) for m in self.measurements
                  if (m.family, m.dofs, m.method, m.what) == (family, dofs, method, what)]
        points.sort()
        return np.array([x for x, _ in points]), np.array([x for _, x in points])

    def curves(self) -> list[tuple[str, int, str, str]]:
        """(family, dofs, method, what) of all curves."""
        return list(dict.fromkeys((m.family, m.dofs, m.method, m.what) for m in self.measurements))

    def exponent(self, family: str, dofs: int, method: str, what: str = EVALUATION) -> float | None:
        """b of time ~ N^b, fitted to the upper half of the numbers of bodies; None with fewer than three, where a
        difference of two times (a step) came out negative, and of a call, which has no reason to grow."""
        N, ns = self.times(family, dofs, method, what)
        if len(N) < 3 or ns.min() <= 0.0 or what == CALL:
            return None
        return _exponent(N, ns)

    # ---- the papers' claims ----
    def claims(self) -> list[Claim]:
        """Each claim of the papers with the numbers found for it."""
        dofs = {m.dofs for m in self.measurements}
        most, fewest = max(dofs), min(dofs)
        return [
            self._growth("EMH grows linearly on every structure", "emh-ldl", most, tuple(FAMILIES), 1),
            _same_on_all(most),
            self._growth("DAH grows with the cube of N on chains", "dah", most, ("chain",), 3),
            self._growth("DAH grows linearly on carousels", "dah", most, ("carousel",), 1),
            self._growth("HZU grows linearly on chains", "hzu", fewest, ("chain",), 1),
            self._growth("HZU grows with the cube of N on carousels", "hzu", fewest, ("carousel",), 3),
            self._growth("Newton-Euler grows as EMH", "newton-euler-ldl", most, tuple(FAMILIES), 1),
            self._growth("Lagrange 2 grows as DAH on chains", "lagrange-2", most, ("chain",), 3),
            self._growth("Lagrange 2 grows as DAH on carousels", "lagrange-2", most, ("carousel",), 1),
            self._growth("Lagrange 1 grows as HZU on chains", "lagrange-1", fewest, ("chain",), 1),
            self._growth("Lagrange 1 grows as HZU on carousels", "lagrange-1", fewest, ("carousel",), 3),
            _ldl_against_lu(),
            _where_hzu_wins(),
        ]

    def _growth(self, text: str, method: str, dofs: int, families: Sequence[str], power: int) -> Claim:
        """The executed flops are a polynomial in N: its degree decides, and times must follow the flops."""
        shown, verdict = [], "confirmed"
        for family in families:
            # neither has a call from Python in it, which hides growth: the curve that goes on to larger trees decides
            curves = {what: self.times(family, dofs, method, what)[0] for what in (STEP, EVALUATION)
                      if self.exponent(family, dofs, method, what) is not None}
            if not curves:
                return Claim(text, "-", "not measured")
            what = max(curves, key=lambda name: curves[name][-1])
            N, exponent = curves[what], self.exponent(family, dofs, method, what)
            assert exponent is not None
            degree, flops = flop_polynomial(method, family, dofs)
            expected = _exponent(N, np.array([float(flops(int(x))) for x in N]))
            shown.append(f"{family}: flops of degree {degree}, at N = {N[_upper(len(N))]} to {N[-1]} like "
                         f"N^{expected:.2f}, time of {_ARTICLE[what]} {what} like N^{exponent:.2f}")
            if degree != power:
                verdict = "not confirmed"
            elif not BAND[0] < exponent - expected < BAND[1]:
                verdict = FLOPS_ONLY if verdict == "confirmed" else verdict
        return Claim(text, f"{'; '.join(shown)} (n = {dofs})", verdict)

    # ---- results on disk ----
    @classmethod
    def read(cls, path: str | Path) -> Study:
        """The measurements of a file that `save` has written."""
        with Path(path).open(newline="") as file:
            return cls(tuple(Measurement(row["family"], int(row["dofs"]), int(row["bodies"]), row["method"],
                                         row["what"], float(row["nanoseconds"])) for row in csv.DictReader(file)))

    def updated(self, later: Study) -> Study:
        """The measurements of both, in the order of this one; of a family and number of dofs that both have, the later
        ones. So a study can be made in parts.

        Examples
        --------
        >>> from mbkern.flops.scaling import Measurement, Study
        >>> old, new = (Study((Measurement("chain", 1, 8, "dah", "step", ns),)) for ns in (900.0, 800.0))
        >>> [m.nanoseconds for m in old.updated(new).measurements]
        [800.0]
        """
        panels = {(m.family, m.dofs) for m in later.measurements}
        kept = [m for m in self.measurements if (m.family, m.dofs) not in panels]
        families = list(FAMILIES)
        return Study(tuple(sorted([*kept, *later.measurements], key=lambda m: (families.index(m.family), m.dofs))))

    def save(self, path: str | Path) -> None:
        """Write the measurements to a CSV file, for `read`."""
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        with Path(path).open("w", newline="") as file:
            rows = csv.DictWriter(file, [field.name for field in fields(Measurement)])
            rows.writeheader()
            rows.writerows(asdict(m) for m in self.measurements)

    def write(self, folder: str | Path, claims: Sequence[Claim] | None = None) -> list[Path]:
        """scaling.csv, exponents.csv, claims.md and, with matplotlib, figures (PNG, SVG); returns the paths."""
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        paths = [folder / "scaling.csv", folder / "exponents.csv", folder / "claims.md"]
        self.save(paths[0])
        with paths[1].open("w", newline="") as file:
            lines = csv.writer(file)
            lines.writerow(["family", "dofs", "method", "what", "exponent"])
            for curve in self.curves():
                exponent = self.exponent(*curve)
                lines.writerow([*curve, "" if exponent is None else f"{exponent:.3f}"])
        paths[2].write_text(claims_table(self.claims() if claims is None else claims) + "\n")
        for what in dict.fromkeys(m.what for m in self.measurements):
            try:
                figure = self.plot(what)
            except ImportError:
                break
            for ending in ("png", "svg"):
                paths.append(folder / f"{what}.{ending}")
                figure.savefig(paths[-1], dpi=110)
        return paths

    def plot(self, what: str = EVALUATION, family: str | None = None) -> Any:
        """Time against N, a panel for each family (or this one alone) and number of dofs; needs matplotlib. Returns the
        figure."""
        plt = pyplot()
        families = list(dict.fromkeys(m.family for m in self.measurements)) if family is None else [family]
        dofs = sorted({m.dofs for m in self.measurements})
        methods = list(dict.fromkeys(m.method for m in self.measurements if m.what == what))
        sizes = sorted({m.bodies for m in self.measurements})
        panels = [[(f, n) for f in families] for n in dofs] if family is None else [[(family, n) for n in dofs]]
        figure, axes = plt.subplots(len(panels), len(panels[0]), squeeze=False, sharex=True, sharey=True,
                                    figsize=(4.2 * len(panels[0]), 3.4 * len(panels)), layout="constrained")
        colours = dict(zip(methods, plt.rcParams["axes.prop_cycle"].by_key()["color"], strict=False))
        for i, row in enumerate(panels):
            for j, (family, n) in enumerate(row):
                ax = axes[i][j]
                for method in methods:
                    N, ns = self.times(family, n, method, what)
                    N, ns = N[ns > 0.0], ns[ns > 0.0]  # a difference of two times may come out negative
                    if not len(N):
                        continue
                    exponent = self.exponent(family, n, method, what)
                    grows = "" if exponent is None else f"  ~ N^{exponent:.1f}"
                    ax.loglog(N, ns / 1e3, "o-", ms=3, lw=1.2, color=colours[method], label=method + grows)
                ax.set_title(f"{family}, {joint_of(n).kind} joints (n = {n})", fontsize=9)
                ax.grid(True, which="major", lw=0.3)
                ax.set_xticks(sizes, [str(N) for N in sizes], fontsize=7)
                ax.minorticks_off()
                if ax.lines:  # of a study in parts, a panel may still be empty
                    ax.legend(fontsize=7)
                if i == len(panels) - 1:
                    ax.set_xlabel("bodies N")
                if j == 0:
                    ax.set_ylabel(f"microseconds per {'run of fixed steps' if what == FIXED else what}")
        figure.suptitle({EVALUATION: "One right-hand side in compiled code; of other libraries, called from Python",
                         INTEGRATION: "One integration by dopri5, rtol = 1e-6; the number of steps depends on the tree",
                         FIXED: "One run by RK4 with the same number of steps for all trees",
                         STEP: "One step of RK4 (four evaluations) in compiled code, without the cost of the call",
                         CALL: "What a run by RK4 costs beside its steps (where a step takes less than 0.1 ms)",
                         }[what], fontsize=10)
        return figure


_ARTICLE = {EVALUATION: "an", STEP: "a"}


def _upper(points: int) -> int:
    """Where the upper half of so many points begins; at least three are left."""
    return min(points // 2, points - 3)


def _exponent(N: np.ndarray, cost: np.ndarray) -> float:
    half = _upper(len(N))
    return float(np.polyfit(np.log(N[half:]), np.log(cost[half:]), 1)[0])


def flop_polynomial(method: str, family: str, dofs: int) -> tuple[int, Callable[[int], Fraction]]:
    """Degree of the executed flops as a polynomial in N, and the polynomial; exact, from six small trees.

    Binary trees are full ones (N odd), and this holds for methods whose flops depend on N and the number of leaves
    alone; in between the polynomial is a good guess.

    Examples
    --------
    >>> import mbkern as mb
    >>> from mbkern.flops.scaling import flop_polynomial
    >>> degree, flops = flop_polynomial("emh-ldl", "chain", 1)
    >>> degree, flops(20) == mb.flops.count(mb.zoo.chain(20), "emh-ldl").total
    (1, True)
    """
    sizes = list(range(3, 15, 2) if family == "binary tree" else range(3, 9))
    values = [count(FAMILIES[family](N, joint_of(dofs)), method).total for N in sizes]
    degree, differences = 0, np.diff(np.array(values, object))
    while any(differences):
        degree += 1
        differences = np.diff(differences)
    return degree, lambda N: interpolate(sizes, values, N)


def _same_on_all(dofs: int, bodies: int = 60) -> Claim:
    """The printed algorithm must take equal flops; our kernel and its times may differ by a quarter."""
    models = {family: make(bodies, joint_of(dofs)) for family, make in FAMILIES.items()}
    printed = {count(model, "emh-ldl", "textbook").total for model in models.values()}
    flops = [count(model, "emh-ldl").total for model in models.values()]
    times = best_times({family: evaluation(model, "emh-ldl") for family, model in models.items()}, 0.1)
    spread = max(times.values()) / min(times.values())
    shown = (f"printed algorithm, executed: {' / '.join(map(str, sorted(printed)))} flops on all; our kernel, most / "
             f"least: flops {max(flops) / min(flops):.2f}, time {spread:.2f} (n = {dofs}, N = {bodies})")
    same = len(printed) == 1 and max(flops) < 1.25 * min(flops)
    return Claim("EMH does not depend on the structure", shown,
                 "not confirmed" if not same else "confirmed" if spread < 1.25 else FLOPS_ONLY)


def _ldl_against_lu(bodies: int = 16) -> Claim:
    """Two claims in one: better above three dofs, by 1.4 at most; equal (here: within a tenth) below."""
    text = "L^T D L is better than LU for more than three dofs, by 1.4 at most, and equal below"
    printed, times = {}, {}
    for n in range(1, 7):
        model = zoo.chain(bodies, joint_of(n))
        printed[n] = count(model, "emh-lu", "textbook").total / count(model, "emh-ldl", "textbook").total
        ns = best_times({name: evaluation(model, name) for name in ("emh-ldl", "emh-lu")}, 0.05)
        times[n] = ns["emh-lu"] / ns["emh-ldl"]
    by_flops, by_time = (", ".join(f"{x:.2f}" for x in ratios.values()) for ratios in (printed, times))
    shown = (f"LU / L^T D L for n = 1 to 6: printed algorithms, executed flops {by_flops}; our kernels, times {by_time}"
             f" (chain, N = {bodies}; our L^T D L goes coordinate by coordinate, our LU body by body)")
    return Claim(text, shown, f"printed algorithms: {_judged(printed)}; times of our kernels: {_judged(times)}")


def _judged(ratios: Mapping[int, float]) -> str:
    """Better and at most 1.4 for n = 4 to 6, equal within a tenth for n = 1 to 3?"""
    above = all(1.0 < ratios[n] <= 1.4 for n in (4, 5, 6))
    below = all(abs(ratios[n] - 1.0) < 0.1 for n in (1, 2, 3))
    return ("confirmed" if above and below else "confirmed above three dofs, not below" if above else
            "confirmed below, not above three dofs" if below else "not confirmed")


def _where_hzu_wins() -> Claim:
    shares = [selection_map(n, source="table1-en").shares()["HZU"] for n in range(1, 7)]
    ours = selection_map(3, source="counted").shares().get("hzu", 0.0)
    shown = ("HZU's part of the map for n = 1 to 6: formulas " + ", ".join(f"{100 * x:.0f} %" for x in shares)
             + f"; executed flops of our kernels for n = 3: {100 * ours:.0f} %")
    won = [n for n, share in enumerate(shares, 1) if share > 0.0]
    verdict = "confirmed" if won == [3, 4] else "not confirmed"
    return Claim("HZU wins for joints of 3 and 4 dofs only", shown, verdict)


def claims_table(claims: Sequence[Claim]) -> str:
    """The claims as a Markdown table.

    Examples
    --------
    >>> from mbkern.flops.scaling import Claim, claims_table
    >>> print(claims_table([Claim("water is wet", "100 %", "confirmed")]))
    | claim of the papers | measured | verdict |
    |---|---|---|
    | water is wet | 100 % | confirmed |
    """
    lines = ["| claim of the papers | measured | verdict |", "|---|---|---|"]
    return "\n".join([*lines, *(f"| {c.claim} | {c.measured} | {c.verdict} |" for c in claims)])


def study(
    families: Sequence[str] = tuple(FAMILIES),
    dofs: Sequence[int] = DOFS,
    sizes: Sequence[int] = SIZES,
    methods: Sequence[str] | None = None,
    peers: Mapping[str, Peer] | None = None,
    integrate: bool = False,
    span: float = 0.1,
    steps: int = STEPS,
    seconds: float = 0.02,
    progress: Callable[[int], None] | None = None,
) -> Study:
    """Measure time against the number of bodies.

    Parameters
    ----------
    families : sequence of str
        "chain", "carousel", "binary tree".
    dofs : sequence of int
        Dofs of every joint, 1 to 6 (`joint_of`).
    sizes : sequence of int
        Numbers of bodies.
    methods : sequence of str, optional
        Methods of `System`; by default the `SIX` of the papers. Where a method is cubic, large trees are left out.
    peers : dict of name -> function, optional
        Other libraries: the function takes a model and returns a call to be timed, None if it cannot serve the model.
    integrate : bool
        Whether to time runs as well (`System.simulate`): adaptive ones over `span` seconds of motion at the tolerance
        1e-6, and RK4 with `steps` steps of a fixed size, of which the cost of a step and that of the call around the
        steps are found apart. Runs of more than 0.1 s are left out.
    steps : int
        Of the runs by RK4, at least 2.
    seconds : float
        Time to spend on each measurement.
    progress : function, optional
        Is told how many of the families with equal dofs are done, after each of them.

    Returns
    -------
    Study

    Examples
    --------
    >>> from mbkern.flops.scaling import study
    >>> result = study(("chain",), (1,), (2, 4, 8), ("emh-ldl",), seconds=0.003)
    >>> [m.bodies for m in result.measurements]
    [2, 4, 8]
    """
    names = SIX if methods is None else tuple(methods)
    for family in families:
        if not isinstance(family, str) or family not in FAMILIES:
            raise ModelError(f"families: expected {', '.join(FAMILIES)}, got {show(family)}")
    if steps < 2:
        raise ModelError(f"steps: expected at least 2, so that a step can be told from a call, got {show(steps)}")
    out: list[Measurement] = []
    done = 0
    for family in families:
        for n in dofs:  # all points of a panel take turns, so that a busy moment hits them all alike
            models = {N: FAMILIES[family](N, joint_of(n)) for N in sorted(sizes)}
            ours = [(N, name) for N in models for name in names if not _too_large(name, family, n, N)]
            calls = {(N, name): evaluation(models[N], name) for N, name in ours}
            others = {(N, name): peer(model) for N, model in models.items() for name, peer in (peers or {}).items()}
            times = best_times(calls | {key: call for key, call in others.items() if call is not None}, seconds)
            found = {EVALUATION: times}
            if integrate:
                found |= _runs(models, {key: times[key] for key in ours}, span, steps, seconds)
            out += [Measurement(family, n, N, name, what, ns) for what, all_times in found.items()
                    for (N, name), ns in all_times.items()]
            done += 1
            if progress is not None:
                progress(done)
    return Study(tuple(out))


def _runs(models: Mapping[int, Model], evaluations: Mapping[tuple[int, str], float], span: float, steps: int,
          seconds: float) -> dict[str, dict[tuple[int, str], float]]:
    """Nanoseconds of whole runs, and what follows for one step of RK4 and the call around the steps; `evaluations` are
    those of one right-hand side."""
    # how many evaluations an adaptive run takes depends on the tree and on the variables, (q, p) or (q, u): a part of
    # it tells, and long chains of free bodies would take minutes for the whole
    slowest_first = sorted(evaluations, key=lambda key: -evaluations[key])
    quickest = {(N, STATE_METHODS[name].variable): name for N, name in slowest_first}  # the last one stays
    needed = {key: PARTS * integration(models[key[0]], name, span / PARTS)().nfev for key, name in quickest.items()}
    adaptive = best_times({(N, name): integration(models[N], name, span) for (N, name), ns in evaluations.items()
                           if 1e-9 * needed[N, STATE_METHODS[name].variable] * ns < PATIENCE}, seconds)
    able = [key for key, ns in evaluations.items() if 4e-9 * steps * ns < PATIENCE]
    fixed = best_times({(N, name, k): fixed_steps(models[N], name, k) for N, name in able for k in (1, steps)}, seconds)
    step = {(N, name): (fixed[N, name, steps] - fixed[N, name, 1]) / (steps - 1) for N, name in able}
    return {INTEGRATION: adaptive, FIXED: {(N, name): fixed[N, name, steps] for N, name in able}, STEP: step,
            CALL: {key: fixed[*key, 1] - step[key] for key in able if step[key] < BESIDE}}


def _too_large(method: str, family: str, n: int, N: int) -> bool:
    unknowns = N * (6 - n if method in ("hzu", "lagrange-1") else n)
    return unknowns > CUBIC_LIMIT.get((method, family), unknowns)


def can_integrate() -> bool:
    """Whether this installation has integrators."""
    return hasattr(System, "simulate")


def integration(model: Model, method: str, span: float) -> Callable[[], Any]:
    """A call of `System.simulate` over `span` seconds from a fixed state, compiled already."""
    system: Any = System(model, method).warmup()
    q, x = some_state(system)

    def call() -> Any:
        solution = system.simulate(q, x, (0.0, span), rtol=1e-6, atol=1e-8)
        if solution.status == "interrupted":  # ctrl-C ends the study, not only this run
            raise KeyboardInterrupt
        return solution

    call()
    return call


def fixed_steps(model: Model, method: str, steps: int) -> Callable[[], object]:
    """A call of `System.simulate` that takes so many steps of RK4 from a fixed state, compiled already."""
    system: Any = System(model, method).warmup()
    q, x = some_state(system)
    size = 1e-5

    def call() -> object:
        return system.simulate(q, x, (0.0, steps * size), "rk4", step=size, save_every=steps)

    call()
    return call
