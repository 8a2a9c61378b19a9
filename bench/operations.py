"""Every operation against its counterpart in Pinocchio, one state and many; and against `rhs`.

    python bench/operations.py [--quick] [--write] [--only mass] [--part one-state | batches]

Chains of hinges, all called from Python, ours with `out=`. What has a counterpart with the same meaning is compared
with it before it is timed; what counts is processor time. Batches are compared with a Python loop of Pinocchio's that
keeps each array it gets. Results that are objects inside Pinocchio's data (poses, velocities, forces of bodies) one
loop leaves there, where the next state overwrites them, and another one delivers, as ours do: it copies them into
arrays. Ours have momenta where Pinocchio's functions want joint speeds: these batches are compared once more, with a
loop that finds the speeds from the momenta as ours do.

What a batch on one thread can be at most follows from the same run: the arithmetic of its kernel at the processor's FMA
peak, or the bare writing of its results (`ndarray.fill`), whichever takes longer.
Derivatives have a script of their own, `derivatives.py`.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pinocchio as pin
from common import arguments, interleaved, markdown, publish, ratio
from peak import fma_loop
from peers import pinocchio_model

import mbkern as mb
from mbkern import plain
from mbkern.flops.numbers import FLOPS, Ledger, Memory
from mbkern.operations import OPERATIONS

SIZES = (7, 30, 100)
STATES = {7: 1024, 30: 512, 100: 256}  # of a batch
PAGE, COMMAND = "docs/operations.md", "python bench/operations.py --write"
FRAME = "tool"
SINCOS = 38  # floating-point operations of a sine and cosine, see `sincos_of_value` in mbkern/core/number.py


class Contest:
    """A chain of n hinges in both libraries, some states, and arrays for results."""

    def __init__(self, n: int) -> None:
        chain = mb.zoo.chain(n, joint=mb.revolute("z"))
        builder = mb.ModelBuilder(gravity=chain.gravity)
        for i, body in enumerate(chain.body_specs):
            parent = "world" if body.parent < 0 else chain.body_names[body.parent]
            builder.add_body(chain.body_names[i], parent, body.joint, mass=body.mass, com=body.com,
                             inertia=np.array(body.inertia), position=body.position, rotation=np.array(body.rotation))
        builder.add_frame(FRAME, chain.body_names[-1], position=(0.1, 0.2, 0.3))
        self.n, self.model = n, builder.build()
        self.system = mb.System(self.model, "emh-ldl").warmup()
        self.peer = pinocchio_model(self.model, pin.JointModelRZ)
        place = pin.SE3(np.eye(3), np.array([0.1, 0.2, 0.3]))
        self.frame = self.peer.addFrame(pin.Frame(FRAME, self.peer.njoints - 1, place, pin.FrameType.OP_FRAME))
        self.data = self.peer.createData()
        rng = np.random.default_rng(n)
        B = STATES[n]
        self.Q, self.U = rng.uniform(-1, 1, (B, n)), rng.uniform(-1, 1, (B, n))
        self.Udot, self.Tau, self.X = rng.normal(size=(B, n)), rng.normal(size=(B, n)), rng.normal(size=(B, n))
        self.P = self.system.momenta_batch(self.Q, self.U)
        self.Wrench = rng.normal(size=(B, n, 6))
        self.rows = {name: list(getattr(self, name)) for name in ("Q", "U", "P", "Udot", "Tau", "X", "Wrench")}
        self.zero, self.below = np.zeros(n), np.tril_indices(n, -1)

    def fk(self, *motion: np.ndarray) -> None:
        pin.forwardKinematics(self.peer, self.data, *motion)


@dataclass(frozen=True)
class Row:
    """An operation and its counterpart.

    Attributes
    ----------
    name : str
        Of our method.
    given : tuple of str
        What it is called with, by the names of the rows in `Contest`; "frame" is the name of the frame.
    theirs : str
        The counterpart, for people.
    call : function of (Contest, k)
        The counterpart for state k.
    answer : function of (Contest, what `call` returned), optional
        Their result as ours, to be compared; None where it is no array, or means something else.
    keeps : bool
        Whether `call` returns an array, which a loop would keep.
    """

    name: str
    given: tuple[str, ...]
    theirs: str
    call: Callable[[Contest, int], Any]
    answer: Callable[[Contest, Any], Any] | None = None
    keeps: bool = True


def same(_: Contest, result: Any) -> Any:
    return result


def aba(c: Contest, k: int, tau: np.ndarray) -> np.ndarray:
    return pin.aba(c.peer, c.data, c.rows["Q"][k], c.rows["U"][k], tau)


def energies(c: Contest, k: int) -> np.ndarray:
    q = c.rows["Q"][k]
    return np.array([pin.computeKineticEnergy(c.peer, c.data, q, c.rows["U"][k]),
                     pin.computePotentialEnergy(c.peer, c.data, q)])


def solve(c: Contest, k: int) -> np.ndarray:
    pin.crba(c.peer, c.data, c.rows["Q"][k])
    pin.cholesky.decompose(c.peer, c.data)
    return pin.cholesky.solve(c.peer, c.data, c.rows["X"][k])


def speeds_of_momenta(c: Contest, k: int) -> np.ndarray:
    pin.crba(c.peer, c.data, c.rows["Q"][k])
    pin.cholesky.decompose(c.peer, c.data)
    return pin.cholesky.solve(c.peer, c.data, c.rows["P"][k])


def forces_of_bodies(c: Contest, k: int) -> None:
    pin.rnea(c.peer, c.data, c.rows["Q"][k], c.rows["U"][k], aba(c, k, c.rows["Tau"][k]))


# ---- results of bodies out of Pinocchio's data, as ours deliver them
def poses(c: Contest) -> tuple[np.ndarray, ...]:
    R, r = np.empty((c.n, 3, 3)), np.empty((c.n, 3))
    for i, place in enumerate(c.data.oMi.tolist()[1:]):
        R[i], r[i] = place.rotation, place.translation
    return R, r


def of_bodies(name: str) -> Callable[[Contest], np.ndarray]:
    """Motions or forces of the bodies, by their name in the data."""
    def copied(c: Contest) -> np.ndarray:
        kept = np.empty((c.n, 6))
        for i, six in enumerate(getattr(c.data, name).tolist()[1:]):
            kept[i] = six.vector
        return kept

    return copied


def accelerations_of_origins(c: Contest) -> np.ndarray:
    """Theirs are spatial ones, without omega x v."""
    a, v = of_bodies("a")(c), of_bodies("v")(c)
    a[:, :3] += np.cross(v[:, 3:], v[:, :3])
    return a


def pose_of_frame(c: Contest) -> tuple[np.ndarray, ...]:
    place = c.data.oMf[c.frame]
    return place.rotation.copy(), place.translation.copy()


def whole_inverse(c: Contest) -> np.ndarray:
    W = c.data.Minv  # of which only the upper half is there
    W[c.below] = W.T[c.below]
    return W


COPIED = {"reactions": of_bodies("f"), "body_poses": poses, "body_velocities": of_bodies("v"),
          "body_accelerations": accelerations_of_origins, "body_momenta": of_bodies("h"), "frame_pose": pose_of_frame,
          "inverse_mass_matrix": whole_inverse}


def frame_velocity(c: Contest, k: int) -> np.ndarray:
    c.fk(c.rows["Q"][k], c.rows["U"][k])
    return pin.getFrameVelocity(c.peer, c.data, c.frame, pin.LOCAL).vector


def frame_acceleration(c: Contest, k: int) -> np.ndarray:
    c.fk(c.rows["Q"][k], c.rows["U"][k], aba(c, k, c.rows["Tau"][k]))
    return pin.getFrameAcceleration(c.peer, c.data, c.frame, pin.LOCAL).vector


def frame_drift(c: Contest, k: int) -> np.ndarray:
    c.fk(c.rows["Q"][k], c.rows["U"][k], c.zero)
    return pin.getFrameAcceleration(c.peer, c.data, c.frame, pin.WORLD).vector


def frame_pose(c: Contest, k: int) -> Any:
    c.fk(c.rows["Q"][k])
    return pin.updateFramePlacement(c.peer, c.data, c.frame)


def of(function: Callable[..., Any], *names: str) -> Callable[[Contest, int], Any]:
    """A call of Pinocchio's with rows of these names."""
    return lambda c, k: function(c.peer, c.data, *[c.rows[name][k] for name in names])


ROWS = (
    Row("rhs", ("Q", "P"), "aba", lambda c, k: aba(c, k, c.zero)),
    Row("rhs", ("Q", "P", "tau=Tau"), "aba", lambda c, k: aba(c, k, c.rows["Tau"][k])),
    Row("rhs", ("Q", "P", "tau=Tau", "wrench=Wrench"), "aba", lambda c, k: aba(c, k, c.rows["Tau"][k])),
    Row("accelerations", ("Q", "U", "tau=Tau"), "aba", lambda c, k: aba(c, k, c.rows["Tau"][k]), same),
    Row("inverse_dynamics", ("Q", "U", "Udot"), "rnea", of(pin.rnea, "Q", "U", "Udot"), same),
    Row("bias", ("Q", "U"), "nonLinearEffects", of(pin.nonLinearEffects, "Q", "U"), same),
    Row("gravity_forces", ("Q",), "computeGeneralizedGravity", of(pin.computeGeneralizedGravity, "Q"), same),
    Row("mass_matrix", ("Q",), "crba", of(pin.crba, "Q"), same),
    Row("inverse_mass_matrix", ("Q",), "computeMinverse", of(pin.computeMinverse, "Q"),
        lambda c, W: np.triu(W) + np.triu(W, 1).T),
    Row("solve_mass", ("Q", "X"), "crba, cholesky.decompose, solve", solve, same),
    Row("momenta", ("Q", "U"), "crba and a product", lambda c, k: pin.crba(c.peer, c.data, c.rows["Q"][k])
        @ c.rows["U"][k], same),
    Row("velocities", ("Q", "P"), "forwardKinematics", of(pin.forwardKinematics, "Q", "U"), keeps=False),
    Row("energy", ("Q", "P"), "computeKineticEnergy, computePotentialEnergy", energies),
    Row("reactions", ("Q", "P", "tau=Tau"), "aba, rnea", forces_of_bodies, keeps=False),
    Row("body_poses", ("Q",), "forwardKinematics", of(pin.forwardKinematics, "Q"), keeps=False),
    Row("body_velocities", ("Q", "P"), "forwardKinematics", of(pin.forwardKinematics, "Q", "U"), keeps=False),
    Row("body_accelerations", ("Q", "P", "tau=Tau"), "aba, forwardKinematics", lambda c, k: c.fk(
        c.rows["Q"][k], c.rows["U"][k], aba(c, k, c.rows["Tau"][k])), keeps=False),
    Row("body_momenta", ("Q", "P"), "computeCentroidalMomentum", lambda c, k: pin.computeCentroidalMomentum(
        c.peer, c.data, c.rows["Q"][k], c.rows["U"][k]).vector),
    Row("center_of_mass", ("Q",), "centerOfMass", of(pin.centerOfMass, "Q"), same),
    Row("total_momentum", ("Q", "P"), "computeCentroidalMomentum", lambda c, k: pin.computeCentroidalMomentum(
        c.peer, c.data, c.rows["Q"][k], c.rows["U"][k]).vector, same),
    Row("total_momentum_matrix", ("Q",), "ccrba", of(pin.ccrba, "Q", "U"), same),
    Row("frame_pose", ("Q", "frame"), "forwardKinematics, updateFramePlacement", frame_pose, keeps=False),
    Row("frame_velocity", ("Q", "P", "frame"), "forwardKinematics, getFrameVelocity", frame_velocity, same),
    Row("frame_acceleration", ("Q", "P", "frame", "tau=Tau"), "aba, forwardKinematics, getFrameAcceleration",
        frame_acceleration, same),
    Row("jacobian", ("Q", "frame"), "computeFrameJacobian", lambda c, k: pin.computeFrameJacobian(
        c.peer, c.data, c.rows["Q"][k], c.frame, pin.WORLD), same),
    Row("jacobian_dot_u", ("Q", "U", "frame"), "forwardKinematics, getFrameAcceleration", frame_drift, same),
)

# of momenta: in batches they are compared with a loop that solves for the speeds, too
OF_MOMENTA = ("velocities", "energy", "body_velocities", "body_momenta", "total_momentum", "frame_velocity")
SOLVED = "crba, cholesky.decompose, solve"

# operations of the table that are not timed here: `derivatives.py` has those of the right-hand side and of joint
# forces; regressors are for identification, where nobody waits for one of them
ELSEWHERE = ("jacobian_rhs", "jvp", "vjp", "derivatives_accelerations", "derivatives_inverse_dynamics",
             "momentum_regressor", "momentum_rate_regressor", "torque_regressor", "energy_regressor")

# ratios that are promised, at N = 7, 30, 100: of the counterpart's time, and of that of `rhs`
LIMITS = {("rhs", "tau"): (0.60, 0.40, 0.33), ("accelerations", "tau"): (0.60, 0.40, 0.33),
          ("inverse_dynamics", ""): (0.90, 0.55, 0.45), ("mass_matrix", ""): (0.90, 0.75, 0.60),
          ("inverse_mass_matrix", ""): (0.90, 0.75, 0.60)}
OVER_RHS = dict.fromkeys(("velocities", "momenta", "energy", "body_poses", "jacobian"), 1.2)
BATCH_LIMIT = 8.0


def optional(row: Row) -> str:
    """Names of the optional arguments of a row."""
    return ", ".join(name.partition("=")[0] for name in row.given if "=" in name)


def label(row: Row) -> str:
    return f"`{row.name}`" + (f", {optional(row)} given" if optional(row) else "")


def our_call(c: Contest, row: Row) -> Callable[[], Any]:
    """Our method for state 0, with `out=`."""
    method, given, options = getattr(c.system, row.name), [], {}
    for name in row.given:
        key, _, source = name.rpartition("=")
        value = FRAME if name == "frame" else c.rows[source][0]
        if key:
            options[key] = value
        else:
            given.append(value)
    new = method(*given, **options)
    out = np.empty(3) if row.name == "energy" else tuple(map(np.empty_like, new)) if isinstance(new, tuple) else (
        np.empty_like(new))
    return lambda: method(*given, **options, out=out)


def batch_call(c: Contest, row: Row, threads: int | None) -> Callable[[], Any]:
    """Our batched method for all states, with `out=`."""
    method, given, options = getattr(c.system, row.name + "_batch"), [], {}
    for name in row.given:
        key, _, source = name.rpartition("=")
        value = FRAME if name == "frame" else getattr(c, source)
        if key:
            options[key] = value
        else:
            given.append(value)
    new = method(*given, **options, threads=threads)
    out = tuple(map(np.empty_like, new)) if isinstance(new, tuple) else np.empty_like(new)
    return lambda: method(*given, **options, threads=threads, out=out)


def fill_call(c: Contest, row: Row) -> Callable[[], None]:
    """Write to arrays as large as the results."""
    new = batch_call(c, row, 1)()
    arrays = new if isinstance(new, tuple) else (new,)

    def fill() -> None:
        for array in arrays:
            array.fill(1.0)

    return fill


def from_momenta(row: Row) -> Row:
    """The same with a counterpart that gets the momenta, as ours does."""
    if row.name == "velocities":
        return replace(row, theirs=SOLVED, call=speeds_of_momenta, answer=same, keeps=True)

    def call(c: Contest, k: int) -> Any:
        speeds_of_momenta(c, k)
        return row.call(c, k)

    return replace(row, theirs=f"{SOLVED}, {row.theirs}", call=call)


def delivered(row: Row) -> Row:
    """The same with a counterpart that delivers what ours does."""
    copied = COPIED[row.name]

    def call(c: Contest, k: int) -> Any:
        row.call(c, k)
        return copied(c)

    return replace(row, theirs=f"{row.theirs}, results copied", call=call, answer=same, keeps=True)


def in_batches(rows: tuple[Row, ...]) -> list[Row]:
    """The rows of the table of batches."""
    compared = []
    for row in rows:
        compared += [row, *([delivered(row)] if row.name in COPIED else []),
                     *([from_momenta(row)] if row.name in OF_MOMENTA else [])]
    return compared


def flops_of(c: Contest, row: Row) -> int:
    """Floating-point operations of a state in the kernel of an operation; 0 where that has several (by methods)."""
    operation = OPERATIONS.get(row.name)
    if operation is None:
        return mb.flops.count(c.model, "emh-ldl", level="kernel").total if row.given == ("Q", "P") else 0
    ledger, model = Ledger(), c.model
    given = {source.lower(): c.rows[source][0] for source in (name.rpartition("=")[2] for name in row.given)
             if source != "frame"}
    given["frame"] = c.system.frame_numbers(FRAME)
    inputs = [Memory(np.ravel(given.get(argument.name, ())), ledger) for argument in operation.inputs]
    results = [Memory(np.zeros(int(np.prod(result.shape_for(model, 1)))), ledger) for result in operation.results]
    block = Memory(model.block, ledger)
    work = Memory(np.zeros(operation.work_size(model.block)), ledger)
    getattr(plain.load(operation.module), operation.function)(block, *inputs, *results, work)
    done = [sum(page.done[k] for page in ledger.pages.values()) for k in range(len(FLOPS) + 1)]
    return sum(done[:-1]) + SINCOS * done[-1]


def loop_call(c: Contest, row: Row, count: int) -> Callable[[], Any]:
    """A Python loop of the counterpart over the first states, which keeps arrays."""
    call, states = row.call, range(count)
    if not row.keeps:
        def loop() -> None:
            for k in states:
                call(c, k)
    else:
        first = call(c, 0)
        if isinstance(first, tuple):
            several = [np.empty((count, *np.shape(one))) for one in first]

            def loop() -> None:
                for k in states:
                    for kept, one in zip(several, call(c, k), strict=True):
                        kept[k] = one
        else:
            kept = np.empty((count, *np.shape(first)))

            def loop() -> None:
                for k in states:
                    kept[k] = call(c, k)
    return loop


def check(c: Contest, row: Row) -> None:
    """Both compute the same."""
    if row.answer is not None:
        ours, theirs = (x if isinstance(x, tuple) else (x,) for x in (
            our_call(c, row)(), row.answer(c, row.call(c, 0))))
        for mine, other in zip(ours, theirs, strict=True):
            error = np.abs(mine - other).max() / np.abs(other).max()
            # rounding times the condition of a chain's mass matrix, which is at most 1e9 at N = 100
            assert error <= 1e-6, f"{row.name}, {row.theirs}: {error:.1e}"


def shown(value: float, limit: float | None, below: bool = True) -> str:
    """A number; bold where it is on the wrong side of what is promised."""
    missed = limit is not None and (value > limit if below else value < limit)
    return f"**{value:.2f}**" if missed else f"{value:.2f}"


def named(row: Row) -> list[str]:
    """The operation and its counterpart: how a row of a table begins."""
    return [label(row), f"`{row.theirs}`" if "," not in row.theirs and " " not in row.theirs else row.theirs]


def one_state(contests: list[Contest], rows: tuple[Row, ...], turns: int) -> str:
    table = [named(row) for row in rows]
    tails: list[list[str]] = [[] for _ in rows]
    for at, c in enumerate(contests):
        rhs = our_call(c, ROWS[0])
        for row, cells, tail in zip(rows, table, tails, strict=True):
            check(c, row)
            times = interleaved({"ours": our_call(c, row), "theirs": lambda row=row, c=c: row.call(c, 0), "rhs": rhs},
                                turns, clock=time.thread_time)
            limits = LIMITS.get((row.name, optional(row)))
            cells.append(shown(ratio(times, "ours", "theirs"), limits[at] if limits else None))
            tail.append(shown(ratio(times, "ours", "rhs"), OVER_RHS.get(row.name)))
            print(".", end="", file=sys.stderr, flush=True)
    sizes = [c.n for c in contests]
    return markdown(["operation", "in Pinocchio", *[f"of its time, N = {sizes[0]}", *map(str, sizes[1:])],
                     *[f"of the time of `rhs`, N = {sizes[0]}", *map(str, sizes[1:])]],
                    [cells + tail for cells, tail in zip(table, tails, strict=True)])


def batches(contests: list[Contest], rows: tuple[Row, ...], turns: int) -> str:
    compared = in_batches(rows)
    table, tails = [named(row) for row in compared], [[] for _ in compared]
    peak, peak_flops = fma_loop()
    for c in contests:
        B = STATES[c.n]
        count = max(1, B // 8)  # states of the loop: all states take equally long
        for row, cells, tail in zip(compared, table, tails, strict=True):
            check(c, row)
            calls = {"one": batch_call(c, row, 1), "all": batch_call(c, row, None), "loop": loop_call(c, row, count),
                     "peak": peak, "fill": fill_call(c, row)}
            times, flops = interleaved(calls, turns, 5e-3), flops_of(c, row)
            times["loop"] *= B / count
            times["least"] = np.maximum(B * flops / peak_flops * times["peak"], times["fill"])
            most = f" of {ratio(times, 'loop', 'least'):.0f}" if flops else ""
            cells.append(shown(ratio(times, "loop", "one"), BATCH_LIMIT, below=False) + most)
            tail.append(shown(ratio(times, "loop", "all"), BATCH_LIMIT, below=False))
            print(".", end="", file=sys.stderr, flush=True)
    sizes = [f"N = {c.n}, {STATES[c.n]} states" for c in contests]
    return markdown(["operation", "in Pinocchio", *[f"{size}, one thread" for size in sizes],
                     *[f"{size}, all" for size in sizes]],
                    [cells + tail for cells, tail in zip(table, tails, strict=True)])


def chosen_rows(word: str) -> tuple[Row, ...]:
    missing = set(OPERATIONS) - {row.name for row in ROWS} - set(ELSEWHERE)
    assert not missing, f"{missing}: each needs a row here"
    return tuple(row for row in ROWS if word in row.name)


if __name__ == "__main__":
    only = ""
    if "--only" in sys.argv:
        at = sys.argv.index("--only")
        only = sys.argv[at + 1]
        del sys.argv[at:at + 2]
    tables = {"bench/operations.py one-state": one_state, "bench/operations.py batches": batches}
    options = arguments(__doc__.splitlines()[0], publishes=True, parts=[mark.split()[1] for mark in tables])
    contests = [Contest(n) for n in (SIZES[:2] if options.quick else SIZES)]
    chosen, turns = chosen_rows(only), 7 if options.quick else 25
    for mark, table in tables.items():
        if options.part in (None, mark.split()[1]):
            publish(options, PAGE, mark, table(contests, chosen, turns), COMMAND)
