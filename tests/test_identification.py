"""Regressors against Pinocchio, identification of machines that are known, derivatives by constants."""


import numba
import numpy as np
import pytest
from cases import SCLERONOMIC, assert_close, derivative, random_model, random_state

import mbkern as mb
from mbkern.errors import ModelError, StateError
from mbkern.identification import inertial_parameters, with_parameters

T = 0.37


# ---- regressors ----


def test_pinocchio_has_the_same_torque_regressor():
    peers = pytest.importorskip("peers")
    pin = pytest.importorskip("pinocchio")
    # one joint of Pinocchio for each body: its ten numbers are those of the body
    model = random_model("binary", 6, 2, base="free", kinds=("revolute", "prismatic", "ball"))
    peer, nv = peers.Pinocchio(model), model.nv
    q, _ = random_state(model, 1)
    u, udot = np.random.default_rng(2).normal(size=(2, nv))
    theirs = pin.computeJointTorqueRegressor(peer.model, peer.data, peer.q(q), peer.v(u), peer.v(udot))
    ours = mb.System(model).torque_regressor(q, u, udot).reshape(nv, -1, 10)
    order = [0, 1, 2, 3, 4, 7, 5, 8, 9, 6]  # theirs: mass, moments, xx, xy, yy, xz, yz, zz
    joints = np.array([joint - 1 for joint, _ in peer.bodies])
    theirs = theirs[peer.v_index].reshape(nv, -1, 10)[:, joints]
    assert_close(ours[:, :, order], theirs, 1e-12, "tau")


def test_parameters_make_the_model_again():
    model = random_model("binary", 5, 1, kinds=SCLERONOMIC)
    again = with_parameters(model, inertial_parameters(model))
    assert_close(inertial_parameters(again), inertial_parameters(model), 1e-14, "pi")


# ---- identification ----


@pytest.fixture(scope="module")
def arm():
    """An arm of three joints with all axes, its true model, and a record of a motion with joint forces and dampers."""
    builder = mb.ModelBuilder(gravity=(0, 0, -9.81))
    axes, parent = ("z", "y", "x"), "world"
    for k, axis in enumerate(axes):
        builder.add_body(f"link{k}", parent, mb.revolute(axis), mass=2.0 + k, com=(0.1, 0.05 * k, 0.2),
                         inertia=(0.05, 0.04, 0.03), position=(0.3 * (k > 0), 0, 0), damping=0.2, armature=0.01)
        parent = f"link{k}"
    model = builder.build()
    system, t = mb.System(model), np.linspace(0.0, 4.0, 1601)
    forces = np.column_stack([2.0 * np.sin(2.1 * t), 3.0 * np.sin(3.3 * t + 1.0), np.cos(4.7 * t)])
    run = system.simulate([0.2, 0.4, -0.3], [0.0, 0.0, 0.0], (0.0, 4.0), t_eval=t, rtol=1e-11, atol=1e-12,
                          tau=torque)
    return system, t, run.q, run.u, forces


@numba.njit
def torque(t, q, p, out):
    out[0], out[1], out[2] = 2.0 * np.sin(2.1 * t), 3.0 * np.sin(3.3 * t + 1.0), np.cos(4.7 * t)


def guess_of(system, *factors):
    """The same machine with other inertial parameters of its links."""
    pi = inertial_parameters(system.model).reshape(-1, 10)
    return mb.System(with_parameters(system.model, pi * np.array(factors)[:, None]))


def test_what_the_record_shows_is_found_and_the_rest_is_named(arm):
    system, t, q, u, tau = arm
    truth = inertial_parameters(system.model)
    found = mb.identify(guess_of(system, 1.3, 0.8, 1.2), t, q, u, tau)
    shown = np.array([name in found.identifiable for name in found.names])
    # cubic splines through samples 2.5 ms apart, of motion at 5 rad/s: 1e-8 of the impulses, times the condition
    assert shown.sum() >= 8 and np.abs(found.values[shown] - truth[shown]).max() < 1e-4
    # the first link turns about the vertical: of its ten numbers only the inertia about that axis can be seen
    assert {"link0.mass", "link0.moment_z", "link0.inertia_xx"} <= set(found.unidentifiable)
    assert "link2.moment_z" in found.identifiable
    assert np.all(np.isinf(found.deviations) == ~shown)
    # whatever is not determined does not matter: momenta are right
    rng = np.random.default_rng(0)
    for _ in range(3):
        x, w = rng.normal(size=(2, 3))
        Y = system.momentum_regressor(x, w)
        assert_close(Y @ found.values, Y @ truth, 1e-4, "momenta")


def test_without_joint_forces_no_parameter_is_called_identified():
    """Weight and inertia grow alike: the equations have a direction that is nothing but the error of the quadrature."""
    model = mb.zoo.chain(2, seed=3)
    system = mb.System(model)
    for samples in (101, 401, 1601):  # the smallest singular value: 1e-7, 6e-10, 2e-12 of the largest
        t = np.linspace(0.0, 2.0, samples)
        run = system.simulate([0.3, 0.5], [0.0, 0.0], (0.0, 2.0), t_eval=t, rtol=1e-12, atol=1e-13)
        found = mb.identify(system, t, run.q, run.u, np.zeros((samples, 2)), parameters=["body1"])
        assert found.rank == 9 and not found.identifiable


def test_a_mass_comes_out_of_noisy_data(arm):
    system, t, q, u, tau = arm
    rng = np.random.default_rng(1)
    noisy = [x + 1e-3 * rng.normal(size=x.shape) for x in (q, u)]
    found = mb.identify(guess_of(system, 1.0, 1.0, 1.2), t, *noisy, tau + 0.02 * rng.normal(size=tau.shape),
                        parameters=["link2"])
    truth = inertial_parameters(system.model)[20:]
    assert found.identifiable == found.names
    # pieces overlap by three quarters, so that sigma is too small by about two
    assert np.all(np.abs(found.values - truth) < 8.0 * found.deviations)
    assert abs(found["link2.mass"] - 4.0) < 0.05


def test_bodies_stay_physical_on_request(arm):
    """Noise makes the free fit impossible; the constrained one is a body, and fits hardly worse."""
    system, t, q, u, tau = arm
    rng = np.random.default_rng(4)
    noisy = tau + 1.5 * rng.normal(size=tau.shape)
    free = mb.identify(guess_of(system, 1.0, 0.8, 1.2), t, q, u, noisy, parameters=["link1", "link2"])
    held = mb.identify(guess_of(system, 1.0, 0.8, 1.2), t, q, u, noisy, parameters=["link1", "link2"], consistent=True)
    for row in held.values.reshape(-1, 10):
        P = mb.identification.parameters.pseudo_inertia(row)
        assert np.linalg.eigvalsh(P).min() >= -1e-12 * np.abs(P).max()
    assert held.residual <= 1.2 * free.residual
    assert held.model.n_bodies == 3
    with pytest.raises(ModelError, match=r"body 'link\d': (its mass would be|no body has principal moments)"):
        _ = free.model


def test_other_parameters_leave_constraints_alone():
    model = mb.zoo.four_bar()
    pi = inertial_parameters(model)
    pi[0] *= 2.0
    assert with_parameters(model, pi).constraints == model.constraints
    with pytest.raises(ModelError, match="not for models with constraints"):
        mb.identify(mb.System(model), np.arange(10.0), *np.zeros((3, 10, 3)))
    with pytest.raises(ModelError, match="without mass its first moment"):
        with_parameters(model, np.concatenate([[0.0], pi[1:]]))


def test_records_that_show_nothing_or_are_broken(arm):
    system, t, q, u, tau = arm
    with pytest.raises(StateError, match=r"t: expected finite, increasing times"):
        mb.identify(system, t[::-1], q, u, tau)
    with pytest.raises(StateError, match="at least 8"):
        mb.identify(system, t[:3], q[:3], u[:3], tau[:3])
    with pytest.raises(StateError, match=r"tau\[5, 1\] = nan"):
        bad = tau.copy()
        bad[5, 1] = np.nan
        mb.identify(system, t, q, u, bad)
    with pytest.raises(StateError, match=r"u: expected"):
        mb.identify(system, t, q, u[:, :2], tau)
    with pytest.raises(StateError, match="parameters: expected names"):
        mb.identify(system, t, q, u, tau, parameters=["link7"])
    with pytest.raises(StateError, match="all ten"):
        mb.identify(system, t, q, u, tau, parameters=["link1.mass"], consistent=True)
    with pytest.raises(StateError, match="window"):
        mb.identify(system, t, q, u, tau, window=0)
    floating = mb.ModelBuilder(gravity=(0, 0, 0))
    floating.add_body("stone", joint=mb.free(), mass=1.0, inertia=(1, 1, 1))
    still = np.tile(floating.build().neutral(), (20, 1))
    with pytest.raises(StateError, match="shows no parameter"):
        mb.identify(mb.System(floating.build()), np.arange(20.0), still, np.zeros((20, 6)), np.zeros((20, 6)))


# ---- derivatives by constants ----


def changed(model, name, kind, place, h):
    """The model with one number changed."""
    if name == "gravity":
        gravity = np.array(model.gravity)
        gravity[place] += h
        return type(model)(model.name, tuple(gravity.tolist()), model.body_specs)
    k = model.body_index(name)
    specs, spec = list(model.body_specs), model.body_specs[k]
    if kind == "inertia":
        J = np.array(spec.inertia)
        i, j = mb.identification.parameters.PLACES[place]
        J[i, j] += h
        J[j, i] = J[i, j]
        value = tuple(map(tuple, J.tolist()))
    elif kind == "mass":
        value = spec.mass + h
    else:
        numbers = list(getattr(spec, kind) or (0.0,) * spec.joint.nv)
        numbers[place] += h
        value = tuple(numbers)
    specs[k] = spec._replace(**{kind: value})
    return type(model)(model.name, tuple(model.gravity.tolist()), tuple(specs))


@pytest.mark.parametrize("seed", [0, 6, 9])
def test_derivatives_by_constants_are_those_of_differences(seed):
    model = random_model("binary", 4, seed, base=("jointed", "free", "driven")[seed % 3], springs=True, rotors=True)
    system = mb.System(model)
    q, p = random_state(model, 1, T)
    wrench = np.random.default_rng(seed).normal(size=(model.n_bodies, 6))
    by = system.derivatives_parameters(q, p, T, wrench=wrench)
    gravity = system.derivatives_parameters(q, p, T, parameters="gravity")
    assert len(by.names) == by.u.shape[1] == by.pdot.shape[1] and gravity.names == tuple(
        f"gravity[{k}]" for k in range(3))
    last = model.body_names[-1]
    names = [f"{last}.com", "gravity", f"{last}.mass"]
    listed = system.derivatives_parameters(q, p, T, wrench=wrench, parameters=names)
    assert listed.names == (*(f"{last}.com[{k}]" for k in range(3)), *gravity.names, f"{last}.mass")
    assert np.array_equal(listed.u[:, -1], by.u[:, by.names.index(f"{last}.mass")])
    rng, every = np.random.default_rng(seed), list(by.names)
    kinds = {name.rpartition(".")[2].partition("[")[0]: [] for name in every}
    for name in every:
        kinds[name.rpartition(".")[2].partition("[")[0]].append(name)
    sample = [name for group in kinds.values() for name in rng.choice(group, min(3, len(group)), replace=False)]
    for name in [*sample, *gravity.names]:
        body, _, what = name.rpartition(".")
        kind, _, place = what.partition("[")
        place = int(place[:-1]) if place else 0
        if kind == "armature" and not (model.body_specs[model.body_index(body)].armature or (0,) * 9)[place]:
            continue  # no rotor: another equation
        result, k = (gravity, gravity.names.index(name)) if not body else (by, by.names.index(name))
        given = None if not body else wrench

        def rates(h, body=body, kind=kind, place=place, given=given):
            other = mb.System(changed(model, body or "gravity", kind, place, h))
            return np.concatenate([other.velocities(q, p, T), other.rhs(q, p, T, wrench=given)[1]])
        expected = derivative(rates)
        got = np.concatenate([result.u[:, k], result.pdot[:, k]])
        # differences of order 4 or so with steps of 1e-3: 1e-8 of the rates themselves
        assert np.abs(got - expected).max() <= 1e-6 * max(1.0, np.abs(expected).max()), name


def test_bad_constants_are_named():
    model = mb.zoo.chain(2)
    system, zero = mb.System(model), np.zeros(2)
    with pytest.raises(ModelError, match=r"parameters\['body1'\]: expected mass.*got 'weight'"):
        system.derivatives_parameters(zero, zero, parameters={"body1": "weight"})
    with pytest.raises(ModelError, match="parameters: expected a mapping"):
        system.derivatives_parameters(zero, zero, parameters=5)
    with pytest.raises(ModelError):
        system.derivatives_parameters(zero, zero, parameters={"body9": "mass"})
