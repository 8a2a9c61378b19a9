"""The formulations of `core/quasi*` as ordinary Python, on random matrices, against dense algebra.

All of them solve [[M, a^T], [a, 0]] (vdot; -lambda) = (Q - h; -rate_a) for speeds v that the state stands for; Kane and
Volterra then take udot = Y vdot + rate_Y. So whatever a formulation eliminates, and in whatever order, its rates are
those of one dense solve. The functions of the machine, which compiled code calls by address, are functions of Python
here; nothing is compiled.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
import scipy.linalg
from cases import assert_close
from plain_quasi import LAYOUT as L
from plain_quasi import MODULES, QUASI, connect, view

from mbkern import plain

MASS, BIAS, ROWS, SPEEDS, FORCE, SOLVE = 1001, 1002, 1003, 1004, 1005, 1006  # in the place of addresses
RATES_OF_ROWS, RATES_OF_SPEEDS = 1007, 1008
T = 0.7


@dataclass
class Case:
    """m speeds; s of them ignored (`ignored`, of a free joint three at once: `free`); r constraints."""

    method: int
    m: int = 6
    r: int = 0
    ignored: tuple[int, ...] = ()
    free: bool = False  # the ignored ones are the positions of a free joint, whose speeds are in body axes
    selected: tuple[int, ...] | None = None  # quasi-velocities that are speeds; else any Y
    singles: tuple[int, ...] = ()  # rows of Y with a single number
    triangular: bool = False
    diagonal: bool = False
    large: bool = False
    work: bool = False
    own: bool = False  # M and h are functions of the user; M depends on the last coordinate
    rates_apart: bool = False  # rates of constraints and quasi-velocities come from functions of their own
    constant_force: bool = False  # Q are numbers, no function
    units: bool = False  # the single numbers are ones
    seed: int = 0
    u: np.ndarray = field(init=False)

    def __post_init__(self):
        rng, m, r, s = np.random.default_rng(self.seed), self.m, self.r, len(self.ignored)
        self.nu = m - r - s if self.method >= L.KANE else m - r
        A = rng.normal(size=(m, m))
        self.M = A @ A.T + m * np.eye(m)
        if self.diagonal:
            others = np.ix_(self.ignored, self.ignored)
            self.M[others] = np.diag(np.diag(self.M[others]))
        self.N, self.h, self.Q = rng.normal(size=(3, m))
        self.a, self.b, self.rate_a = rng.normal(size=(r, m)), rng.normal(size=r), rng.normal(size=r)
        self.Q[list(self.ignored)] = 0.0
        self.a[:, list(self.ignored)] = 0.0
        free = [j for j in range(m) if j not in self.ignored]
        self.Y, self.Z, self.rate_Y = np.zeros((self.nu, m)), rng.normal(size=self.nu), rng.normal(size=self.nu)
        if self.selected is not None:
            self.Y[np.arange(self.nu), self.selected] = 1.0
            self.Z[:] = self.rate_Y[:] = 0.0
        else:
            self.Y[:, free if self.triangular else slice(None)] = rng.normal(
                size=(self.nu, len(free) if self.triangular else m))
            for i in self.singles:
                self.Y[i] = 0.0
                self.Y[i, free[i]] = 1.0 if self.units else rng.uniform(0.5, 2.0) * (-1.0) ** i
        self.q = np.concatenate([np.zeros(3), np.array([0.8, 0.1, -0.5, 0.3]) / np.sqrt(0.99), rng.normal(size=m - 6)
                                 ]) if self.free else rng.normal(size=m)
        self.axes = rotation(*self.q[3:7]) if self.free else None
        self.G = rng.normal(size=s)
        self.u = rng.normal(size=m if self.method <= L.MAGGI else self.nu)

        if self.own:
            self.h[list(self.ignored)] = (self.mass_at(self.q, 1) @ self.speeds())[list(self.ignored)]

    def mass_at(self, q, derivative=0):
        """M, or its time derivative per speed of the last coordinate times that speed."""
        if not self.own:
            return self.M
        if derivative:
            return self.M * (0.2 * np.cos(self.q[-1]) / (1.0 + 0.2 * np.sin(self.q[-1])) * self.speeds()[-1])
        return self.M * ((1.0 + 0.2 * np.sin(q[-1])) / (1.0 + 0.2 * np.sin(self.q[-1])))

    def momentum_rows(self):
        """M_I and N_I: of speeds, or along the axes before a free joint."""
        turn = np.zeros((len(self.ignored), self.m))
        turn[:, list(self.ignored)] = self.axes if self.free else np.eye(len(self.ignored))
        return turn @ self.M, turn @ self.N

    def speeds(self):
        """v of S v = (u - Z; G - N_I; -b)."""
        if self.method <= L.MAGGI:
            return self.u
        rows, N = self.momentum_rows()
        given = np.concatenate([self.u - self.Z, self.G - N, -self.b])
        return np.linalg.solve(np.vstack([self.Y, rows, self.a]), given)

    def accelerations(self):
        m, r = self.m, self.r
        K = np.block([[self.M, self.a.T], [self.a, np.zeros((r, r))]])
        return np.linalg.solve(K, np.concatenate([self.Q - self.h, -self.rate_a]))[:m]

    def rates(self):
        vdot = self.accelerations()
        return vdot if self.method <= L.MAGGI else self.Y @ vdot + self.rate_Y

    def frame(self):
        """The array that the code works on; all that it has to compute first is NaN."""
        m, nu, r, s = self.m, self.nu, self.r, len(self.ignored)
        nd = m - nu
        sizes = {L.AT_SPEEDS: m, L.AT_IGNORABLE: s * L.IGNORABLE, L.AT_MOMENTA: s, L.AT_ZERO: m, L.AT_M: m * m,
                 L.AT_N: m, L.AT_H: m, L.AT_A: r * m + 2 * r, L.AT_Y: nu * m + 2 * nu, L.AT_Q: m, L.AT_V: m,
                 L.AT_ORDER: m, L.AT_W: m * nu, L.AT_P: m * nd, L.AT_GAMMA: m, L.AT_B: (s + r) * m, L.AT_C: s + r,
                 L.AT_X: (m + r) ** 2, L.AT_E: m * m + m + r, L.AT_F: 2 * m + r, L.AT_REST: m, L.AT_PATTERN: 2 * m,
                 L.AT_PLACES: m, L.AT_LINEAR: 2 * (1 + r) * m + r * r + r + m}
        frame = np.full(L.QUASI_HEADER + sum(sizes.values()), np.nan)
        frame[:L.QUASI_HEADER] = 0.0
        at = L.QUASI_HEADER
        for place, size in sizes.items():
            frame[place], at = at, at + size
        for place in (L.AT_REST, L.AT_ZERO):
            view(frame, place, sizes[place])[:] = 0.0
        frame[L.METHOD], frame[L.NQ], frame[L.NV], frame[L.NU] = self.method, self.q.size, m, nu
        frame[L.R], frame[L.S], frame[L.THRESHOLD], frame[L.HAS_WORK] = r, s, 1e-12, self.work
        frame[L.MASS_CALL], frame[L.BIAS_CALL], frame[L.FORCE_CALL] = MASS, BIAS, FORCE
        frame[L.CONSTRAINT_CALL] = ROWS if r else 0
        if self.constant_force:
            frame[L.FORCE_CALL] = 0
            view(frame, L.AT_Q, m)[:] = self.Q
        frame[L.SOLVE_CALL] = SOLVE if self.large else 0
        frame[L.OWN_DYNAMICS] = self.own
        if self.rates_apart:
            frame[L.CONSTRAINT_RATE_CALL], frame[L.QUASI_RATE_CALL] = RATES_OF_ROWS if r else 0, RATES_OF_SPEEDS
        chosen = tuple(self.selected or ())
        if self.selected is not None:
            frame[L.SELECTED] = 1.0
            view(frame, L.AT_Y, nu * m + 2 * nu)[:] = 0.0  # of Z and its rate, which are read
            rest = [j for j in range(m) if j not in chosen]
            if self.method >= L.MAGGI:
                view(frame, L.AT_W, m * nu).reshape(m, nu)[list(chosen)] = np.eye(nu)
                view(frame, L.AT_P, m * nd).reshape(m, nd)[list(chosen)] = 0.0
        else:
            chosen = tuple(j for j in range(m) if j not in self.ignored)[:nu]
            rest = [j for j in range(m) if j not in chosen]
            frame[L.QUASI_CALL] = SPEEDS
        view(frame, L.AT_SPEEDS, m)[:] = *chosen, *rest
        view(frame, L.AT_ORDER, m)[:] = order = *rest, *chosen
        if self.triangular:
            frame[L.TRIANGULAR] = L.IN_PLACE if order == tuple(range(m)) else 1
            frame[L.DIAGONAL] = self.diagonal
            frame[L.N_SINGLE] = len(self.singles)
            if self.selected is None:
                taken = [chosen[i] for i in self.singles]
                pairs = [x for i in self.singles for x in (i, chosen[i])]
                rows = [i for i in range(nu) if i not in self.singles]
                view(frame, L.AT_PATTERN, 2 * nu)[:] = [*pairs, *rows, *[j for j in chosen if j not in taken]]
                view(frame, L.AT_PLACES, m)[list(chosen)] = np.arange(nu)
        view(frame, L.AT_MOMENTA, s)[:] = self.G
        for k, j in enumerate(self.ignored):
            row = view(frame, L.AT_IGNORABLE, s * L.IGNORABLE)[k * L.IGNORABLE:]
            row[:L.IGNORABLE] = (self.ignored[0], 3, k, -1) if self.free else (j, -1, 0, -1)
            view(frame, L.AT_ZERO, m)[j] = 1.0
        return frame


def rotation(w, x, y, z):
    """Rows: axes before the joint in axes behind it."""
    return np.array([[1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
                     [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
                     [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)]])


@pytest.fixture
def computed(monkeypatch):
    """compute(case): code, v, qdot, rates."""
    def compute(case, change=None):
        frame, speeds = case.frame(), None
        with suppress(np.linalg.LinAlgError):
            speeds = case.speeds()
        frame[L.SELF], frame[L.QUASI_SIZE] = frame.ctypes.data, frame.size
        if change:
            change(frame)

        def call(address, t, q, v, out, user):
            assert t == T or address == MASS
            answers = {
                MASS: lambda: np.concatenate([case.mass_at(q).ravel(), case.N]), BIAS: lambda: case.h,
                FORCE: lambda: case.Q,
                ROWS: lambda: np.concatenate([case.a.ravel(), case.b, case.rate_a]),
                SPEEDS: lambda: np.concatenate([case.Y.ravel(), case.Z, case.rate_Y]),
                RATES_OF_ROWS: lambda: np.concatenate([case.a.ravel(), case.b, case.rate_a]),
                RATES_OF_SPEEDS: lambda: np.concatenate([case.Y.ravel(), case.Z, case.rate_Y]),
                SOLVE: lambda: np.linalg.solve(case.M, v.reshape(-1, case.m).T).T.ravel()}
            given = answers[address]()
            # whether these are the speeds that rates are to be taken at
            known = speeds is not None and v.shape == speeds.shape and np.allclose(v, speeds, rtol=1e-6)
            if address == ROWS and (case.rates_apart or not known):
                given[-case.r:] = np.nan
            if address == SPEEDS and (case.rates_apart or not known):
                given[-case.nu:] = np.nan
            if address in (RATES_OF_ROWS, RATES_OF_SPEEDS, BIAS, FORCE):
                assert known
            out[:given.size] = given

        connect(monkeypatch, call)
        qdot, rates = np.full(case.m, np.nan), np.full(case.u.size + case.work, np.nan)
        code = QUASI.rhs_kernel(frame, T, case.q, case.u, qdot, rates)
        return code, view(frame, L.AT_V, case.m).copy(), qdot, rates, frame

    return compute


FIRST = (0, 1, 2)
CASES = {
    "Lagrange": Case(L.LAGRANGE), "Lagrange, constraints": Case(L.LAGRANGE, r=2),
    "Lagrange, large": Case(L.LAGRANGE, r=2, large=True), "Lagrange, work": Case(L.LAGRANGE, r=1, work=True),
    "Maggi": Case(L.MAGGI, r=2, selected=(5, 0, 3, 1)), "Maggi, any Y": Case(L.MAGGI, r=2),
    "Maggi, large": Case(L.MAGGI, r=2, large=True), "Kane": Case(L.KANE, r=2), "Kane, free": Case(L.KANE),
    "Kane, work": Case(L.KANE, r=1, work=True), "Kane, constant force": Case(L.KANE, r=1, constant_force=True),
    "Kane, ones": Case(L.KANE, r=2, singles=(0, 1, 2, 3), units=True),
    "Kane, speeds": Case(L.KANE, r=2, selected=(4, 0, 5, 2)), "Kane, large": Case(L.KANE, r=2, large=True),
    "Kane, speeds, large": Case(L.KANE, r=2, selected=(4, 0, 5, 2), large=True),
    "Kane, triangular": Case(L.KANE, triangular=True, singles=(1, 4)),
    "Kane, triangular, 3 rows": Case(L.KANE, triangular=True, singles=(0, 2, 5)),
    "Kane, triangular, only single numbers": Case(L.KANE, triangular=True, singles=(0, 1, 2, 3, 4, 5)),
    "Kane, triangular, large": Case(L.KANE, triangular=True, singles=(1, 4), large=True),
    "Maggi, rates apart": Case(L.MAGGI, r=2, rates_apart=True),
    "Kane, rates apart": Case(L.KANE, r=2, rates_apart=True),
    "Kane, triangular, rates apart": Case(L.KANE, triangular=True, singles=(1,), rates_apart=True),
    "Lagrange, rates apart": Case(L.LAGRANGE, r=2, rates_apart=True),
    "Volterra, own": Case(L.VOLTERRA, ignored=(1, 4), own=True),
    "Volterra": Case(L.VOLTERRA, ignored=(1, 4)), "Volterra, constraints": Case(L.VOLTERRA, m=7, ignored=(5, 1), r=2),
    "Volterra, speeds": Case(L.VOLTERRA, ignored=(1, 4), selected=(5, 0, 2, 3)),
    "Volterra, speeds, constraints": Case(L.VOLTERRA, m=7, ignored=(1, 4), r=1, selected=(6, 0, 3, 5)),
    "Volterra, free joint": Case(L.VOLTERRA, m=8, ignored=FIRST, free=True),
    "Volterra, free joint, constraints": Case(L.VOLTERRA, m=8, ignored=FIRST, free=True, r=2),
    "Volterra, triangular": Case(L.VOLTERRA, ignored=(1, 4), triangular=True, singles=(0, 3)),
    "Volterra, triangular, speeds": Case(L.VOLTERRA, ignored=(1, 4), selected=(0, 2, 3, 5), triangular=True),
    "Volterra, triangular, in place": Case(L.VOLTERRA, ignored=(0, 1), triangular=True, singles=(2,)),
    "Volterra, triangular, diagonal": Case(L.VOLTERRA, ignored=(4, 1), triangular=True, diagonal=True, singles=(1,)),
    "Volterra, triangular, three diagonal": Case(L.VOLTERRA, m=7, ignored=FIRST, triangular=True, diagonal=True),
    "Volterra, triangular, three diagonal elsewhere": Case(L.VOLTERRA, m=7, ignored=(2, 4, 6), triangular=True,
                                                           diagonal=True),
    "Volterra, triangular, free joint": Case(L.VOLTERRA, m=8, ignored=FIRST, free=True, triangular=True),
    "Volterra, triangular, large": Case(L.VOLTERRA, ignored=(1, 4), triangular=True, large=True),
    "Volterra, triangular, large, diagonal": Case(L.VOLTERRA, ignored=(1, 4), triangular=True, large=True,
                                                  diagonal=True),
}


@pytest.mark.parametrize("name", CASES)
def test_rates_are_those_of_one_dense_solve(name, computed):
    case = CASES[name]
    code, v, qdot, rates, frame = computed(case)
    assert code == 0 and frame[L.NOW_TRIANGULAR] == case.triangular
    n = case.u.size
    assert_close(v, case.speeds(), 1e-12, "speeds")
    assert_close(qdot, v, 0.0, "qdot")
    assert_close(rates[:n], case.rates(), 1e-10, "rates")
    if case.work:
        assert_close(rates[n], case.Q @ v, 1e-13, "power")


@pytest.mark.parametrize("name", [name for name in CASES if not name.startswith("Lagrange") and "triang" not in name])
def test_the_condition_of_S_is_that_of_bauer_and_skeel(name, computed):
    case = CASES[name]
    *_, frame = computed(case)
    rows = case.momentum_rows()[0] if case.method >= L.KANE else np.empty((0, case.m))
    S = np.vstack([case.Y, rows, case.a])
    skeel = (np.abs(np.linalg.inv(S)) @ np.abs(S).sum(axis=1)).max()
    assert frame[L.RCOND] == pytest.approx(1.0 / skeel, rel=1e-9)
    if case.selected is None:  # else that of its dependent part
        assert frame[L.SIGN] == np.sign(np.linalg.det(S))


@pytest.mark.parametrize("name", [name for name in CASES if "triangular" in name and not CASES[name].selected])
def test_the_sign_of_Y(name, computed):
    """That of the single numbers times that of the determinant of the rest, whose rows have units of their own."""
    case = CASES[name]
    *_, frame = computed(case)
    free = [j for j in range(case.m) if j not in case.ignored]
    rows, columns = ([i for i in range(case.nu) if i not in case.singles],
                     [free[i] for i in range(case.nu) if i not in case.singles])
    sign = np.prod([np.sign(case.Y[i, free[i]]) for i in case.singles])
    assert frame[L.SIGN] == sign * np.sign(np.linalg.det(case.Y[np.ix_(rows, columns)]))
    assert frame[L.RCOND] <= 1.0 and (rows or frame[L.RCOND] == 1.0)


def test_places_of_the_header_are_different():
    source = Path(QUASI.__file__).with_name("quasi_layout.py").read_text()
    header = source.partition("# ---- header ----")[2].partition("QUASI_HEADER")[0]
    left = [line.partition(" = ")[0].split(", ") for line in header.splitlines() if " = " in line and line[0] != "#"]
    names = {name for some in left for name in some} - {"IN_PLACE", "BEGINS"}
    assert sorted(getattr(L, name) for name in names) == list(range(L.QUASI_HEADER))


@pytest.mark.parametrize("name", ["Lagrange, work", "Kane", "Volterra, triangular"])
def test_right_hand_sides_as_c_functions(name, computed):
    """q and what follows it in one array; NaN where there is an error, which stays in the frame."""
    case = CASES[name]
    _, _, qdot, rates, frame = computed(case)
    y, slope = np.concatenate([case.q, case.u, np.zeros(int(case.work))]), np.full(case.q.size + rates.size, 7.0)

    def call():
        QUASI.ode_quasi(T, y.ctypes.data, slope.ctypes.data, frame.ctypes.data)
        return int(frame[L.QUASI_STATUS])

    assert call() == 0 and np.array_equal(slope, [*qdot, *rates])
    before = case.Q.copy()
    try:
        case.Q[0] = 1e301 * case.M.max()
        case.Q[list(case.ignored)] = 0.0
        assert call() == plain.load("checks").NOT_FINITE and np.isnan(slope).all()
    finally:
        case.Q[:] = before
    y[-1 - case.work] = np.nan
    assert call() == plain.load("checks").BAD_Q and np.isnan(slope).all()


@pytest.mark.parametrize("name", ["Kane", "Volterra, triangular", "Volterra, triangular, in place"])
def test_speeds_along_a_run(name, computed):
    """With the condition of all of S, whatever is solved otherwise; NaN where it is singular."""
    case = CASES[name]
    *_, frame = computed(case)
    kept, y = frame[L.TRIANGULAR], np.tile([*case.q, *case.u], (2, 1))
    S = np.vstack([case.Y, *([case.momentum_rows()[0]] if case.ignored else []), case.a])
    skeel = (np.abs(np.linalg.inv(S)) @ np.abs(S).sum(axis=1)).max()
    out, rcond, before = np.full((2, case.m), np.nan), np.full(2, np.nan), case.Y.copy()
    assert QUASI.speeds_along(frame, np.full(2, T), y, out, rcond) == 0 and frame[L.TRIANGULAR] == kept
    assert_close(out, np.tile(case.speeds(), (2, 1)), 1e-12, "speeds")
    assert rcond == pytest.approx(1.0 / skeel, rel=1e-9)
    try:
        case.Y[-1] = case.Y[0]
        assert QUASI.speeds_along(frame, np.full(2, T), y, out, rcond) == 0 and frame[L.TRIANGULAR] == kept
        assert np.isnan(out).all() and (rcond < 1e-12).all()
    finally:
        case.Y[:] = before


@pytest.mark.parametrize("constraint", [False, True])
def test_a_quaternion_that_is_not_of_length_one_makes_forces_along_its_axes_uncertain(constraint, computed):
    """Four times as much of the force as the square of its length is wrong."""
    case, kernels = CASES["Volterra, free joint, constraints"], MODULES["_ignored"]
    *_, frame = computed(case)
    frame[L.S], wrong, first = 1, 1e-3, 2  # the other two positions may be acted on
    view(frame, L.AT_IGNORABLE, L.IGNORABLE)[0] = first
    q = case.q.copy()
    q[3:7] *= np.sqrt(1.0 + wrong)
    Q, a = view(frame, L.AT_Q, case.m), view(frame, L.AT_A, 2 * case.m)
    for much, acts in ((0.5, False), (0.9, False), (1.1, True)):
        x = np.cross(case.axes[0], [0.3, 0.5, 0.7])
        x += much * 4.0 * wrong * np.abs(x).max() / (1.0 + wrong) * case.axes[0]
        for array, of_it in ((Q, not constraint), (a, constraint)):
            array[:] = 0.0
            array[array.size - case.m + first:][:3] = of_it * x  # of the second constraint
        code = kernels.acts_on_ignored(frame, T, q)
        assert code == (0 if not acts else L.CONSTRAINT_ACTS if constraint else L.FORCE_ACTS)


@pytest.mark.parametrize("name", ["Volterra", "Volterra, free joint", "Volterra, triangular, free joint"])
@pytest.mark.parametrize("k, value", [(0, 1.0), (1, 1e-3)])
def test_a_force_along_an_ignored_coordinate_is_seen(name, k, value, computed):
    case = CASES[name]
    before = case.Q.copy()
    try:
        case.Q[list(case.ignored)] = value * (case.axes[k] if case.free else np.eye(len(case.ignored))[k])
        code, *_, frame = computed(case)
        assert (code, frame[L.ACTED_ON], frame[L.ACTED_BY]) == (L.FORCE_ACTS, k, -1)
        assert frame[L.ACTED] == pytest.approx(value, rel=1e-12)
        case.Q[list(case.ignored)] *= 1e-17
        assert computed(case)[0] == 0
    finally:
        case.Q[:] = before


@pytest.mark.parametrize("name", ["Volterra", "Volterra, free joint"])
def test_forces_are_measured_by_those_at_work(name, computed):
    """|Q| + |h| + |p| |v| without ignored speeds, and nothing else: in a tiny machine tiny forces count."""
    case, kernels = CASES[name], MODULES["_ignored"]
    *_, frame = computed(case)
    frame[int(frame[L.AT_Q]):][:case.m] *= 1e-9
    frame[int(frame[L.AT_H]):][:case.m] *= 1e-9
    v = view(frame, L.AT_V, case.m)
    v *= 1e-6
    others = [j for j in range(case.m) if j not in case.ignored]
    M, fastest = view(frame, L.AT_M, case.m**2).reshape(case.m, case.m), np.abs(v[others]).max()
    for k in range(len(case.ignored)):
        first, _, n = kernels.momentum_axes(frame, k, case.q)
        expected = (np.abs(view(frame, L.AT_Q, case.m)).max() + np.abs(view(frame, L.AT_H, case.m)).max()
                    + np.abs(M[first:first + n][:, others] * v[others]).max() * fastest)
        assert kernels.size_of_forces(frame, k, case.q) == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize("value", [1e-3, 1.0])
@pytest.mark.parametrize("name, row, k", [("Volterra, constraints", 1, 0), ("Volterra, free joint, constraints", 0, 2)])
def test_a_constraint_along_an_ignored_coordinate_is_seen(name, row, k, value, computed):
    case = CASES[name]
    before = case.a.copy()
    try:
        case.a[row, list(case.ignored)] = value * (case.axes[k] if case.free else np.eye(len(case.ignored))[k])
        code, *_, frame = computed(case)
        assert (code, frame[L.ACTED_ON], frame[L.ACTED_BY]) == (L.CONSTRAINT_ACTS, k, row)
        assert frame[L.ACTED] == pytest.approx(value, rel=1e-12)
    finally:
        case.a[:] = before


@pytest.mark.parametrize("name", ["Maggi, any Y", "Kane", "Volterra", "Kane, triangular", "Volterra, speeds"])
def test_a_singular_S_is_refused(name, computed):
    case = CASES[name]
    before = case.Y.copy(), case.M.copy()
    try:
        if case.selected is None:
            case.Y[-1] = case.Y[0]
            wanted = L.SINGULAR_S
        else:
            case.M[4, [1, 4]] = case.M[1, [1, 4]]  # rows of the ignored speeds, which determine them
            wanted = L.SINGULAR_S
        code, *_, frame = computed(case)
        assert code == wanted and frame[L.RCOND] < 1e-12
    finally:
        case.Y[:], case.M[:] = before


@pytest.mark.parametrize("name", ["Lagrange", "Lagrange, constraints", "Lagrange, large", "Maggi", "Kane"])
def test_a_singular_mass_matrix_is_refused(name, computed):
    case = CASES[name]
    before, a = case.M.copy(), case.a.copy()
    try:
        if case.large:
            case.a[1] = case.a[0]
        else:
            case.M[:] = 0.0
        assert computed(case)[0] == L.SINGULAR_MASS
    finally:
        case.M[:], case.a[:] = before, a


@pytest.mark.parametrize("name", ["Kane", "Maggi, any Y"])
def test_a_determinant_that_changes_its_sign_is_seen(name, computed):
    """Between two evaluations of a run S was singular."""
    case = CASES[name]
    *_, frame = computed(case)
    sign = frame[L.SIGN]
    for watched, wanted in ((L.BEGINS, 0), (sign, 0), (-sign, L.CROSSED_S)):
        def begin(frame, watched=watched):
            frame[L.WATCHED] = watched
        code, *_, after = computed(case, begin)
        assert code == wanted
        if watched == L.BEGINS:
            assert after[L.WATCHED] == sign


@pytest.mark.parametrize("name", ["Volterra", "Volterra, own"])
@pytest.mark.parametrize("k", [0, 1])
def test_a_lagrangian_that_depends_on_an_ignored_coordinate_is_seen(name, k, computed):
    """dL/dq_I = d/dt (M_I v + N_I) - h_I, with M and h of the user."""
    case = CASES[name]
    own, before = case.own, case.h.copy()
    try:
        case.own = True
        wanted = (case.mass_at(case.q, 1) @ case.speeds())[list(case.ignored)]
        case.h[list(case.ignored)] = wanted
        assert computed(case)[0] == 0
        case.h[case.ignored[k]] += 0.01
        code, *_, frame = computed(case)
        assert (code, frame[L.ACTED_ON], frame[L.ACTED_BY]) == (L.LAGRANGIAN_ACTS, k, -1)
        assert frame[L.ACTED] == pytest.approx(-0.01, rel=1e-3)
    finally:
        case.own, case.h[:] = own, before


@pytest.mark.parametrize("large", [False, True])
def test_constraints_hold_to_the_last_digit_where_they_nearly_depend_on_each_other(large, computed):
    """What is left of them is taken away once more: without that seven digits would be missing."""
    case = Case(L.KANE, m=7, r=3, large=large)
    case.a[2] = case.a[0] + (1e-4 if large else 1e-7) * case.a[2]
    case.b[2], case.rate_a[2] = case.b[0], case.rate_a[0]
    code, v, *_, frame = computed(case)
    assert code == 0
    assert np.abs(case.a @ v + case.b).max() < 1e-14 * np.abs(case.a @ np.diag(v)).sum()
    if large:
        r, m = case.r, case.m
        vdot = view(frame, L.AT_LINEAR, 2**31)[2 * (1 + r) * m + r * r + r:][:m]
        assert np.abs(case.a @ vdot + case.rate_a).max() < 1e-14 * np.abs(case.a @ np.diag(vdot)).sum()


def test_numbers_that_are_none_are_refused(computed):
    checks = plain.load("checks")
    for place, value, wanted in (("q", np.nan, checks.BAD_Q), ("u", np.inf, checks.BAD_Q), ("q", 2e12, checks.BAD_Q)):
        case = Case(L.LAGRANGE)
        getattr(case, place)[-1] = value
        assert computed(case)[0] == wanted


def test_pivots_are_in_units_of_their_rows():
    """The smallest of them says how near a matrix is to a singular one, whatever the units of its rows."""
    rng, dense = np.random.default_rng(4), plain.load("dense")
    ones = np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0], [1.0, 0.0, 1.0]])
    for n in (1, 3, 3, 5):
        A, b = rng.normal(size=(n, n)) * 10.0 ** rng.uniform(-6, 6, (n, 1)), rng.normal(size=n)
        A, ones = (ones, A) if n == 3 else (A, ones)
        x, scales = b.copy(), np.full(n, np.nan)
        assert dense.solve_pivoted(A.copy().reshape(-1), n, x, 1, scales) == np.sign(np.linalg.det(A))
        assert (np.abs(A @ x - b) <= 1e-13 * (np.abs(A) @ np.abs(x))).all()  # what rounding leaves of each row
        U = scipy.linalg.lu(A / np.abs(A).max(axis=1, keepdims=True))[2]
        assert scales[0] == pytest.approx(min(1.0, np.abs(np.diag(U)).min()), rel=1e-9)
    A[2], scales[:] = 0.0, np.nan
    assert dense.solve_pivoted(A.reshape(-1), n, x, 1, scales) == 0.0 and scales[0] == 0.0
