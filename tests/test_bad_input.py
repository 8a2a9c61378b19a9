"""Bad input to a System: every refusal names the argument or body; good input in any dress is accepted."""

import numpy as np
import pytest
import reference
from cases import assert_close, random_loads, random_model, random_state

import mbkern as mb
from mbkern.errors import MbkernError, MethodError, SingularInertiaError, StateError

T = 0.37


@pytest.fixture(scope="module")
def machine():
    model = random_model("random", 5, 3, base="free", kinds=["revolute", "universal", "ball", "driven"])
    q, p = random_state(model, 3, T)
    tau, wrench = random_loads(model, 3)
    return mb.System(model), {"q": q, "p": p, "t": T, "tau": tau, "wrench": wrench}


def rhs(system, **state):
    return system.rhs(state.pop("q"), state.pop("p"), state.pop("t"), **state)


# ----------------------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize("method", ["emh-ldl", "emh-lu"])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("argument", ["q", "p", "tau", "wrench", "t"])
def test_not_finite(machine, argument, bad, method):
    system, state = machine
    system = mb.System(system.model, method)
    value = np.array(state[argument], float)
    value.flat[-1] = bad
    with pytest.raises(StateError, match=rf"\b{argument}\b"):
        rhs(system, **state | {argument: value if value.ndim else float(value)})


@pytest.mark.parametrize("argument", ["q", "p", "tau", "wrench"])
@pytest.mark.parametrize("change", ["short", "long", "matrix", "scalar", "empty"])
def test_wrong_shape(machine, argument, change):
    system, state = machine
    value = state[argument]
    wrong = {
        "short": value[:-1],
        "long": np.concatenate([value, value[:1]]),
        "matrix": value[None],
        "scalar": 1.0,
        "empty": [],
    }[change]
    with pytest.raises(StateError, match=rf"\b{argument}\b") as info:
        rhs(system, **state | {argument: wrong})
    expected = value.shape[0]
    assert str(expected) in str(info.value), "the message says what was expected"


@pytest.mark.parametrize("argument", ["q", "p"])
@pytest.mark.parametrize("wrong", ["text", None, {"a": 1}, [1.0, "two"], [[1.0], [1.0, 2.0]]], ids=repr)
def test_not_numbers(machine, argument, wrong):
    system, state = machine
    with pytest.raises(StateError, match=rf"\b{argument}\b"):
        rhs(system, **state | {argument: wrong})


def test_complex_numbers(machine):
    system, state = machine
    with pytest.raises(StateError, match=r"\bq\b"):
        rhs(system, **state | {"q": state["q"] + 0.1j})


@pytest.mark.parametrize("wrong", ["soon", None, [1.0, 2.0], 1j], ids=repr)
def test_time_is_one_number(machine, wrong):
    system, state = machine
    with pytest.raises(StateError, match=r"\bt\b"):
        rhs(system, **state | {"t": wrong})


CALLS = {
    "rhs": lambda s, q, x: s.rhs(q, x, T),
    "momenta": lambda s, q, x: s.momenta(q, x, T),
    "velocities": lambda s, q, x: s.velocities(q, x, T),
    "solve_mass": lambda s, q, x: s.solve_mass(q, x, T),
    "energy": lambda s, q, x: s.energy(q, x, T),
    "body_velocities": lambda s, q, x: s.body_velocities(q, x, T),
    "body_momenta": lambda s, q, x: s.body_momenta(q, x, T),
    "mass_matrix": lambda s, q, x: s.mass_matrix(q, T),
    "inverse_mass_matrix": lambda s, q, x: s.inverse_mass_matrix(q, T),
    "body_poses": lambda s, q, x: s.body_poses(q, T),
    "blocks": lambda s, q, x: s.blocks(q, T),
}
SECOND = {
    "rhs": "p",
    "momenta": "u",
    "velocities": "p",
    "solve_mass": "x",
    "energy": "p",
    "body_velocities": "p",
}


@pytest.mark.parametrize("call", CALLS)
def test_every_call_checks_q(machine, call):
    system, state = machine
    q = state["q"].copy()
    with pytest.raises(StateError, match=r"\bq\b"):
        CALLS[call](system, q[:-1], state["p"])
    q[1] = np.nan
    with pytest.raises(StateError, match=r"\bq\b"):
        CALLS[call](system, q, state["p"])


@pytest.mark.parametrize("call", SECOND)
def test_every_call_checks_its_vector(machine, call):
    system, state = machine
    p = state["p"].copy()
    with pytest.raises(StateError, match=rf"\b{SECOND[call]}\b"):
        CALLS[call](system, state["q"], p[:-1])
    p[0] = np.inf
    with pytest.raises(StateError, match=rf"\b{SECOND[call]}\b"):
        CALLS[call](system, state["q"], p)


@pytest.mark.parametrize("call", CALLS)
def test_every_call_refuses_masked_arrays(machine, call):
    """Compiled code would take what lies below the mask. Other subclasses of arrays are arrays."""
    system, state = machine

    class Own(np.ndarray):
        pass

    q, x = state["q"], state["p"]
    CALLS[call](system, q.view(Own), x.view(Own))
    with pytest.raises(StateError, match="q: expected an array without a mask"):
        CALLS[call](system, np.ma.array(q, mask=np.arange(len(q)) == 1), x)
    if call in SECOND:
        with pytest.raises(StateError, match=f"{SECOND[call]}: expected an array without a mask"):
            CALLS[call](system, q, np.ma.array(x))


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("factor", [0.0, 0.5, 2.0, -3.0])
def test_quaternion_far_from_unit(machine, call, factor):
    """Body 0 hangs on a free joint; q[3:7] is its quaternion."""
    system, state = machine
    q = state["q"].copy()
    q[3:7] *= factor
    with pytest.raises(StateError, match="b0"):
        CALLS[call](system, q, state["p"])


def test_quaternion_nearly_unit(machine):
    """What an integrator leaves behind (1e-9 off) is accepted; the answer is that of the unit quaternion."""
    system, state = machine
    q = state["q"].copy()
    q[3:7] *= 1.0 + 1e-9
    exact, near = rhs(system, **state), rhs(system, **state | {"q": q})
    for a, b in zip(near, exact, strict=True):
        assert_close(a, b, 1e-7, "rhs")


def test_unknown_method(machine):
    system, _ = machine
    with pytest.raises(MethodError, match="emh-ldl") as info:
        mb.System(system.model, method="emh-lld")
    assert "emh-lld" in str(info.value)


@pytest.mark.parametrize("wrong", [None, "chain", 3, {}], ids=repr)
def test_not_a_model(wrong):
    with pytest.raises(MbkernError, match=r"[Mm]odel"):
        mb.System(wrong)


def test_spline_outside_its_knots():
    builder = mb.ModelBuilder()
    builder.add_body(
        "cart",
        joint=[mb.translate("x", mb.spline([0, 1, 2], [0, 1, 0])), mb.rotate("y")],
        mass=1.0,
        com=(0, 0, -1),
        inertia=(1, 1, 1),
    )
    system = mb.System(builder.build())
    system.rhs([0.1], [0.2], 1.5)
    with pytest.raises(MbkernError, match="cart"):
        system.rhs([0.1], [0.2], 2.5)


@pytest.mark.parametrize("size", [1e160, 1e200, 1e308])
def test_overflow_is_not_silent(machine, size):
    """Momenta whose squares overflow: an error, never NaN or infinity."""
    system, state = machine
    with pytest.raises(MbkernError):
        rhs(system, **state | {"p": np.full_like(state["p"], size)})


# ---------------------------------------------------------------------------------------- singular inertias


def point_mass_on_its_own_axis():
    builder = mb.ModelBuilder()
    builder.add_body("arm", joint=mb.revolute("z"), mass=1.0, com=(1, 0, 0), inertia=(1, 1, 1))
    builder.add_body("bead", "arm", mb.revolute("x"), mass=1.0, com=(0.5, 0, 0))
    return builder.build(), [0.3, 0.2], "bead"


def two_equal_axes():
    builder = mb.ModelBuilder()
    builder.add_body("ghost", joint=mb.revolute("z"))
    builder.add_body("arm", "ghost", mb.revolute("z"), mass=1.0, com=(1, 0, 0), inertia=(1, 1, 1))
    return builder.build(), [0.3, 0.2], "ghost"


def gimbal_lock():
    builder = mb.ModelBuilder()
    builder.add_body("base", joint=mb.prismatic("x"), mass=1.0)
    builder.add_body("top", "base", mb.euler_ball("zyx"), mass=1.0, com=(0, 0, 0.3), inertia=(1, 1, 1))
    return builder.build(), [0.1, 0.4, np.pi / 2, -0.3], "top"


def parallel_translations():
    builder = mb.ModelBuilder()
    builder.add_body("cart", joint=[mb.translate("x"), mb.rotate("z"), mb.translate("y")], mass=1.0, inertia=(1, 1, 1))
    return builder.build(), [0.0, -np.pi / 2, 0.0], "cart"


@pytest.mark.parametrize("method", ["emh-ldl", "emh-lu"])
@pytest.mark.parametrize("make", [point_mass_on_its_own_axis, two_equal_axes, gimbal_lock, parallel_translations])
def test_singular_articulated_inertia(make, method):
    model, q, name = make()
    system = mb.System(model, method)
    x = np.ones(model.nv)
    for call in (
        lambda: system.rhs(q, x),
        lambda: system.velocities(q, x),
        lambda: system.solve_mass(q, x),
        lambda: system.inverse_mass_matrix(q),
        lambda: system.energy(q, x),
    ):
        with pytest.raises(SingularInertiaError, match=name) as info:
            call()
        assert info.value.body == name
    # nothing to divide by here
    assert_close(system.momenta(q, x), reference.momenta(model, q, x), 1e-12, "momenta")
    assert_close(system.mass_matrix(q), reference.mass_matrix(model, q), 1e-12, "mass matrix")


def test_a_system_recovers_from_an_error():
    model, q, _ = gimbal_lock()
    system = mb.System(model)
    p = np.array([0.1, 0.2, 0.3, 0.4])
    good = np.array([0.1, 0.4, 0.5, -0.3])
    before = system.rhs(good, p)
    with pytest.raises(SingularInertiaError):
        system.rhs(q, p)
    for a, b in zip(system.rhs(good, p), before, strict=True):
        assert np.array_equal(a, b)


# ------------------------------------------------------------------------------------ good input in any dress


def lists(x):
    return x.tolist()


def strided(x):
    return np.repeat(x, 2, axis=-1)[..., ::2]


def reversed_view(x):
    return x[::-1].copy()[::-1]


def read_only(x):
    x = x.copy()
    x.flags.writeable = False
    return x


def fortran(x):
    return np.asfortranarray(x)


def big_endian(x):
    return x.astype(">f8")


@pytest.mark.parametrize("dress", [lists, strided, reversed_view, read_only, fortran, big_endian])
def test_same_numbers_in_another_form(machine, dress):
    system, state = machine
    expected = rhs(system, **state)
    dressed = {key: value if key == "t" else dress(value) for key, value in state.items()}
    for a, b in zip(rhs(system, **dressed), expected, strict=True):
        assert np.array_equal(a, b)


def test_single_precision_and_integers(machine):
    system, state = machine
    single = {key: value if key == "t" else value.astype(np.float32) for key, value in state.items()}
    double = {key: value if key == "t" else value.astype(np.float64) for key, value in single.items()}
    for a, b in zip(rhs(system, **single), rhs(system, **double), strict=True):
        assert a.dtype == np.float64
        assert np.array_equal(a, b)
    whole = np.arange(len(state["p"]))
    for a, b in zip(
        rhs(system, **state | {"p": whole, "t": 1}),
        rhs(system, **state | {"p": whole.astype(float), "t": np.float64(1.0)}),
        strict=True,
    ):
        assert np.array_equal(a, b)


@pytest.mark.parametrize("out", [5, (np.zeros(4),), (np.zeros(4), np.zeros(4), np.zeros(4)), (np.zeros(4), [0.0]),
                                 (np.zeros(4), np.zeros(3)), (np.zeros((4, 1)), np.zeros(4)),
                                 (np.zeros(8)[::2], np.zeros(4)), (np.zeros(4, np.float32), np.zeros(4))])
def test_arrays_that_results_do_not_fit_into(out):
    system = mb.System(mb.zoo.chain(4)).warmup()
    for _ in range(2):
        with pytest.raises(mb.errors.StateError, match=r"out: expected \(qdot, pdot\), contiguous writeable float64"):
            system.rhs(np.zeros(4), np.zeros(4), out=out)
    assert system.binding.frame_count <= 1  # the workspace was put back


@pytest.mark.parametrize("which", ["q", "p", "tau", "each other"])
def test_results_that_would_go_where_the_state_is(which):
    """Springs are read after the rates are written: the answer would be wrong, so such arrays are refused."""
    model = mb.zoo.chain(4)
    system = mb.System(model)
    memory = np.zeros(12)
    near, meeting = memory[:4], memory[3:7]
    given = {"q": np.zeros(4), "p": np.zeros(4), "tau": np.zeros(4)} | {which: near}
    given.pop("each other", None)
    first = near if which == "each other" else np.zeros(4)
    calls = [given] if which == "tau" else [given, {**given, "tau": None}]
    for arguments in calls:
        for out in ((first, meeting), (meeting, first)):
            with pytest.raises(mb.errors.StateError, match=r"out: .dot shares memory with "):
                system.rhs(**arguments, out=out)
        system.rhs(**arguments, out=(memory[4:8], memory[8:]))  # side by side


def test_inputs_are_left_alone_and_outputs_are_fresh(machine):
    system, state = machine
    before = {key: np.copy(value) for key, value in state.items()}
    qdot, pdot = rhs(system, **state)
    poses = system.body_poses(state["q"], T)
    mass = system.mass_matrix(state["q"], T)
    kept = [x.copy() for x in (qdot, pdot, *poses, mass)]
    other = state["q"].copy()
    other[:3] += 1.0
    system.rhs(other, 2 * state["p"], T)
    system.body_poses(other, T)
    system.mass_matrix(other, T)
    for x, copy in zip((qdot, pdot, *poses, mass), kept, strict=True):
        assert np.array_equal(x, copy), "an earlier answer was overwritten"
        assert x.flags.writeable
    for key, value in state.items():
        assert np.array_equal(before[key], value)


def test_same_array_for_q_and_p():
    model = random_model("chain", 4, 1, kinds=["revolute"])
    system = mb.System(model)
    x = np.array([0.1, 0.2, 0.3, 0.4])
    for a, b in zip(system.rhs(x, x), system.rhs(x, x.copy()), strict=True):
        assert np.array_equal(a, b)


@pytest.mark.parametrize("method", ["emh-ldl", "emh-lu"])
@pytest.mark.parametrize("angle", [1e3, 1e5, 1.1e5, 1e6, 1e8, 1e11])
def test_huge_angles(angle, method):
    """Millions of turns: argument reduction must not lose digits (the angle is taken as exact)."""
    model = random_model("chain", 4, 5, kinds=["revolute", "universal"], base="jointed")
    q, p = random_state(model, 5)
    q = q * angle
    expected = reference.hamilton(model, q, p)
    qdot, pdot = mb.System(model, method).rhs(q, p)
    # huge angles may come close to the universal joints' singularity, so the tolerance follows the condition
    tolerance = 1e-14 * np.linalg.cond(reference.mass_matrix(model, q)) + 1e-11
    assert_close(qdot, expected.qdot, tolerance, "qdot")
    assert_close(pdot, expected.pdot, tolerance, "pdot")


@pytest.mark.parametrize("angle", [1e15, 1e22, 1e300])
def test_angles_without_meaning(angle):
    """Beyond 1e12 neighbouring doubles are visible rotations apart: refused by name, or exact."""
    model = random_model("chain", 3, 5, kinds=["revolute"])
    q = np.array([0.1, angle, 0.2])
    p = np.ones(3)
    try:
        qdot, pdot = mb.System(model).rhs(q, p)
    except StateError as refusal:
        assert "q[1]" in str(refusal)
    else:
        expected = reference.hamilton(model, q, p)
        assert_close(qdot, expected.qdot, 1e-10, "qdot")
        assert_close(pdot, expected.pdot, 1e-10, "pdot")


@pytest.mark.parametrize("method", ["emh-ldl", "emh-lu"])
@pytest.mark.parametrize("distance", [1e-2, 1e-3, 1e-4])
def test_near_gimbal_lock_is_not_refused(distance, method):
    """The inertia of the first angle shrinks as distance^2; the error may grow as its inverse, no faster."""
    model, q, _ = gimbal_lock()
    q[2] -= distance
    u = np.array([0.1, 0.2, 0.3, 0.4])
    qdot, _ = mb.System(model, method).rhs(q, reference.momenta(model, q, u))
    assert_close(qdot, u, 1e-14 / distance**2, "qdot")


@pytest.mark.parametrize("method", ["emh-ldl", "emh-lu"])
@pytest.mark.parametrize("ratio", [1e-3, 1e-6, 1e-9, 1e-12])
def test_light_bodies_on_a_heavy_one(ratio, method):
    """A milligram on a tonne is no singularity; the light bodies' speeds are right on their own scale."""
    builder = mb.ModelBuilder()
    builder.add_body("truck", joint=mb.planar("z"), mass=1e3, com=(0.1, 0.2, 0.3), inertia=(500, 600, 700))
    parent = "truck"
    for name, joint in (("sensor", mb.ball()), ("needle", mb.revolute("x"))):
        inertia = np.array([5.0, 6.0, 7.0]) * ratio
        builder.add_body(name, parent, joint, 1e3 * ratio, (0.1, 0, 0.1), inertia, position=(1.0, 0.0, 1.0))
        parent = name
    model = builder.build()
    q, p = random_state(model, 0)
    expected = reference.hamilton(model, q, p)
    qdot, pdot = mb.System(model, method).rhs(q, p)
    for heavy_or_light in (slice(0, 3), slice(3, None)):
        assert_close(qdot[heavy_or_light], expected.qdot[heavy_or_light], 1e-12, "qdot")
        assert_close(pdot[heavy_or_light], expected.pdot[heavy_or_light], 1e-12, "pdot")


def test_positional_arguments_and_defaults(machine):
    """The order promised: rhs(q, p, t, tau, wrench); t defaults to 0."""
    system, state = machine
    q, p, tau, wrench = (state[key] for key in ("q", "p", "tau", "wrench"))
    for a, b in zip(system.rhs(q, p, T, tau, wrench), rhs(system, **state), strict=True):
        assert np.array_equal(a, b)
    for a, b in zip(system.rhs(q, p), system.rhs(q, p, t=0.0, tau=None, wrench=None), strict=True):
        assert np.array_equal(a, b)
    zero = system.rhs(q, p, tau=np.zeros_like(tau), wrench=np.zeros_like(wrench))
    for a, b in zip(system.rhs(q, p), zero, strict=True):
        assert_close(b, a, 1e-13, "zero loads")


def test_auto_is_one_of_the_methods(machine):
    system, state = machine
    answers = [rhs(mb.System(system.model, method), **state) for method in ("auto", "emh-ldl", "emh-lu")]
    for auto, ldl, lu in zip(*answers, strict=True):
        assert np.array_equal(auto, ldl) or np.array_equal(auto, lu)


def test_late_times_of_drives():
    """A harmonic drive after a million seconds."""
    builder = mb.ModelBuilder()
    builder.add_body(
        "base",
        joint=[mb.rotate("z", mb.harmonic(0.5, 3.0, 0.2)), mb.rotate("y")],
        mass=1.0,
        com=(0.2, 0, 0.1),
        inertia=(0.1, 0.2, 0.2),
    )
    model = builder.build()
    for t in (1e6, 1e9):
        expected = reference.hamilton(model, [0.4], [0.3], t)
        qdot, pdot = mb.System(model).rhs([0.4], [0.3], t)
        assert_close(qdot, expected.qdot, 1e-10, "qdot")
        assert_close(pdot, expected.pdot, 1e-10, "pdot")
