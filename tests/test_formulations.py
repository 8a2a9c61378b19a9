"""Every formulation on one model: they agree with a dense solution, with each other, and with other libraries.

Tolerances are relative to the largest number of an answer. 1e-9: random machines whose mass matrices have condition
numbers up to about 1e6, which costs that many of sixteen digits. 1e-10 where the machines are known.
"""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import reference
from cases import (
    BASES,
    CANONICAL,
    FAMILIES,
    JOINT_KINDS,
    SCLERONOMIC,
    assert_close,
    derivative,
    random_loads,
    random_model,
    random_state,
)
from golden_models import golden_cases
from hypothesis import given
from hypothesis import strategies as st
from peers import Pinocchio

import mbkern as mb
from mbkern.costs import structure
from mbkern.errors import MethodError, SingularInertiaError, StateError
from mbkern.methods import ACCELERATIONS, METHODS

TOLERANCE = 1e-9
T = 0.37
GOLDEN = golden_cases()


def machines(kinds=JOINT_KINDS, springs=True):
    """Strategy: (model, seed) with up to ten bodies."""
    return st.builds(
        lambda family, n, seed, base, some, rotors: (
            random_model(family, n, seed, base=base, kinds=sorted(some), springs=springs, rotors=rotors),
            seed,
        ),
        st.sampled_from(FAMILIES),
        st.integers(1, 10),
        st.integers(0, 2**31),
        st.sampled_from(BASES),
        st.sets(st.sampled_from(kinds), min_size=1),
        st.booleans(),
    )


def state_of(model, seed):
    """q, p, joint speeds u, tau, wrench, and the dense accelerations and reactions."""
    q, p = random_state(model, seed, T)
    tau, wrench = random_loads(model, seed)
    u = reference.hamilton(model, q, p, T).u
    return q, p, u, tau, wrench, reference.newton_euler(model, q, u, T, tau, wrench)


# ------------------------------------------------------------------------------------------- they all agree


@given(machines())
def test_right_hand_sides(machine):
    model, seed = machine
    q, p, _, tau, wrench, _ = state_of(model, seed)
    expected = reference.hamilton(model, q, p, T, tau, wrench)
    for method in METHODS:
        qdot, pdot = mb.System(model, method).rhs(q, p, T, tau=tau, wrench=wrench)
        assert_close(qdot, expected.qdot, TOLERANCE, f"{method} qdot")
        assert_close(pdot, expected.pdot, TOLERANCE, f"{method} pdot")


@given(machines())
def test_accelerations(machine):
    model, seed = machine
    q, _, u, tau, wrench, expected = state_of(model, seed)
    system = mb.System(model)
    for method in ACCELERATIONS:
        assert_close(system.accelerations(q, u, T, tau, wrench, method), expected.udot, TOLERANCE, method)


@given(machines())
def test_momentum_rate_is_the_derivative_of_the_momenta(machine):
    """d/dt p(q, u, t) along (u, udot) equals pdot; eighth-order differences are good to about 1e-10 of p / 0.01 s."""
    model, seed = machine
    q, p, u, tau, wrench, _ = state_of(model, seed)
    system = mb.System(model)
    udot = system.accelerations(q, u, T, tau, wrench)
    _, pdot = system.rhs(q, p, T, tau=tau, wrench=wrench)
    moved = derivative(lambda h: system.momenta(reference.advance(model, q, u, h), u + h * udot, T + h))
    scale = max(np.max(np.abs(pdot), initial=1.0), np.max(np.abs(p), initial=0.0))
    assert np.max(np.abs(moved - pdot), initial=0.0) <= 1e-8 * scale


@given(machines())
def test_forward_and_inverse_dynamics_undo_each_other(machine):
    model, seed = machine
    q, _, u, tau, wrench, expected = state_of(model, seed)
    system = mb.System(model)
    scale = max(1.0, np.max(np.abs(expected.reactions)))  # tau is a difference of forces of this size
    back = system.inverse_dynamics(q, u, expected.udot, T, wrench)
    assert np.max(np.abs(back - tau), initial=0.0) <= TOLERANCE * scale
    wanted = np.random.default_rng(seed).normal(size=model.nv)
    needed = system.inverse_dynamics(q, u, wanted, T, wrench)
    for method in ACCELERATIONS:
        assert_close(system.accelerations(q, u, T, needed, wrench, method), wanted, 1e-8, method)


def test_longer_trees():
    """The eliminations of dah and hzu on rows of some hundred numbers."""
    for family in FAMILIES:
        model = random_model(family, 40, 3, kinds=("revolute", "universal", "ball", "prismatic"), rotors=True)
        q, p, u, tau, wrench, expected = state_of(model, 3)
        hamilton = reference.hamilton(model, q, p, T, tau, wrench)
        for method in METHODS:
            qdot, pdot = mb.System(model, method).rhs(q, p, T, tau=tau, wrench=wrench)
            assert_close(qdot, hamilton.qdot, TOLERANCE, f"{family} {method} qdot")
            assert_close(pdot, hamilton.pdot, TOLERANCE, f"{family} {method} pdot")
        for method in ACCELERATIONS:
            udot = mb.System(model).accelerations(q, u, T, tau, wrench, method)
            # Appell's coefficients are differences of the energy of accelerations of the whole tree: some digits less
            tolerance = 100 * TOLERANCE if method == "appell" else TOLERANCE
            assert_close(udot, expected.udot, tolerance, f"{family} {method}")


# ------------------------------------------------------------------------------------------------- reactions


@given(machines())
def test_reactions_are_the_dense_ones_and_project_on_the_joint_forces(machine):
    model, seed = machine
    q, p, u, tau, wrench, expected = state_of(model, seed)
    system = mb.System(model)
    R = system.reactions(q, p, T, tau, wrench)
    assert_close(R, expected.reactions, TOLERANCE, "reactions")
    _, A, _ = system.blocks(q, T)
    along = np.concatenate([A_i.T @ R_i for A_i, R_i in zip(A, R, strict=True)])
    difference = along + reference.armature(model) * expected.udot - reference.joint_forces(model, q, u, tau)
    assert np.max(np.abs(difference), initial=0.0) <= TOLERANCE * np.max(np.abs(R))


def world_wrench(R, r, wrench):
    """(force; moment about the world's origin) in world axes, of wrenches in body axes at the body origins."""
    force = np.einsum("nij,nj->ni", R, wrench[:, :3])
    return np.hstack([force, np.einsum("nij,nj->ni", R, wrench[:, 3:]) + np.cross(r, force)])


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("base", BASES)
def test_free_body_balance(base, seed):
    """Each body, and the machine as a whole: the rate of its momentum in the world is what acts on it."""
    model = random_model("random", 7, seed, base=base, springs=True, rotors=True)
    q, p, u, tau, wrench, _ = state_of(model, seed)
    system = mb.System(model)
    udot = system.accelerations(q, u, T, tau, wrench)
    inertias = np.array([reference.body_inertia(body) for body in model.body_specs])

    def momenta(h):
        q_h, t = reference.advance(model, q, u, h), T + h
        v = system.body_velocities(q_h, system.momenta(q_h, u + h * udot, t), t)
        return world_wrench(*system.body_poses(q_h, t), np.einsum("nij,nj->ni", inertias, v))

    R, r = system.body_poses(q, T)
    joints = world_wrench(R, r, system.reactions(q, p, T, tau, wrench))
    weights = np.array([body.mass * np.asarray(model.gravity) for body in model.body_specs])
    centres = r + np.einsum("nij,nj->ni", R, np.array([body.com for body in model.body_specs]))
    given_ = np.hstack([weights, np.cross(centres, weights)]) + world_wrench(R, r, wrench)
    acting = given_ + joints
    for b, parent in enumerate(model.parents):
        if parent >= 0:
            acting[parent] -= joints[b]
    rate = derivative(momenta)
    assert_close(rate, acting, 1e-8, "each body")
    ground = joints[model.parents < 0].sum(axis=0)
    assert_close(rate.sum(axis=0), given_.sum(axis=0) + ground, 1e-8, "the whole machine")


# --------------------------------------------------------------------------------- golden numbers and peers


@pytest.mark.parametrize("method", ACCELERATIONS)
@pytest.mark.parametrize("name", GOLDEN)
def test_golden_accelerations(name, method):
    model, expected = GOLDEN[name]
    udot = mb.System(model).accelerations(expected["q"], expected["u"], expected["t"], method=method)
    assert_close(udot, expected["qddot_without_tau"], 1e-10, method)


@pytest.mark.parametrize("name", GOLDEN)
def test_golden_reactions(name):
    model, expected = GOLDEN[name]
    R = mb.System(model).reactions(expected["q"], expected["p"], expected["t"])
    assert_close(R, expected["reactions_without_tau"], 1e-10, "reactions")


STEPS = [kind for kind in CANONICAL if kind != "driven"]
PEER_CASES = [  # the last number: with rotors; see Pinocchio.armature
    ("random", 20, "free", ("revolute", "prismatic", "ball", "free"), 2, False),
    ("binary", 31, "jointed", ("revolute", "prismatic"), 3, False),
    ("carousel", 12, "free", ("revolute", "ball"), 5, False),
    ("chain", 30, "jointed", ("revolute",), 7, True),
    ("random", 12, "free", SCLERONOMIC, 8, False),
    ("random", 12, "jointed", STEPS, 9, True),
    ("carousel", 12, "fixed", STEPS, 10, True),
]


@pytest.mark.parametrize("family,n,base,kinds,seed,rotors", PEER_CASES)
def test_pinocchio(family, n, base, kinds, seed, rotors):
    model = random_model(family, n, seed, base=base, kinds=kinds, rotors=rotors)
    peer, system = Pinocchio(model), mb.System(model)
    q, _ = random_state(model, seed)
    rng = np.random.default_rng(seed)
    u, udot = rng.normal(size=(2, model.nv))
    tau, wrench = random_loads(model, seed)
    for method in ACCELERATIONS:
        assert_close(system.accelerations(q, u, 0.0, tau, wrench, method), peer.accelerations(q, u, tau, wrench),
                     1e-10, f"{method} and pin.aba")
    assert_close(system.mass_matrix(q), peer.mass_matrix(q), 1e-12, "mass matrix and pin.crba")
    theirs = peer.pin.rnea(peer.model, peer.data, peer.q(q), peer.v(u), peer.v(udot))[peer.v_index]
    assert_close(system.inverse_dynamics(q, u, udot), theirs, 1e-10, "inverse dynamics and pin.rnea")


# --------------------------------------------------------------------------------- what cannot be, and errors


def pendulum_with(**body):
    """A good arm with one doubtful body on it."""
    builder = mb.ModelBuilder()
    builder.add_body("arm", joint=mb.revolute("y"), mass=1.0, com=(0.1, 0, 0), inertia=(0.1, 0.2, 0.2))
    builder.add_body("doubtful", "arm", position=(0.5, 0, 0), **body)
    return builder.build()


@pytest.mark.parametrize("body", [
    {},
    {"mass": 2.0, "com": (0.3, 0.1, 0)},
    {"mass": 1.0, "inertia": (0.0, 0.1, 0.1)},
    {"mass": 0.0, "inertia": (0.1, 0.1, 0.1)},
], ids=["massless", "point mass", "thin rod", "rotor"])
def test_singular_body_inertia(body):
    """Methods that invert body inertias say which one they cannot; the others do not mind."""
    model = pendulum_with(**body)
    q, u = [0.3], [0.7]
    with pytest.raises(SingularInertiaError, match=r"'hzu'.*'doubtful'") as info:
        mb.System(model, "hzu")
    assert info.value.body == "doubtful"
    system = mb.System(model)
    with pytest.raises(SingularInertiaError, match=r"'lagrange-1'.*'doubtful'"):
        system.accelerations(q, u, method="lagrange-1")
    report = system.method_report()
    assert "doubtful" in report.unable["hzu"] and "hzu" not in report.costs
    expected = reference.newton_euler(model, q, u)
    for method in ("newton-euler-ldl", "newton-euler-lu", "lagrange-2"):
        assert_close(system.accelerations(q, u, method=method), expected.udot, 1e-12, method)
    assert_close(mb.System(model, "dah").rhs(q, u)[1], reference.hamilton(model, q, u).pdot, 1e-12, "dah")


def gimbal_lock():
    builder = mb.ModelBuilder()
    builder.add_body("base", joint=mb.prismatic("x"), mass=1.0, inertia=(1, 1, 1))
    builder.add_body("top", "base", mb.euler_ball("zyx"), mass=1.0, com=(0, 0, 0.3), inertia=(1, 1, 1))
    return builder.build(), np.array([0.1, 0.4, np.pi / 2, -0.3]), "top"


def parallel_translations():
    builder = mb.ModelBuilder()
    builder.add_body("cart", joint=[mb.translate("x"), mb.rotate("z"), mb.translate("y")], mass=1.0, inertia=(1, 1, 1))
    builder.add_body("load", "cart", mb.ball(), mass=1.0, inertia=(1, 1, 1))
    return builder.build(), np.array([0.0, -np.pi / 2, 0.0, 1.0, 0.0, 0.0, 0.0]), "cart"


@pytest.mark.parametrize("make", [gimbal_lock, parallel_translations])
def test_singular_joints_are_named(make):
    model, q, name = make()
    x = np.ones(model.nv)
    for method in METHODS:
        with pytest.raises(SingularInertiaError, match=name) as info:
            mb.System(model, method).rhs(q, x)
        assert info.value.body == name
    system = mb.System(model)
    for method in ACCELERATIONS:
        with pytest.raises(SingularInertiaError, match=name):
            system.accelerations(q, x, method=method)
    # nothing to divide by here
    assert_close(system.inverse_dynamics(q, x, x), inverse_reference(model, q, x, x), 1e-12, "inverse dynamics")


def inverse_reference(model, q, u, udot):
    """M udot + h by the dense matrices: h from the momenta's balance at two accelerations would need M^-1."""
    s = reference.stack(model, q, 0.0, u)
    v = np.linalg.solve(s.S, s.A @ u + s.vr).reshape(-1, 6)
    wr = []
    for i, (body, (_, iu)) in enumerate(zip(model.body_specs, reference.slices(model), strict=True)):
        own = s.joints[i].Adot @ u[iu] + s.joints[i].vrdot
        if body.parent >= 0:
            v_k, C = v[body.parent], s.joints[i].C
            own = own + (reference.omega_matrix(v[i]).T @ C - C @ reference.omega_matrix(v_k).T) @ v_k
        wr.append(own)
    w = np.linalg.solve(s.S, s.A @ udot + np.concatenate(wr))
    gyroscopic = np.concatenate([reference.omega_matrix(v_i) @ (reference.body_inertia(b) @ v_i)
                                 for v_i, b in zip(v, model.body_specs, strict=True)])
    R = np.linalg.solve(s.S.T, s.M @ w + gyroscopic - reference.gravity_wrench(model, s))
    return s.A.T @ R


def test_unknown_methods_list_the_known():
    model = mb.zoo.chain(2)
    with pytest.raises(MethodError, match=r"emh-ldl, emh-lu, dah, hzu, newton-euler-ldl, .*, appell, auto"):
        mb.System(model, "cholesky")
    system = mb.System(model)
    with pytest.raises(MethodError, match="newton-euler-ldl, newton-euler-lu, lagrange-2, lagrange-1"):
        system.accelerations([0.0, 0.0], [0.0, 0.0], method="dah")


def test_bad_arguments():
    model = mb.zoo.chain(2)
    system = mb.System(model)
    good = np.zeros(2)
    for call, name in (
        (lambda: system.accelerations(good, [0.0, np.nan]), "u"),
        (lambda: system.accelerations(good, good, tau=[1.0]), "tau"),
        (lambda: system.accelerations(good, good, wrench=np.zeros((3, 6))), "wrench"),
        (lambda: system.inverse_dynamics(good, good, [1.0, 2.0, 3.0]), "udot"),
        (lambda: system.inverse_dynamics("home", good, good), "q"),
        (lambda: system.reactions(good, [np.inf, 0.0]), "p"),
        (lambda: system.reactions(good, good, np.nan), "t"),
    ):
        with pytest.raises(StateError, match=f"^{name}"):
            call()
    fast = [1e160, 1e160]
    for call in (lambda: system.accelerations(good, fast), lambda: system.inverse_dynamics(good, fast, good)):
        with pytest.raises(StateError, match="not finite"):
            call()


def test_drives_end_where_they_end():
    builder = mb.ModelBuilder()
    spline = mb.spline([0.0, 1.0, 2.0], [0.0, 0.5, 0.0])
    joint = [mb.translate("x", spline), mb.rotate("y")]
    builder.add_body("cart", joint=joint, mass=1.0, com=(0, 0, 1), inertia=(1, 1, 1))
    model = builder.build()
    system = mb.System(model)
    for call in (
        *(lambda m=method: system.accelerations([0.1], [0.2], 2.5, method=m) for method in ACCELERATIONS),
        *(lambda m=method: mb.System(model, m).rhs([0.1], [0.2], 2.5) for method in METHODS),
        lambda: system.inverse_dynamics([0.1], [0.2], [0.3], 2.5),
        lambda: system.reactions([0.1], [0.2], 2.5),
    ):
        with pytest.raises(StateError, match=r"cart.*t = 2\.5"):
            call()


def test_shared_by_threads():
    """Workspaces grow when a method needs more: one System from eight threads gives the bits of one thread."""
    model = random_model("random", 15, 1, springs=True, rotors=True)
    q, p = random_state(model, 1)
    u = mb.System(model).velocities(q, p)
    calls = [lambda s, m=method: s.accelerations(q, u, method=m) for method in ACCELERATIONS]
    calls += [lambda s: s.inverse_dynamics(q, u, u), lambda s: s.reactions(q, p), lambda s: s.rhs(q, p)[1]]
    expected = [call(mb.System(model)) for call in calls]
    shared = mb.System(model)
    with ThreadPoolExecutor(8) as pool:
        for k, result in enumerate(pool.map(lambda k: calls[k % len(calls)](shared), range(40 * len(calls)))):
            assert np.array_equal(result, expected[k % len(calls)])


# --------------------------------------------------------------------------------------- cost follows the tree


def growth(make, method):
    """Exponent of the numbers that a method keeps, between 200 and 400 bodies."""
    sizes = [METHODS[method].work_size(make(n).block) for n in (200, 400)]
    return np.log2(sizes[1] / sizes[0])


def test_memory_follows_the_sparsity():
    chain, carousel, tree = mb.zoo.chain, mb.zoo.carousel, mb.zoo.binary_tree
    for make, method in ((carousel, "dah"), (tree, "dah"), (chain, "hzu"), (tree, "hzu"), (chain, "emh-ldl")):
        assert growth(make, method) < 1.1, (make.__name__, method)
    for make, method in ((chain, "dah"), (carousel, "hzu")):
        assert growth(make, method) > 1.5, (make.__name__, method)


def test_counts_of_known_trees():
    """Chain of n: rows of 0, 1, ..., n - 1 numbers beside the diagonal; carousel: one each, and cliques of n - 1."""
    n = 30
    counts = structure(mb.zoo.chain(n))
    assert counts["pairs"] == n * (n - 1) / 2
    assert counts["triples"] == (n - 1) * n * (n + 1) / 6
    assert counts["row pairs"] == n * 10 + (n - 1) * 25
    counts = structure(mb.zoo.carousel(n))
    assert counts["pairs"] == counts["triples"] == n - 1
    assert counts["row pairs"] == sum(range(5 * n))
    assert structure(mb.zoo.chain(4, joint=mb.free()))["multipliers"] == 0


def test_auto_takes_the_lowest_estimate():
    for model in (mb.zoo.chain(80), mb.zoo.carousel(80), mb.zoo.binary_tree(80), mb.zoo.pipelayer()):
        system = mb.System(model)
        report = system.method_report()
        assert set(report.costs) == set(METHODS)
        assert system.method == report.chosen == min(report.costs, key=report.costs.get)
        text = str(report)
        assert all(name in text for name in METHODS) and f"auto takes {report.chosen!r}" in text
        assert all(0 < seconds < 1 for seconds in report.costs.values())


def test_estimates_grow_as_the_papers_say():
    """Between 400 and 800 bodies the leading power of each estimate shows."""
    expected = {
        "emh-ldl": (1, 1, 1), "emh-lu": (1, 1, 1), "dah": (3, 1, 1), "hzu": (1, 3, 1)
    }  # chain, carousel, binary tree
    for k, make in enumerate((mb.zoo.chain, mb.zoo.carousel, mb.zoo.binary_tree)):
        costs = [mb.System(make(n)).method_report().costs for n in (400, 800)]
        for method, powers in expected.items():
            power = np.log2(costs[1][method] / costs[0][method])
            assert abs(power - powers[k]) < 0.5, (make.__name__, method, power)
