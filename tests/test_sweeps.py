"""Sweeps over a caller's own records: against `rhs`, closed forms, the operators' identities, and bad input."""

from __future__ import annotations

import pickle

import hostile
import numpy as np
import pytest
from cases import JOINT_KINDS, random_configuration, random_model
from hostile import arrays, counts, names
from numba import njit

import mbkern as mb
from mbkern.errors import MethodError, ModelError, NotEnoughMemoryError, SingularInertiaError, StateError
from mbkern.sweeps import extended_ldl, momentum_rates

T = 0.7
TOLERANCE = 1e-12  # of the largest number
SCALAR_KINDS = tuple(kind for kind in JOINT_KINDS if kind not in ("ball", "free", "moving_ball"))


def close(x, y, condition=1.0):
    """To 1e-12, or to what rounding of the mass matrix alone does when its condition number is beyond 4500."""
    return np.abs(x - y).max() <= max(TOLERANCE, 2.0**-52 * condition) * max(1.0, np.abs(y).max())


def condition_of(mass):
    """Of the mass matrix with unit diagonal: free of units."""
    scale = 1.0 / np.sqrt(np.diag(mass))
    return np.linalg.cond(mass * scale * scale[:, None])


def random_case(family, seed, **options):
    model = random_model(family, 9, seed, **options)
    rng = np.random.default_rng(seed)
    system, q = mb.System(model, "emh-ldl"), random_configuration(model, rng)
    return system, q, system.momenta(q, rng.normal(size=model.nv), T), rng


@pytest.mark.parametrize("method", mb.sweeps.METHODS)
@pytest.mark.parametrize("family", ["chain", "carousel", "binary", "random"])
def test_sweeps_give_what_rhs_gives(family, method):
    for seed in range(12):
        system, q, p, rng = random_case(family, seed)
        tau = rng.normal(size=system.model.nv)
        motion = mb.sweeps.rhs(system.block_records(q, T), p, tau, method)
        _, pdot = system.rhs(q, p, T, tau)
        condition = condition_of(system.mass_matrix(q, T))
        assert close(motion.qdot, system.velocities(q, p, T), condition), seed
        assert close(motion.pdot, pdot, condition), seed
        assert close(motion.v, system.body_velocities(q, p, T), condition), seed
        assert close(motion.mu, system.body_momenta(q, p, T), condition), seed


def test_blocks_of_a_system_are_one_record_array():
    system, q, p, _ = random_case("random", 3)
    blocks, records = system.blocks(q, T), system.block_records(q, T)
    q[:] = 0.0  # they have been taken
    C, A, vr = blocks
    assert np.array_equal(blocks["C"], C) and np.array_equal(blocks["vr"], vr) and blocks[2] is vr
    assert all(np.array_equal(row["A"][:, :row["dofs"]], a) for row, a in zip(blocks.records, A, strict=True))
    assert np.array_equal(np.asarray(blocks), records) and blocks["parent"].tolist() == list(system.model.parents)
    assert np.array_equal(mb.sweeps.rhs(blocks, p).pdot, mb.sweeps.rhs(records, p).pdot)
    assert np.array_equal(pickle.loads(pickle.dumps(blocks)).records, records)


@pytest.mark.parametrize("method", mb.sweeps.METHODS)
def test_armature_and_forces_in_the_joints(method):
    for seed in range(6):
        system, q, p, _ = random_case("random", seed, kinds=SCALAR_KINDS, springs=True, rotors=True)
        model, blocks = system.model, system.block_records(q, T)
        u = system.velocities(q, p, T)
        tau = -model.stiffness * (q - model.rest) - model.damping * u
        motion = mb.sweeps.rhs(blocks, p, tau, method)
        assert close(motion.qdot, u) and close(motion.pdot, system.rhs(q, p, T)[1])
        assert close(mb.sweeps.momenta(blocks, u)[0], p)


def test_memory_of_algorithm_3_is_that_of_the_paths():
    """One number for each pair of dofs on a way to the root, and the same for every tree beside."""
    model = random_model("random", 9, 3)
    blocks = mb.System(model).block_records(model.neutral())
    dofs, parents = blocks["dofs"].tolist(), blocks["parent"].tolist()
    along = []
    for n, k in zip(dofs, parents, strict=True):
        along.append(n + (along[k] if k >= 0 else 0))
    pairs = sum(n * (x - n) for n, x in zip(dofs, along, strict=True))  # with dofs of bodies before
    size = mb.sweeps.work(blocks, "dah").size
    blocks["parent"] = -1
    assert pairs > 0 and size - mb.sweeps.work(blocks, "dah").size == pairs


def test_momenta_are_the_way_back():
    system, q, p, rng = random_case("random", 5)
    blocks, qdot = system.block_records(q, T), rng.normal(size=system.model.nv)
    p, v, mu = mb.sweeps.momenta(blocks, qdot)
    assert close(p, system.momenta(q, qdot, T))
    motion = mb.sweeps.rhs(blocks, p)
    assert close(motion.qdot, qdot) and close(motion.v, v) and close(motion.mu, mu)


def test_records_say_how_the_joint_basis_changes():
    """A_q and A_t against a difference quotient of A along the motion."""
    e = 1e-6
    for seed in range(8):
        system, q, p, _ = random_case("random", seed, kinds=SCALAR_KINDS)
        u, blocks = system.velocities(q, p, T), system.block_records(q, T)
        quotient = (system.block_records(q + e * u, T + e)["A"] - system.block_records(q - e * u, T - e)["A"]) / (2 * e)
        first = 0
        for row, dA in zip(blocks, quotient, strict=True):
            own = u[first:first + row["dofs"]]
            first += row["dofs"]
            rate = np.tensordot(own, row["A_q"][:len(own)], 1) + row["A_t"]
            assert np.abs(rate - dA).max() < 1e-8 * (1.0 + np.abs(u).max() ** 2)  # e^2 and rounding / e


def wire(q, m=2.0, g=9.81):
    """A bead on the wire z = x^2 / 2: a joint that no model has."""
    bead = mb.sweeps.zeros(1)
    bead["dofs"] = 1
    bead["A"][0, [0, 2], 0] = 1.0, q
    bead["A_q"][0, 0, 2, 0] = 1.0
    bead["M"][0] = np.diag([m, m, m, 1.0, 1.0, 1.0])
    bead["F"][0, 2] = -m * g
    return bead


@pytest.mark.parametrize("method", mb.sweeps.METHODS)
def test_a_bead_on_a_wire(method):
    q, p, m, g = 0.8, 1.7, 2.0, 9.81
    motion = mb.sweeps.rhs(wire(q), [p], method=method)
    inertia = m * (1 + q * q)
    assert motion.qdot[0] == pytest.approx(p / inertia, rel=1e-14)
    assert motion.pdot[0] == pytest.approx(p * p * m * q / inertia**2 - m * g * q, rel=1e-14)  # -dH/dq


def test_added_mass_of_a_fluid():
    """Kirchhoff's equations of a body in a fluid: its inertia is no rigid body's."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6, 6))
    fish = mb.sweeps.zeros(1)
    fish["dofs"], fish["A"][0], fish["M"][0] = 6, np.eye(6), X @ X.T + np.eye(6)
    p = rng.normal(size=6)
    u, w = np.split(np.linalg.solve(fish["M"][0], p), 2)
    f, t = np.split(p, 2)
    for method in mb.sweeps.METHODS:
        motion = mb.sweeps.rhs(fish, p, method=method)
        assert close(motion.qdot, np.concatenate([u, w]))
        assert close(motion.pdot, -np.concatenate([np.cross(w, f), np.cross(u, f) + np.cross(w, t)]))


@njit
def slide(blocks, q, p, tau, h, steps, qdot, pdot, v, mu, work):
    """Symplectic Euler steps of the bead, all in compiled code; records are filled here."""
    for _ in range(steps):
        blocks[0]["A"][2, 0] = q[0]
        if extended_ldl(blocks, p, qdot, v, mu, work) >= 0:
            return False
        momentum_rates(blocks, tau, qdot, v, mu, pdot, work)
        p[0] += h * pdot[0]
        if extended_ldl(blocks, p, qdot, v, mu, work) >= 0:
            return False
        q[0] += h * qdot[0]
    return True


def test_kernels_serve_compiled_code_of_the_user():
    blocks, q, p = wire(0.5), np.array([0.5]), np.zeros(1)
    rows = [np.empty(1), np.empty(1), np.empty((1, 6)), np.empty((1, 6)), mb.sweeps.work(blocks)]
    assert slide(blocks, q, p, np.empty(0), 1e-4, 20_000, *rows)
    energy = p[0] ** 2 / (4.0 * (1 + q[0] ** 2)) + 2.0 * 9.81 * q[0] ** 2 / 2
    assert energy == pytest.approx(2.0 * 9.81 * 0.5**2 / 2, rel=1e-3)  # of order h
    assert abs(p[0]) > 0.01  # it has moved
    blocks["M"] = 0.0
    assert not slide(blocks, q, p, np.empty(0), 1e-4, 1, *rows)


# ---- operators -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_identities_of_the_operators(seed):
    system, q, _, rng = random_case("random", seed, kinds=SCALAR_KINDS, rotors=seed % 2 == 1)
    model, blocks = system.model, system.block_records(q, T)
    o, qdot = mb.sweeps.operators(blocks), rng.normal(size=system.model.nv)
    _, v, mu = mb.sweeps.momenta(blocks, qdot)
    assert close(o.S @ v.ravel(), o.A @ qdot + blocks["vr"].ravel())
    assert close(o.B @ qdot + o.T @ blocks["vr"].ravel(), v.ravel())
    assert close(o.T.T @ o.M @ v.ravel(), o.H_sigma(qdot).ravel()) and close(o.H_sigma(qdot), mu)
    assert close(o.mass, system.mass_matrix(q, T))
    assert close(o.mass @ o.inverse_mass, np.eye(model.nv), np.linalg.cond(o.mass))
    roots = model.parents < 0
    assert o.M_sigma[roots, 0, 0].sum() == pytest.approx(model.total_mass, rel=1e-14)
    # M^Sigma is what a branch of locked joints weighs in T^T M T
    composite = o.T.T @ o.M @ o.T
    for i in range(model.n_bodies):
        assert close(composite[6 * i:6 * i + 6, 6 * i:6 * i + 6], o.M_sigma[i])


def test_centres_of_mass_of_branches():
    system, q, _, _ = random_case("random", 2)
    model = system.model
    centers, (R, r) = mb.sweeps.branch_centers(system.block_records(q, T)), system.body_poses(q, T)
    for i in range(model.n_bodies):
        branch = {i}
        branch |= {j for j in range(i + 1, model.n_bodies) if model.parents[j] in branch or _beyond(model, j, i)}
        mass = sum(model.body_specs[j].mass for j in branch)
        world = sum(model.body_specs[j].mass * (r[j] + R[j] @ np.array(model.body_specs[j].com)) for j in branch) / mass
        assert close(r[i] + R[i] @ centers[i], world)


def _beyond(model, j, i):
    while j > i:
        j = model.parents[j]
    return j == i


def test_multipliers_are_what_the_joints_block():
    system, q, p, _ = random_case("random", 3)
    blocks = system.block_records(q, T)
    for x in (mb.sweeps.rhs(blocks, p).mu, system.reactions(q, p, T)):
        lam, Z = mb.sweeps.multipliers(blocks, x)
        for row, l, z, x_i in zip(blocks, lam, Z, x, strict=True):
            A = row["A"][:, :row["dofs"]]
            assert l.shape == (6 - row["dofs"],) and np.abs(A.T @ z).max(initial=0.0) < 1e-12
            assert close(np.linalg.pinv(A).T @ (A.T @ x_i) + z @ l, x_i)


# ---- bad input -----------------------------------------------------------------------------------------------------


def three():
    return mb.System(mb.zoo.chain(3)).block_records([0.1, 0.2, 0.3])


def spoiled(field, place, value):
    """Makes such records; not at import, which would compile in every process."""
    def make():
        blocks = three()
        blocks[field][place] = value
        return blocks
    return make


BAD_RECORDS = {
    "parent after child": (spoiled("parent", 1, 2), ModelError, r"blocks\[1\]: its parent is 2.*parents come first"),
    "own parent": (spoiled("parent", 2, 2), ModelError, r"blocks\[2\]: its parent is 2"),
    "parent below ground": (spoiled("parent", 0, -2), ModelError, r"blocks\[0\]: its parent is -2.*\(the ground\)$"),
    "too many dofs": (spoiled("dofs", 1, 7), ModelError, r"blocks\[1\]: dofs = 7, expected 0 to 6"),
    "negative dofs": (spoiled("dofs", 1, -1), ModelError, r"blocks\[1\]: dofs = -1"),
    "huge dofs": (spoiled("dofs", 1, 2**62), ModelError, r"blocks\[1\]: dofs = 4611686018427387904"),
    "NaN in C": (spoiled("C", (1, 0, 2), np.nan), StateError, r"blocks\[1\]: C\[0, 2\] = nan"),
    "infinite A": (spoiled("A", (2, 3, 0), np.inf), StateError, r"blocks\[2\]: A\[3, 0\] = inf"),
    "NaN in M": (spoiled("M", (2, 4, 4), np.nan), StateError, r"blocks\[2\]: M\[4, 4\] = nan"),
    "NaN in vr": (spoiled("vr", (0, 5), np.nan), StateError, r"blocks\[0\]: vr\[5\] = nan"),
    "NaN in F": (spoiled("F", (0, 0), np.nan), StateError, r"blocks\[0\]: F\[0\] = nan"),
    "NaN in r": (spoiled("r", (1, 0), np.nan), StateError, r"blocks\[1\]: r\[0\] = nan"),
    "NaN in A_q": (spoiled("A_q", (1, 0, 3, 0), np.nan), StateError, r"blocks\[1\]: A_q\[0, 3, 0\] = nan"),
    "NaN in A_t": (spoiled("A_t", (1, 3, 0), np.nan), StateError, r"blocks\[1\]: A_t\[3, 0\] = nan"),
    "too large": (spoiled("F", (0, 0), 1e201), StateError, r"blocks\[0\]: F\[0\] = 1e\+201"),
    "no rotation": (spoiled("C", (1, 0, 0), 2.0), ModelError, r"blocks\[1\]: C is not \[\[G"),
    "a mirror": (spoiled("C", 1, np.diag([1.0, 1, -1, 1, 1, -1])), ModelError, r"blocks\[1\]: C is not.*det G = -1"),
    "force to velocity": (spoiled("C", (1, 4, 1), 0.3), ModelError, r"blocks\[1\]: C is not"),
    "no shift": (spoiled("C", (2, 0, 3), 5.0), ModelError, r"blocks\[2\]: C is not"),
    "skew M": (spoiled("M", (1, 0, 5), 0.7), ModelError, r"blocks\[1\]: M is not symmetric, M\[0, 5\] = 0.7 but"),
    "negative mass": (spoiled("M", (1, 2, 2), -1.0), ModelError, r"blocks\[1\]: the diagonal of M and r must not"),
    "negative rotor": (spoiled("r", (1, 0), -1.0), ModelError, r"blocks\[1\]: the diagonal of M and r must not"),
}


@pytest.mark.parametrize("what", BAD_RECORDS)
def test_bad_records_are_refused_by_body_and_value(what):
    make, error, words = BAD_RECORDS[what]
    blocks = make()
    for call in (mb.sweeps.check, mb.sweeps.operators, mb.sweeps.branch_centers, mb.sweeps.work,
                 lambda b: mb.sweeps.rhs(b, [0.0, 0.0, 1.0]), lambda b: mb.sweeps.momenta(b, [0.0, 0.0, 1.0]),
                 lambda b: mb.sweeps.multipliers(b, np.zeros((3, 6)))):
        with pytest.raises(error, match=words):
            call(blocks)


def test_padding_and_the_frame_of_the_ground_do_not_matter():
    blocks, expected = three(), mb.sweeps.rhs(three(), [0.1, 0.2, 0.3])
    blocks["A"][:, :, 1:], blocks["A_t"][:, :, 1:], blocks["r"][:, 1:] = np.nan, np.nan, np.nan
    blocks["A_q"][:, 1:], blocks["A_q"][:, :, :, 1:] = np.nan, np.nan
    blocks["C"][0] = 7.0
    for method in mb.sweeps.METHODS:
        motion = mb.sweeps.rhs(blocks, [0.1, 0.2, 0.3], method=method)
        assert close(motion.pdot, expected.pdot) and close(motion.qdot, expected.qdot)


@pytest.mark.parametrize("method", mb.sweeps.METHODS)
def test_singular_joints_are_named(method):
    blocks = three()
    blocks["M"][2] = 0.0
    with pytest.raises(SingularInertiaError, match=r"blocks\[2\]: A\^T M\* A of its joint \(1 dofs\) is singular") as e:
        mb.sweeps.rhs(blocks, [0.0, 0.0, 1.0], method=method)
    assert e.value.body == "blocks[2]"
    blocks = three()
    blocks["dofs"][1], blocks["A"][1, :, 1] = 2, blocks["A"][1, :, 0]  # the same motion twice
    with pytest.raises(SingularInertiaError, match=r"blocks\[1\]"):
        mb.sweeps.rhs(blocks, [0.0, 0.0, 0.0, 1.0], method=method)
    with pytest.raises(SingularInertiaError, match=r"blocks\[1\]"):
        mb.sweeps.operators(blocks)


@pytest.mark.parametrize("method", mb.sweeps.METHODS)
def test_what_is_no_inertia_is_named(method):
    """Not the joint that it spoils."""
    blocks = three()
    blocks["M"][2, 3, 5] = blocks["M"][2, 5, 3] = 1e3
    for call in (lambda: mb.sweeps.rhs(blocks, [0.0, 0.0, 1.0], method=method), lambda: mb.sweeps.operators(blocks)):
        with pytest.raises(ModelError, match=r"blocks\[2\]: M is no inertia: .*its least eigenvalue is -999"):
            call()


def test_dense_matrices_that_no_memory_holds_are_refused():
    blocks = mb.sweeps.zeros(100_000)
    with pytest.raises(NotEnoughMemoryError, match=r"dense matrices of 100000 bodies need 2.59e\+04 GB"):
        mb.sweeps.operators(blocks)
    blocks["dofs"] = 6
    for call in (lambda: mb.sweeps.work(blocks, "dah"), lambda: mb.sweeps.rhs(blocks, np.zeros(600_000), method="dah")):
        with pytest.raises(NotEnoughMemoryError, match='"emh-ldl" needs little for every tree'):
            call()


def test_other_dtypes_and_layouts_are_refused():
    blocks = three()
    single = np.dtype([(n, np.float32 if n == "C" else blocks.dtype[n].base, blocks.dtype[n].shape)
                       for n in blocks.dtype.names])
    cases = {
        "expected a record array": [1.0, 2.0],
        "got float64": np.zeros(3),
        "one without A_q, A_t": blocks[["parent", "dofs", "C", "A", "M", "vr", "F", "r"]],
        "fields of another type.*C: ": np.zeros(3, single),
        r"shape \(N,\), got shape \(1, 3\)": blocks.reshape(1, 3),
        r"got shape \(0,\)": blocks[:0],
        "side by side in memory": np.repeat(blocks, 2)[::2],
        "one without parent": np.zeros(2, [("x", float)]),
    }
    for words, given in cases.items():
        with pytest.raises(ModelError, match=words):
            mb.sweeps.rhs(given, [0.0, 0.0, 1.0])
    with pytest.raises(ModelError, match="dtype"):
        mb.sweeps.rhs(blocks.astype(blocks.dtype.newbyteorder()), [0.0, 0.0, 1.0])


def test_equal_arrays_of_other_kinds_are_taken():
    blocks, p = three(), [0.1, 0.2, 0.3]
    expected = mb.sweeps.rhs(blocks, p).pdot
    frozen = blocks.copy()
    frozen.flags.writeable = False
    again = np.zeros(3, np.dtype(blocks.dtype.descr))
    again[:] = blocks
    for given in (frozen, again, blocks.view(np.recarray)):
        assert np.array_equal(mb.sweeps.rhs(given, p).pdot, expected)


def test_bad_vectors_and_methods():
    blocks = three()
    for arguments, error, words in (
        (([0.0, np.nan, 0.0],), StateError, r"p\[1\] = nan"), (([0.0, 0.0],), StateError, "p: expected"),
        (([0.0] * 3, [np.inf, 0, 0]), StateError, r"tau\[0\] = inf"), (([0.0] * 3, [0.0]), StateError, "tau: expected"),
        (([0.0] * 3, None, "hzu"), MethodError, "expected one of emh-ldl, emh-lu, dah, got 'hzu'"),
        (([1e199] * 3,), StateError, "not finite"),
    ):
        with pytest.raises(error, match=words):
            mb.sweeps.rhs(blocks, *arguments)
    with pytest.raises(StateError, match=r"qdot\[2\] = nan"):
        mb.sweeps.momenta(blocks, [0.0, 0.0, np.nan])
    with pytest.raises(ModelError, match="n: expected the number of bodies, 1 to 9007199254740992, got 0"):
        mb.sweeps.zeros(0)
    with pytest.raises(StateError, match=r"wrench: expected finite numbers, shape \(3, 6\)"):
        mb.sweeps.multipliers(blocks, np.zeros((2, 6)))
    blocks["M"][2] = 0.0
    with pytest.raises(StateError, match=r"blocks\[2\]: its branch has no mass"):
        mb.sweeps.branch_centers(blocks)


def test_vectors_and_wrenches_against_what_is_wrong():
    """Masked arrays were taken with what lies below the mask."""
    blocks, x = three(), np.array([0.1, 0.2, 0.3])
    for call, kinds, right in (
            (mb.sweeps.rhs, dict(p=arrays, tau=arrays, method=names), dict(p=x, tau=x, method="emh-ldl")),
            (mb.sweeps.momenta, dict(qdot=arrays), dict(qdot=x)),
            (mb.sweeps.multipliers, dict(wrench=arrays), dict(wrench=np.zeros((3, 6))))):
        assert not hostile.check(lambda call=call, **given: tuple(call(blocks, **given)), kinds, right)
    for call in (mb.sweeps.check, mb.sweeps.operators, lambda b: mb.sweeps.rhs(b, x)):
        with pytest.raises(StateError, match="blocks: expected an array without a mask"):
            call(np.ma.array(blocks))
    assert not hostile.check(lambda n: mb.sweeps.zeros(n)["A"], dict(n=counts), dict(n=2))
    blocks["A"][1, 0, 0] = 1e200
    with pytest.raises(StateError, match="the result is not finite"):
        mb.sweeps.momenta(blocks, x)
