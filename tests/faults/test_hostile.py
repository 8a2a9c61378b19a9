"""Every argument of the calls that describe machines, and of those that run for long, against values that are wrong.

Nothing but an error of ours may come of it, in words, and never an answer that is none. The calls of one state have
the same in `test_bad_input.py` and `test_bad_drives.py`.
"""

from __future__ import annotations

import hostile
import numpy as np
import pytest
from hostile import arrays, counts, flags, lists_of_names, names, numbers, things

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


MODEL = loop_machine().build()
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
    "with_parameters": (made(mb.identification.with_parameters), dict(
        pi=(arrays, mb.identification.inertial_parameters(MODEL))), dict(model=MODEL)),
}
#: What is no mistake there: any folder may be the one with the meshes; no output, no constant; one number for all.
ALLOWED = {"load_sdf": {"package_dirs (['nonsense']) is accepted", "package_dirs ({'a': 1}) is accepted"},
           "linearize": {"outputs (nothing) is accepted"}, "derivatives_parameters": {"parameters ({}) is accepted"},
           "friction": {"coulomb (one number) is accepted"}, "simulate adaptive": {"atol (one number) is accepted"}}


def wrong(table, name):
    call, kinds, fixed = table[name]
    right = {argument: value for argument, (_, value) in kinds.items()}
    found = hostile.check(lambda **given: call(**fixed, **given), {a: kind for a, (kind, _) in kinds.items()}, right)
    return [line for line in found if line not in ALLOWED.get(name, set())]


@pytest.mark.parametrize("name", DESCRIBING)
def test_descriptions_of_machines(name):
    assert not wrong(DESCRIBING, name)


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


RUNNING = ("simulate", "simulate adaptive", "poincare", "identify", "linearize", "equilibrium",
           "derivatives_parameters", "assemble", "actuation", "impact", "friction")


@pytest.fixture(scope="module")
def running_calls():
    return running()


@pytest.mark.parametrize("name", RUNNING)
def test_calls_that_run(name, running_calls):
    assert not wrong(running_calls, name)
