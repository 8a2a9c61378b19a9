"""Every argument of the calls that describe machines, and of those that run for long, against values that are wrong.

Nothing but an error of ours may come of it, in words, and never an answer that is none. The calls of one state have
the same in `test_bad_input.py` and `test_bad_drives.py`.
"""

from __future__ import annotations

import hostile
import numpy as np
import pytest
from hostile import (
    NAN,
    Raising,
    Stranger,
    arrays,
    counts,
    endless,
    flags,
    lists_of_names,
    names,
    numbers,
    paths,
    things,
)

import mbkern as mb

ONE, TWO, FREE = (0.1, 0.2, 0.3), np.ones(2), np.eye(3)


def loop_machine():
    builder = mb.ModelBuilder()
    body = dict(mass=1.0, com=(0.3, 0.1, 0.0), inertia=(0.1, 0.2, 0.25))
    builder.add_body("a", joint=mb.revolute("z"), **body)
    builder.add_body("c", "a", mb.revolute("z"), position=(1, 0, 0), **body)
    builder.add_body("d", joint=mb.revolute("z"), position=(2, 0, 0), **body)
    builder.add_body("w", joint=mb.free(), mass=1.0, inertia=(0.1, 0.2, 0.25))
    return builder


def added(method):
    def call(**arguments):
        builder = loop_machine()
        getattr(builder, method)(**arguments)
        model = builder.build()
        assert mb.Model.from_json(model.to_json()) == model
        return ()
    return call


def made(function):
    def call(**arguments):
        function(**arguments)
        return ()
    return call


def rows(t, q, v, a, b, rate):
    a[0, 0] = 1.0


def matrix(t, q, out):
    out[0, 0] = 1.0


def bias(t, q, v, out):
    out[0] = 0.0


def words(right):
    """Any words will do."""
    for is_right, what, value in lists_of_names(right):
        yield (None if what == "['nonsense']" else is_right), what, value


def limited():
    builder = mb.ModelBuilder()
    builder.add_body("arm", joint=mb.revolute("y"), mass=1.0, com=(1, 0, 0), limits=(-1, 1))
    return builder.build()


MODEL, LIMITED = loop_machine().build(), limited()
SDF = """<sdf version="1.7"><model name="m"><link name="bob"><inertial><mass>2</mass><inertia><ixx>0.1</ixx>
<iyy>0.1</iyy><izz>0.1</izz></inertia></inertial></link><joint name="s" type="revolute"><parent>world</parent>
<child>bob</child><axis><xyz>0 1 0</xyz></axis></joint></model></sdf>"""

DESCRIBING = {
    "add_body": (added("add_body"), dict(
        parent=(names, "c"), joint=(things, mb.universal("x", "y")), mass=(numbers, 1.0), com=(arrays, ONE),
        inertia=(arrays, (1.0, 1.0, 1.0)), position=(arrays, ONE), rotation=(arrays, FREE), check_inertia=(flags, True),
    ), dict(name="new")),
    "add_loop": (added("add_loop"), dict(
        body_a=(names, "c"), body_b=(names, "d"), kind=(names, "distance"), position_a=(arrays, ONE),
        rotation_b=(arrays, FREE), axis=(names, "z"), length=(numbers, 0.5)), dict(name="L")),
    "add_gear": (added("add_gear"), dict(coordinate=(names, "a"), of=(lists_of_names, ["c", "d"]), ratio=(arrays, TWO),
                                         offset=(numbers, 0.0)), {}),
    "add_blade": (added("add_blade"), dict(body=(names, "d"), position=(arrays, ONE), across=(names, "y"),
                                           rotation=(arrays, FREE), on=(names, "world")), dict(name="B")),
    "add_rolling": (added("add_rolling"), dict(
        body=(names, "w"), radius=(numbers, 0.5), kind=(names, "disc"), position=(arrays, ONE), axis=(arrays, ONE),
        tube=(numbers, 0.1), plane_position=(arrays, ONE), normal=(arrays, ONE), slips=(flags, False)), dict(name="R")),
    "add_frame": (added("add_frame"), dict(body=(names, "c"), position=(arrays, ONE), rotation=(arrays, FREE)),
                  dict(name="F")),
    "add_visual": (added("add_visual"), dict(body=(names, "c"), kind=(names, "box"), size=(arrays, ONE),
                                             position=(arrays, ONE), rotation=(arrays, FREE)), {}),
    "twist": (made(mb.twist), dict(axis=(arrays, ONE), pitch=(numbers, 0.1), amount=(numbers, 0.3)), {}),
    "rotate": (made(mb.rotate), dict(axis=(arrays, ONE), amount=(numbers, 0.3)), {}),
    "harmonic": (made(mb.harmonic), dict(amplitude=(numbers, 1.0), omega=(numbers, 2.0), phase=(numbers, 0.1)), {}),
    "spline": (made(mb.spline), dict(t=(arrays, np.arange(4.0)), x=(arrays, np.ones(4))), {}),
    "vary": (made(MODEL.vary), dict(body=(names, "a"), mass=(arrays, np.ones(3)), com=(arrays, np.ones((3, 3))),
                                    inertia=(arrays, np.ones((3, 3))), damping=(arrays, np.ones((3, 1)))), {}),
    "vary gravity": (made(MODEL.vary), dict(gravity=(arrays, np.ones((3, 3)))), {}),
    "describe": (made(MODEL.describe), dict(limit=(counts, 5)), {}),
    "chain": (made(mb.zoo.chain), dict(n=(counts, 3), gravity=(arrays, ONE), joint=(things, mb.revolute("x"))), {}),
    "random_tree": (made(mb.zoo.random_tree), dict(n=(counts, 3), joints=(things, [mb.ball()])), {}),
    "star": (made(mb.zoo.star), dict(chains=(counts, 3), length=(counts, 2)), {}),
    "n_four_bar": (made(mb.zoo.n_four_bar), dict(n=(counts, 3), gravity=(arrays, ONE)), {}),
    "four_bar": (made(mb.zoo.four_bar), dict(cut=(names, "rocker"), gravity=(arrays, ONE)), {}),
    "bricard": (made(mb.zoo.bricard), dict(cut=(counts, 3)), {}),
    "planetary_gear": (made(mb.zoo.planetary_gear), dict(sun=(counts, 20), planet=(counts, 15), planets=(counts, 3)),
                       {}),
    "knife_edge_cart": (made(mb.zoo.knife_edge_cart), dict(gravity=(numbers, 9.81)), {}),
    "load_sdf": (made(mb.load_sdf), dict(gravity=(arrays, ONE), package_dirs=(lists_of_names, ["meshes"])),
                 dict(path_or_xml=SDF)),
    "System": (made(mb.System), dict(model=(things, MODEL), method=(names, "auto")), {}),
    "Model": (made(mb.Model), dict(gravity=(arrays, ONE), body_specs=(things, MODEL.body_specs)), dict(name="")),
    "pack": (MODEL.pack, dict(q=(arrays, MODEL.neutral()), p=(arrays, np.ones(MODEL.nv))), {}),
    "save": (made(MODEL.save), dict(path=(paths, "machine.json")), {}),
    "soft_limits": (made(mb.forces.soft_limits), dict(model=(things, LIMITED), width=(numbers, 0.01)),
                    dict(stiffness=1.0, damping=1.0)),
    "Constraints": (made(mb.analytic.Constraints), dict(f=(things, rows), count=(counts, 1)), {}),
    "QuasiVelocities": (made(mb.analytic.QuasiVelocities), dict(f=(things, rows), names=(words, ["a"])), dict(count=1)),
    "Dynamics": (made(mb.analytic.Dynamics), dict(M=(things, matrix), names=(words, ["a"])), dict(h=bias)),
    "with_parameters": (made(mb.identification.with_parameters), dict(
        pi=(arrays, mb.identification.inertial_parameters(MODEL))), dict(model=MODEL)),
}
#: What is no mistake there: any folder may be the one with the meshes; no output, no constant; one number for all.
ALLOWED = {"load_sdf": {"package_dirs (['nonsense']) is accepted", "package_dirs ({'a': 1}) is accepted"},
           "linearize": {"outputs (nothing) is accepted"}, "derivatives_parameters": {"parameters ({}) is accepted"},
           "Dynamics": {"names ({'a': 1}) is accepted"}, "QuasiVelocities": {"names ({'a': 1}) is accepted"},
           "sol": {"t (one number) is accepted", "t (nothing) is accepted", "t (longer) is accepted"},
           "resample": {"t (nothing) is accepted"},
           "pack": {"q (a mapping) is accepted", "p (a mapping) is accepted"},
           "friction": {"coulomb (one number) is accepted"}, "simulate adaptive": {"atol (one number) is accepted"}}


def wrong(table, name):
    call, kinds, fixed = table[name]
    right = {argument: value for argument, (_, value) in kinds.items()}
    found = hostile.check(lambda **given: call(**fixed, **given), {a: kind for a, (kind, _) in kinds.items()}, right)
    return [line for line in found if line not in ALLOWED.get(name, set())]


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """What a call writes under a good name is not left where the tests were started."""
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("name", DESCRIBING)
def test_descriptions_of_machines(name):
    assert not wrong(DESCRIBING, name)


def test_a_mapping_of_names_to_numbers():
    name = MODEL.coordinate_names[0]
    for value in ("a", NAN, None, [1.0, 2.0, 3.0], [[1.0]], Raising(), endless(), 1j, Stranger()):
        with pytest.raises(mb.errors.StateError, match="q"):
            MODEL.pack({name: value})
    for word in (5, "nonsense", None, ("a",)):
        with pytest.raises(mb.errors.StateError, match="has no coordinate or body"):
            MODEL.pack({word: 1.0})


# ---- what counts operations, and what is computed by the printed algorithms: nothing is compiled ----

SMALL, Q2, P2 = mb.zoo.chain(2), np.array([0.3, 0.5]), np.array([0.1, -0.2])
COUNTING = {
    "count": (made(mb.flops.count), dict(model=(things, SMALL), method=(names, "emh-ldl"), q=(arrays, Q2),
                                         p=(arrays, P2), t=(numbers, 0.1), tau=(arrays, P2)), dict(level="textbook")),
    "formulas": (made(mb.flops.formulas), dict(tree=(things, mb.flops.model_structure(SMALL))), {}),
    "first_cheaper": (made(mb.flops.first_cheaper), dict(left=(names, "EMH"), right=(names, "DAH"), n=(counts, 1),
                                                         limit=(counts, 3)), {}),
    "selection_map": (made(mb.flops.selection_map), dict(max_length=(counts, 3), max_chains=(counts, 3),
                                                         source=(names, "table1-en"), seconds=(numbers, 0.01)),
                      dict(n=1)),
    "report": (made(mb.flops.report), dict(model=(things, SMALL), measure=(flags, False), seconds=(numbers, 0.01)), {}),
    **{f"textbook {method}": (mb.textbook.rhs, dict(
        model=(things, SMALL), q=(arrays, Q2), p=(arrays, P2), t=(numbers, 0.1), tau=(arrays, P2),
        method=(names, method)), {}) for method in ("emh-ldl", "dah", "hzu")},
    **{f"textbook {method}": (mb.textbook.accelerations, dict(
        model=(things, SMALL), q=(arrays, Q2), u=(arrays, P2), t=(numbers, 0.1), tau=(arrays, P2),
        method=(names, method)), {}) for method in ("newton-euler-ldl", "lagrange-1", "appell")},
}


@pytest.mark.parametrize("name", COUNTING)
def test_counts_and_printed_algorithms(name):
    assert not wrong(COUNTING, name)


def test_printed_appell_says_where_its_differences_have_no_digits():
    """It gave accelerations that were wrong by 30 % without a word."""
    with pytest.warns(mb.errors.AccuracyWarning, match="differences at unit accelerations"):
        mb.textbook.accelerations(SMALL, Q2, [0.1, 1e6], method="appell")


@pytest.mark.parametrize("seed", [-1, 1.5, "a", float("nan"), True, [1], hostile.Stranger(), hostile.endless()],
                         ids=repr)
def test_seeds(seed):
    for call in (MODEL.random_state, lambda seed: mb.zoo.chain(3, seed=seed), lambda seed: mb.zoo.random_tree(3, seed)):
        with pytest.raises(mb.errors.ModelError, match="seed: expected a whole number"):
            call(seed=seed)


@pytest.mark.parametrize("call", [mb.zoo.chain, mb.zoo.carousel, mb.zoo.binary_tree, mb.zoo.random_tree,
                                  mb.zoo.n_four_bar, lambda n: mb.zoo.star(10**4, n // 10**4)])
def test_machines_that_no_memory_holds(call):
    """They were built until the system killed the process."""
    with pytest.raises(mb.errors.NotEnoughMemoryError, match=r"1\d*000 bodies need about .* GB of memory"):
        call(10**13)


# ---- calls that run for long, on machines whose code other tests have compiled ----

PENDULUM = mb.ModelBuilder()
PENDULUM.add_body("bob", joint=mb.revolute("y"), mass=1.0, com=(1.0, 0, 0))
SYSTEM, SWING = mb.System(mb.zoo.chain(2)), mb.System(PENDULUM.build())
Q, P = np.array([0.3, 0.5]), np.array([0.1, -0.2])
T = np.linspace(0.0, 2.0, 41)


def record():
    """Of a motion with its joint forces."""
    q, u, a = (np.stack(pair, axis=1) for pair in (
        (np.sin(2 * T), np.cos(3 * T)), (2 * np.cos(2 * T), -3 * np.sin(3 * T)),
        (-4 * np.sin(2 * T), -9 * np.cos(3 * T))))
    return q, u, np.array([SYSTEM.inverse_dynamics(*row) for row in zip(q, u, a, strict=True)])


def spans(right):
    yield from things(right)
    for bad in ("ab", (0.0,), (0.0, 1.0, 2.0), (0.0, NAN), {0.0, 1.0}, ((0.0, 1.0), 1.0), (0.0, Raising())):
        yield False, repr(bad)[:30], bad


def running():
    q, u, tau = record()
    state = dict(q0=(arrays, Q), p0=(arrays, P))
    fixed = dict(integrator=(names, "rk4"), step=(numbers, 0.005))
    closed = mb.System(mb.zoo.four_bar())
    q_closed = closed.assemble([0.3, 0.0, 0.0])
    return {
        "simulate": (SYSTEM.simulate, dict(
            **state, **fixed, t_eval=(arrays, np.array([0.005, 0.01])), tau=(arrays, np.zeros(2)),
            wrench=(arrays, np.zeros((2, 6)))), dict(t_span=(0.0, 0.02))),
        "simulate adaptive": (SYSTEM.simulate, dict(
            rtol=(numbers, 1e-6), atol=(arrays, np.full(4, 1e-8)), max_step=(numbers, 0.01),
            step=(numbers, 0.01), save_every=(counts, 2)), dict(q0=Q, p0=P, t_span=(0.0, 0.02))),
        "sol": (SYSTEM.simulate(Q, P, (0.0, 0.1), dense=True).sol, dict(t=(arrays, np.array([0.01, 0.05]))), {}),
        "resample": (made(SYSTEM.simulate(Q, P, (0.0, 0.1)).resample), dict(t=(arrays, np.array([0.01, 0.05]))), {}),
        "t_span": (made(SYSTEM.simulate), dict(t_span=(spans, (0.0, 0.02))), dict(q0=Q, p0=P)),
        "ode": (SYSTEM.ode(), dict(t=(numbers, 0.1), y=(arrays, np.concatenate([Q, P]))), {}),
        "poincare": (mb.orbits.poincare, dict(
            system=(things, SWING), section=(names, "bob"), count=(counts, 2), value=(numbers, 1.6),
            longest=(numbers, 20.0)), dict(q0=[0.6], p0=[0.0], integrator="rk4", step=0.02)),
        "identify": (mb.identify, dict(
            system=(things, SYSTEM), t=(arrays, T), q=(arrays, q), u=(arrays, u), tau=(arrays, tau),
            parameters=(lists_of_names, ["body1"]), window=(counts, 8)), {}),
        "linearize": (SYSTEM.linearize, dict(inputs=(lists_of_names, [SYSTEM.model.speed_names[0]]), outputs=(
            arrays, np.eye(4)[:2])), dict(q=Q, p=P)),
        "equilibrium": (SYSTEM.equilibrium, dict(hold=(lists_of_names, [SYSTEM.model.speed_names[0]])),
                        dict(q_guess=[0.3, 1.2])),
        "derivatives_parameters": (SYSTEM.derivatives_parameters, dict(parameters=(things, {"body0": "mass"})),
                                   dict(q=Q, p=P)),
        "assemble": (closed.assemble, dict(q_guess=(arrays, q_closed), hold=(lists_of_names, ["crank"]),
                                           tolerance=(numbers, 1e-12), most=(counts, 100)), {}),
        "actuation": (closed.actuation, dict(
            q=(arrays, q_closed), u=(arrays, np.zeros(3)), udot=(arrays, np.zeros(3)),
            actuated=(lists_of_names, ["crank"])), {}),
        "impact": (closed.impact, dict(p=(arrays, np.ones(3)), restitution=(numbers, 0.5)), dict(q=q_closed)),
        "friction": (made(mb.forces.friction), dict(coulomb=(arrays, np.ones(2)), speed=(numbers, 0.1)), dict(
            model=SYSTEM.model)),
    }


RUNNING = ("simulate", "simulate adaptive", "sol", "resample", "t_span", "ode", "poincare", "identify",
           "linearize", "equilibrium", "derivatives_parameters", "assemble", "actuation", "impact", "friction")


@pytest.fixture(scope="module")
def running_calls():
    return running()


def test_arguments_of_studies_and_of_other_libraries():
    """Nothing runs."""
    for bad in (5, "abc", {}, hostile.Stranger(), hostile.Raising(), hostile.endless()):
        for adapter in (mb.embed.low_level_callable, mb.embed.cffi_pointers, mb.embed.cyrk_arguments,
                        mb.embed.sundials_address):
            with pytest.raises(mb.errors.StateError, match=r"f: expected a C function of a system \(system\.cfunc\)"):
                adapter(bad)
        with pytest.raises(mb.errors.StateError, match="symplectic: expected True or False"):
            mb.chaos.lyapunov(SYSTEM, Q, P, 1.0, symplectic=bad)
        with pytest.raises(mb.errors.StateError, match="direction: expected -1, 0 or 1"):
            mb.orbits.poincare(SWING, [0.6], [0.0], "bob", 2, direction=bad)


@pytest.mark.parametrize("name", RUNNING)
def test_calls_that_run(name, running_calls):
    assert not wrong(running_calls, name)
