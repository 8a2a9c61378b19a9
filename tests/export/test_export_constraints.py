"""Closed loops outside Python: the bits of rhs and its Jacobian, rows of constraints, steps; as an FMU, for CasADi."""

import ctypes
import shutil
import subprocess

import numba
import numpy as np
import pytest
from exported import PROGRAMS, Caller

import mbkern as mb
from mbkern import operations
from mbkern.export.header import header
from mbkern.export.library import JACOBIAN_OF_LOOPS
from mbkern.export.signatures import Function

OPERATIONS = ("rhs", "accelerations", "constraint_matrix", "jacobian_rhs", "rk4", "dopri5")
needs_c = pytest.mark.skipif(not shutil.which("cc"), reason="no C compiler on the path")


@pytest.fixture(scope="module")
def setup(tmp_path_factory):
    system = mb.System(mb.zoo.four_bar())
    made = mb.export.library(system, tmp_path_factory.mktemp("loop") / "loop", OPERATIONS, batch=True)
    q, u = system.consistent([0.3, 0.0, 0.0], [0.5, -0.2, 0.1])
    return system, Caller(made), q, system.momenta(q, u)


def test_operations(setup):
    system, call, q, p = setup
    qdot, pdot, udot, tau = np.empty(3), np.empty(3), np.empty(3), np.array([0.3, 0.0, -0.1])
    assert call("rhs", 0.0, q, p, tau, qdot, pdot) == 0
    assert np.array_equal((qdot, pdot), system.rhs(q, p, tau=tau))
    assert call("accelerations", 0.0, q, qdot, tau, udot) == 0
    assert np.array_equal(udot, system.accelerations(q, qdot, tau=tau))
    a, b = np.empty((system.model.n_rows, 3)), np.empty(system.model.n_rows)
    assert call("constraint_matrix", 0.0, q, a, b) == 0 and np.array_equal(a, system.constraint_matrix(q)[0])


def test_batches(setup):
    system, call, q, p = setup
    Q, P = np.tile(q, (5, 1)), np.outer(np.arange(5.0), p)
    Qdot, Pdot, codes = np.empty_like(Q), np.empty_like(P), np.empty(5, np.int64)
    assert call("rhs_batch", 5, 0.0, Q, P, None, Qdot, Pdot, codes, result=ctypes.c_int64) == 0
    expected = system.rhs_batch(Q, P)
    assert np.array_equal(Qdot, expected[0]) and np.array_equal(Pdot, expected[1])


def test_loops_stay_closed_over_steps(setup):
    system, call, q0, p0 = setup
    q, p = q0.copy(), p0.copy()
    assert call("rk4", 0.0, 1e-3, 200, q, p, None, None) == 0
    stepper = system.stepper("rk4", step=1e-3)
    stepper.reset(q0, p0)
    assert np.array_equal((q, p), stepper.step(200))
    assert np.abs(system.constraint_residuals(q)).max() < 1e-13
    q, p, clock = q0.copy(), p0.copy(), np.zeros(4)
    assert call("dopri5", 0.5, 10000, 1e-8, 1e-10, clock, q, p, None, None) == 0
    expected = system.simulate(q0, p0, (0.0, 0.5), rtol=1e-8, atol=1e-10)
    # states of a Solution have been put right once more: rounding, on numbers of size 1
    assert clock[0] == 0.5 and np.abs(q - expected.q[-1]).max() < 1e-15 and np.abs(p - expected.p[-1]).max() < 1e-14


def test_jacobian(setup):
    """With joint forces, to which the forces of the loop answer; of a workspace full of NaN."""
    system, call, q, p = setup
    for tau in (None, np.array([0.3, 0.0, -0.1])):
        A, B = np.empty((6, 6)), np.empty((3, 3))
        assert call("jacobian_rhs", 0.0, q, p, tau, A, B) == 0
        expected = system.jacobian_rhs(q, p, tau=tau)
        assert np.array_equal(A, expected.matrix) and np.array_equal(B, expected.pdot_tau)
    assert np.linalg.matrix_rank(B) == 1 and not np.array_equal(B, np.eye(3))  # one freedom is left
    assert call("jacobian_rhs", 0.0, q + np.inf, p, None, A, B) == 1 and np.isnan(A).all() and np.isnan(B).all()


@needs_c
def test_jacobian_for_cvode(setup, tmp_path):
    """The functions in the header that CVODE takes, called by a C program; its matrices are stored by columns."""
    system, call, q, p = setup
    command = ["cc", "-std=c99", "-Wall", "-Wextra", "-Werror", str(PROGRAMS / "solver.c"), "-I", str(call.folder),
               str(call.folder / "loop.o"), "-lm", "-o", str(tmp_path / "solver")]
    subprocess.run(command, check=True, capture_output=True, timeout=300)
    shown = subprocess.run([tmp_path / "solver"], input=" ".join(map(repr, [*q.tolist(), *p.tolist()])), text=True,
                           capture_output=True, check=True, timeout=300).stdout
    numbers, tau = np.array([float.fromhex(line) for line in shown.split()]), np.array([0.3, 0.0, -0.1])
    assert np.array_equal(numbers[:6], np.hstack(system.rhs(q, p, tau=tau)))
    assert np.array_equal(numbers[6:].reshape(6, 6).T, system.jacobian_rhs(q, p, tau=tau).matrix)


def test_trees_have_the_same_functions_for_cvode():
    functions = [Function(name, "int", [], "") for name in ("rhs", "jacobian_rhs")]
    assert "arm_jacobian_rhs(t, q, q + ARM_NQ, NULL, d->J, d->work)" in header("arm", {}, functions)
    assert "_cv_" not in header("arm", {}, functions, quaternions=True) + header("arm", {}, functions[:1])


# ---- rows that a function of the user fills --------------------------------------------------------------------------

@numba.njit
def along(t, q, a, b):
    """The tip of a double pendulum of rods of length 1 stays at the height where it began."""
    a[0, 0] = np.sin(q[0]) + np.sin(q[0] + q[1])
    a[0, 1] = np.sin(q[0] + q[1])


@numba.njit
def allocating(t, q, a, b):
    along(t, q, a, b)
    b[0] = 0.0 * np.zeros(a.shape[0])[0]


def guided(f):
    b = mb.ModelBuilder()
    b.add_body("upper", joint=mb.revolute("y"), mass=1.0, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0.01))
    b.add_body("fore", "upper", mb.revolute("y"), 0.8, (0, 0, -0.5), (0.08, 0.08, 0.01), (0, 0, -1.0))
    b.add_constraint(f, name="guide")
    return mb.System(b.build())


def test_rows_of_a_function_become_part_of_the_library(tmp_path):
    system = guided(along)
    call = Caller(mb.export.library(system, tmp_path / "guided", ("rhs", "constraint_matrix")))
    q = np.array([0.4, 0.7])
    p = system.momenta(q, system.consistent(q, [0.5, 0.2])[1])
    qdot, pdot = np.empty(2), np.empty(2)
    assert call("rhs", 0.0, q, p, None, qdot, pdot) == 0
    assert np.array_equal((qdot, pdot), system.rhs(q, p))
    assert abs(np.sin(q[0]) * qdot[0] + np.sin(q.sum()) * qdot.sum()) < 1e-14
    with pytest.raises(mb.errors.ExportError, match=r"jacobian_rhs .* constraints 'guide'"):
        mb.export.library(system, tmp_path / "guided", "jacobian_rhs")


def test_rows_that_cannot_leave_python_are_named(tmp_path):
    with pytest.raises(mb.errors.ExportError, match=r"rows 'allocating' of constraint 'guide': its code calls .*NRT"):
        mb.export.library(guided(allocating), tmp_path / "guided")


# ---- FMU -------------------------------------------------------------------------------------------------------------

@pytest.fixture(scope="module")
def fmus(setup, tmp_path_factory):
    system, _, q, p = setup
    folder = tmp_path_factory.mktemp("fmu")
    return {version: mb.export.fmu(system, folder / f"loop{version[0]}.fmu", version, outputs=("energy", "u"),
                                   start=(q, p), parameters="gravity") for version in ("2.0", "3.0")}


@needs_c
@pytest.mark.parametrize("version", ["2.0", "3.0"])
def test_fmu(setup, fmus, version):
    """Valid; the motion of `simulate` in both modes, with loops that stay closed."""
    fmpy = pytest.importorskip("fmpy")
    from fmpy.validation import validate_fmu

    system, _, q, p = setup
    path = str(fmus[version])
    assert validate_fmu(path) == []
    names = [*[f"q.{name}" for name in system.model.coordinate_names],
             *[f"p.{name}" for name in system.model.speed_names]]
    push = {f"tau.{system.model.speed_names[0]}": 0.4}
    expected = system.simulate(q, p, (0.0, 1.0), rtol=1e-11, atol=1e-12, tau=np.array([0.4, 0.0, 0.0]))
    for kind, tolerance in (("CoSimulation", 1e-9), ("ModelExchange", 1e-7)):
        table = fmpy.simulate_fmu(path, fmi_type=kind, stop_time=1.0, output_interval=0.02, output=names,
                                  relative_tolerance=tolerance, start_values=push)
        states = np.array([table[name] for name in names]).T
        # loops may be open by a hundred times the tolerance in Model Exchange; the errors of steps add up to as much
        limit = 1e-12 if kind == "CoSimulation" else 100 * tolerance
        assert max(np.abs(system.constraint_residuals(state[:3])).max() for state in states) < limit
        assert np.abs(states[-1] - np.r_[expected.q[-1], expected.p[-1]]).max() < 300 * tolerance


@needs_c
def test_importers_close_the_loops_again(setup, fmus):
    """A state that an importer sets is moved to the nearest one with closed loops; drift beyond the tolerance asks for
    an event, in which they are closed."""
    fmpy = pytest.importorskip("fmpy")
    from ctypes import byref, c_bool

    system, _, q, _ = setup
    description = fmpy.read_model_description(str(fmus["3.0"]))
    folder = fmpy.extract(str(fmus["3.0"]))
    machine = fmpy.fmi3.FMU3Model(guid=description.guid, unzipDirectory=folder, instanceName="loop",
                                  modelIdentifier=description.modelExchange.modelIdentifier)
    machine.instantiate()
    machine.enterInitializationMode(tolerance=1e-8)
    machine.setFloat64([1], [q[0] + 1e-3])
    machine.exitInitializationMode()
    state = (ctypes.c_double * 6)()
    machine.getContinuousStates(state, 6)
    assert np.abs(system.constraint_residuals(np.array(state[:3]))).max() < 1e-12 and state[0] != q[0]
    a, b = system.constraint_matrix(np.array(state[:3]))
    assert np.abs(a @ system.velocities(state[:3], state[3:]) + b).max() < 1e-12
    for amount, asks in ((1e-9, False), (1e-4, True)):
        machine.enterContinuousTimeMode()
        opened = (ctypes.c_double * 6)(*state)
        opened[1] += amount
        machine.setContinuousStates(opened, 6)
        event, _ = machine.completedIntegratorStep()
        assert bool(event) == asks
    machine.enterEventMode()
    flags = [c_bool() for _ in range(5)]
    assert machine.fmi3UpdateDiscreteStates(machine.component, *map(byref, flags), byref(ctypes.c_double())) == 0
    assert flags[3].value and not flags[1].value  # states have changed; nothing ends
    machine.getContinuousStates(state, 6)
    assert np.abs(system.constraint_residuals(np.array(state[:3]))).max() < 1e-12
    # derivatives of dp/dt along q and the joint force of the first dof
    A = system.jacobian_rhs(state[:3], state[3:])
    found = machine.getDirectionalDerivative([10, 11, 12], [1, 13], [0.5, 2.0])
    assert np.allclose(found, 0.5 * A.pdot_q[:, 0] + 2.0 * A.pdot_tau[:, 0], rtol=1e-9, atol=1e-9)
    other = mb.System(system.model.vary(gravity=[0.5 * system.model.gravity]).model_of(0))
    machine.setFloat64([22, 23, 24], (0.5 * system.model.gravity).tolist())
    # frames of machines that vary may lie elsewhere: rounding
    assert np.allclose(machine.getFloat64(range(7, 13)), np.hstack(other.rhs(state[:3], state[3:])), rtol=1e-12,
                       atol=1e-12)
    machine.terminate()
    machine.freeInstance()
    shutil.rmtree(folder)


# ---- CasADi ----------------------------------------------------------------------------------------------------------

@needs_c
def test_casadi(setup):
    ca = pytest.importorskip("casadi")
    system, _, q, p = setup
    f, tau = mb.export.casadi(system), np.array([0.3, 0.0, -0.1])
    assert np.array_equal(np.hstack([x.full().ravel() for x in f(q, p, tau, 0.0)]),
                          np.hstack(system.rhs(q, p, tau=tau)))
    x, u = ca.MX.sym("x", 6), ca.MX.sym("u", 3)
    rates = ca.vertcat(*f(x[:3], x[3:], u, 0.0))
    by_x, by_u = ca.Function("J", [x, u], [ca.jacobian(rates, x), ca.jacobian(rates, u)])(np.r_[q, p], tau)
    expected = system.jacobian_rhs(q, p, tau=tau)
    assert np.array_equal(by_x.full(), expected.matrix)
    assert np.array_equal(by_u.full(), np.vstack([np.zeros((3, 3)), expected.pdot_tau]))


def test_arguments_of_an_operation_have_different_names():
    """They are those of a C function."""
    for operation in (*operations.OPERATIONS.values(), *operations.CONSTRAINT_OPERATIONS.values(), JACOBIAN_OF_LOOPS):
        names = [argument.name for argument in (*operation.inputs, *operation.results)]
        assert len(names) == len({*names}), operation.name


def test_what_they_cannot_do_is_named(setup, tmp_path):
    system, *_ = setup
    loop = system.model.constraints[0].name
    with pytest.raises(mb.errors.ExportError, match=rf"jvp .* constraints \('{loop}', \.\.\.\)"):
        mb.export.library(system, tmp_path / "loop", ("rhs", "jvp"))
    with pytest.raises(mb.errors.MbkernError, match="start"):
        mb.export.fmu(system, tmp_path / "loop.fmu", start=(np.array([0.3, 0.0, 0.0]), np.zeros(3)))
    with pytest.raises(mb.errors.ExportError, match=r"constraint_matrix.* \(for models with constraints\)"):
        mb.export.library(mb.System(mb.zoo.chain(2)), tmp_path / "arm", "constraint_matrix")
