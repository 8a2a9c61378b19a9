"""Counts of the shipped kernels: the counting run is the compiled run, and costs what theory says."""

import numpy as np
import pytest
from cases import assert_close, random_loads, random_model, random_state
from numba import njit

import mbkern as mb
from mbkern.errors import MethodError, ModelError, SingularInertiaError, StateError
from mbkern.flops.diagrams import joint_of
from mbkern.methods import METHODS

FAMILIES = (mb.zoo.chain, mb.zoo.carousel, mb.zoo.binary_tree)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("seed", range(4))
def test_same_numbers_as_compiled(method, seed):
    model = random_model(("chain", "carousel", "binary", "random")[seed], 8, seed, springs=True)
    q, p = random_state(model, seed)
    tau, _ = random_loads(model, seed)
    counted = mb.flops.count(model, method, q=q, p=p, t=0.37, tau=tau)
    qdot, pdot = mb.System(model, method).rhs(q, p, 0.37, tau)
    # the same operations in the same order; only fma and sincos round differently in Python
    assert_close(counted.qdot, qdot, 1e-10, "qdot")
    assert_close(counted.pdot, pdot, 1e-10, "pdot")


@pytest.mark.parametrize("method", METHODS)
def test_count_does_not_depend_on_the_state(method):
    model = random_model("random", 6, 3)
    counts = {mb.flops.count(model, method, *([] if seed is None else ["kernel", *random_state(model, seed)])).total
              for seed in (None, 1, 2)}
    zero = mb.flops.count(model, method, q=model.neutral(), p=np.zeros(model.nv)).total
    assert counts == {zero}


@pytest.mark.parametrize("joint", [mb.revolute("z"), mb.prismatic("x"), mb.universal("x", "y"), mb.ball(), mb.free()],
                         ids=lambda joint: joint.kind)
def test_emh_is_linear_and_hardly_knows_the_structure(joint):
    def totals(method, make, sizes):  # of regular models: otherwise a small angle between two axes costs more
        return np.array([mb.flops.count(make(n, joint, seed=None), method).total for n in sizes])

    # by blocks, every body costs the same wherever it is
    found = [totals("emh-lu", make, (1, 2, 3, 4, 9)) for make in FAMILIES]
    assert np.all(found[0] == found)
    assert np.all(np.diff(found[0]) == (found[0][1] - found[0][0]) * np.array([1, 1, 1, 5]))
    # by coordinates: leaves and last children are cheaper, and how many of them there are grows with N
    for make, sizes in zip(FAMILIES, ((2, 3, 4, 9), (2, 3, 4, 9), (3, 7, 11, 31)), strict=True):
        found = totals("emh-ldl", make, sizes)
        assert np.all(np.diff(found) == (found[1] - found[0]) * np.array([1, 1, 5]))
    # a sibling needs one turn more, and within a joint its quarter turn is not free: 21 to 26 % seen
    nine = [mb.flops.count(make(9, joint), "emh-ldl").total for make in FAMILIES]
    assert max(nine) < 1.3 * min(nine)


@pytest.mark.parametrize(("method", "family", "degree"), [
    ("dah", mb.zoo.chain, 3), ("dah", mb.zoo.carousel, 1), ("hzu", mb.zoo.chain, 1), ("hzu", mb.zoo.carousel, 3),
])
def test_growth_of_the_reductions(method, family, degree):
    # two bodies need no axes of the world, in which rows of the mass matrix go to the root from their second node on
    totals = np.array([mb.flops.count(family(n), method).total for n in range(3, 9)])
    assert np.all(np.diff(totals, degree + 1) == 0) and np.all(np.diff(totals, degree) > 0)


@pytest.mark.parametrize("joint", [
    mb.revolute("z"), mb.prismatic("z"), mb.cylindrical("z"), mb.universal("x", "y"), mb.ball(), mb.euler_ball("zyx"),
    mb.planar("z"), mb.free()], ids=lambda joint: joint.kind)
@pytest.mark.parametrize("make", FAMILIES, ids=lambda make: make.__name__)
def test_below_table1(make, joint):
    for n in (2, 3, 20):
        model = make(n, joint)
        printed = mb.flops.table1(model)
        assert mb.flops.count(model, "emh-ldl").total < min(printed["EMH"], printed["ERA"])


@pytest.mark.parametrize("n", [2, 3, 4, 8, 20])
def test_random_trees_beside_table1(n):
    """All joint types with random axes; the formula charges nothing for driven and constant steps within a joint."""
    ratios = []
    for seed in range(60):
        model = mb.zoo.random_tree(n, seed=seed)
        ratios.append(mb.flops.count(model, "emh-ldl").total / mb.flops.table1(model)["EMH"])
    assert max(ratios) < 1.0 and np.mean(ratios) < 0.75


@pytest.mark.parametrize("kind", ["revolute", "prismatic", "cylindrical", "universal", "planar"])
def test_below_table1_with_oblique_axes(kind):
    axis, across = (1.0, 2.0, 3.0), (3.0, 0.0, -1.0)
    joint = mb.universal(axis, across) if kind == "universal" else getattr(mb, kind)(axis)
    for n in (2, 20):
        model = mb.zoo.chain(n, joint)
        assert mb.flops.count(model, "emh-ldl").total < mb.flops.table1(model)["EMH"]


def test_below_table1_on_stars():
    for n in range(1, 7):
        model = mb.zoo.star(3, 2, joint_of(n))
        assert mb.flops.count(model, "emh-ldl").total < mb.flops.table1(model)["EMH"]


def test_below_table1_on_the_pipelayer():
    model = mb.zoo.pipelayer()
    assert mb.flops.count(model, "emh-ldl").total < mb.flops.table1(model)["EMH"]


def test_a_pendulum_by_hand():
    """Every operation of the kernel that compiled code executes, counted on paper."""
    counted = mb.flops.count(mb.zoo.chain(1), "emh-ldl")
    turn = 6  # cosine and sine of the sum of two angles
    elimination = 1 + 2 + 4  # 1 / D; (p - phi) d; the margin: trace, multiple, difference
    velocity = 12 + 3 * 12 + 13 + 1  # u + w x rho; spin, tilt and turn of u and w; U^T v, the rate; v
    gravity = 3 * 6  # spin, tilt and turn
    momentum = 4 * 12  # four of six components of M v + phi: the torque about z needs no others
    force = 7 + 4  # one component of Omega mu; the moment of the weight less that
    assert counted.by_sweep == {"backward": turn + elimination, "forward": velocity + gravity + momentum + force}
    assert counted.by_operation["sincos"] == 1 and counted.by_operation["divide"] == 1


def test_dead_code_does_not_count():
    # pdot of a revolute needs one component of Omega mu; the source writes all six
    assert mb.flops.count(mb.zoo.chain(3), "emh-ldl").unused > 0


def test_a_weld_costs_nothing():
    def arm(tool):
        builder = mb.ModelBuilder()
        builder.add_body("a", joint=mb.revolute("z"), mass=1.0, inertia=(1, 1, 1))
        builder.add_body("b", "a", mb.revolute("x"), mass=1.0, inertia=(1, 1, 1), position=(1, 0, 0))
        if tool:
            builder.add_body("tool", "b", mb.weld(), mass=1.0, inertia=(1, 1, 1), position=(1, 0, 0))
        return builder.build()

    for method in ("emh-ldl", "dah"):
        assert mb.flops.count(arm(True), method).total == mb.flops.count(arm(False), method).total
    for method in ("emh-lu", "hzu"):  # body by body
        assert mb.flops.count(arm(True), method).total > mb.flops.count(arm(False), method).total


def test_nothing_but_welds():
    builder = mb.ModelBuilder()
    for name, parent in (("a", "world"), ("b", "a"), ("c", "world")):
        builder.add_body(name, parent, mb.weld(), mass=1.0, inertia=(1, 1, 1))
    model = builder.build()
    assert mb.flops.count(model, "emh-ldl").total == mb.flops.count(model, "dah").total == 0
    assert mb.flops.count(model, "emh-ldl", level="textbook").total == mb.flops.table1(model)["ERA"] == 144 + 828 + 144
    assert "emh-ldl" in str(mb.flops.report(model, measure=False))


def test_joint_forces_and_springs_cost_what_they_are():
    model = mb.zoo.chain(5)
    without = mb.flops.count(model).total
    assert mb.flops.count(model, tau=np.ones(5)).total == without + 5  # an addition each

    def bob(stiffness):
        builder = mb.ModelBuilder()
        builder.add_body("bob", joint=mb.revolute("y"), mass=1.0, com=(0, 0, 1), stiffness=stiffness)
        return mb.flops.count(builder.build()).total

    assert bob(3.0) == bob(0.0) + 5  # damping 2, spring 3


def test_compiled_drives_are_black_boxes():
    @njit
    def shake(t):
        return np.sin(t), np.cos(t), -np.sin(t)

    def model(drive):
        builder = mb.ModelBuilder()
        builder.add_body("cart", joint=[mb.translate("x", drive)], mass=1.0)
        builder.add_body("bob", "cart", mb.revolute("y"), mass=1.0, com=(0, 0, -1))
        return builder.build()

    unknown, known = (mb.flops.count(model(drive), q=[0.2], p=[0.3], t=0.4)
                      for drive in (mb.drive(shake), mb.harmonic(1.0, 1.0)))
    assert "evaluate_drives" not in unknown.by_sweep and known.by_sweep["evaluate_drives"] == 9
    assert unknown.total + 9 == known.total
    assert_close(unknown.pdot, known.pdot, 1e-13, "pdot")
    textbook = mb.flops.count(model(mb.drive(shake)), level="textbook", q=[0.2], p=[0.3], t=0.4)
    assert_close(textbook.pdot, known.pdot, 1e-13, "pdot")


def test_breakdowns_add_up_and_print():
    for method in METHODS:
        counted = mb.flops.count(mb.zoo.random_tree(7, seed=2), method)
        flops = sum(n for name, n in counted.by_operation.items() if name != "sincos")
        assert counted.total == flops == sum(counted.by_sweep.values())
        assert {"backward", "forward"} <= set(counted.by_sweep)
        assert str(counted.total) in str(counted)
    assert mb.flops.count(mb.zoo.chain(2), "auto").method in METHODS


def test_bad_input():
    model = mb.zoo.chain(3)
    for level in ("kernel", "textbook"):
        with pytest.raises(MethodError, match=r"expected 'auto' or 'emh-ldl'|expected one of emh-ldl"):
            mb.flops.count(model, "emh", level=level)
        with pytest.raises(MethodError, match=r"expected 'auto' or 'emh-ldl'|expected one of emh-ldl"):
            mb.flops.count(model, 3, level=level)
    with pytest.raises(MethodError, match="emh-cholesky"):
        mb.flops.count(model, "emh-cholesky")  # textbook only: the kernels' list is shown
    with pytest.raises(MethodError, match="level: expected one of kernel, textbook"):
        mb.flops.count(model, level="assembler")
    with pytest.raises(ModelError, match="model: expected a Model"):
        mb.flops.count(None)
    for level in ("kernel", "textbook"):
        with pytest.raises(ModelError, match=r"counted for trees; this model has constraints \('pin', \.\.\.\)"):
            mb.flops.count(mb.zoo.four_bar(), level=level)
    with pytest.raises(StateError, match="q: expected 3 real numbers"):
        mb.flops.count(model, q=[1.0])
    with pytest.raises(StateError, match="p"):
        mb.flops.count(model, p=[1.0, np.nan, 0.0])
    builder = mb.ModelBuilder()
    builder.add_body("light", joint=mb.revolute("z"))
    builder.add_body("heavy", "light", mb.revolute("x"), mass=1.0, inertia=(1, 1, 1))
    with pytest.raises(SingularInertiaError, match="light"):
        mb.flops.count(builder.build(), "hzu")


def test_import_is_cheap():
    import subprocess
    import sys

    code = ("import sys, mbkern; print('mbkern.flops' in sys.modules, 'matplotlib' in sys.modules); "
            "mbkern.flops.table1; print('matplotlib' in sys.modules)")
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert out == ["False", "False", "False"]
