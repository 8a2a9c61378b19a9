"""The table of operations: every one by every route, the same bits on each; what is refused, and how.

Whether the numbers are right is asked in core/test_operation_kernels.py; here they have to be the same everywhere.
"""

from __future__ import annotations

import ctypes
import functools
import inspect
import os
import pickle
import subprocess
from pathlib import Path

import numpy as np
import pytest
from c_library import FLAGS, compiler
from cases import random_model

import mbkern as mb
from mbkern.core.number import LANES
from mbkern.embed import CODES, header
from mbkern.errors import MbkernError, MethodError, ModelError, StateError
from mbkern.operations import OPERATIONS, Operation, markdown_table

T = 0.37
# every joint, on a base that is driven; one model for all, so that each form of an operation is compiled once
MODEL = random_model(family="binary", n=6, seed=6, base="driven", springs=True)
SYSTEM = mb.System(MODEL)
FRAME = MODEL.body_names[-1]
NAMES = tuple(OPERATIONS)
# the longest kernels: of their routes beside Python and C a sample, all with MBKERN_ALL_OPERATIONS=1
LONG = ("jvp", "vjp", "derivatives_accelerations", "derivatives_inverse_dynamics", "torque_regressor",
        "energy_regressor")
ALL = os.environ.get("MBKERN_ALL_OPERATIONS") == "1"
SHORT = tuple(name for name in NAMES if name not in LONG or ALL)
HANDLED = SHORT if ALL else tuple({(len(op.inputs) + len(op.results), op.room): name for name, op in (
    (name, OPERATIONS[name]) for name in reversed(SHORT))}.values())
# inputs of which there may be several: methods take vectors, or columns
ROWS = sorted({a.name for operation in OPERATIONS.values() for a in operation.inputs if "k" in a.shape})


@functools.cache
def states() -> list[dict[str, np.ndarray]]:
    """Arguments of all operations for some states; not at import, which would compile in every process."""
    found = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        q, u = MODEL.random_state(seed)
        found.append({"q": q, "u": u, "p": SYSTEM.momenta(q, u, T), "udot": rng.normal(size=MODEL.nv),
                      "tau": rng.normal(size=MODEL.nv), "wrench": rng.normal(size=(MODEL.n_bodies, 6)),
                      "frame": SYSTEM.frame_numbers(FRAME, "body"),
                      **{name: rng.normal(size=(1, MODEL.nv)) for name in ROWS}})
    return found


def many() -> list[dict[str, np.ndarray]]:
    """States for two full blocks of lanes and a part of a third."""
    return (states() * LANES)[:2 * LANES + 3]


def tupled(answer):
    return answer if isinstance(answer, tuple) else (answer,)


def method_of(operation: Operation, state, **options):
    """The result of the method of `System`, all arguments given."""
    given = {a.name: state[a.name] for a in operation.inputs}
    if "frame" in given:
        given["frame"] = FRAME
        if "axes" in inspect.signature(getattr(SYSTEM, operation.name)).parameters:
            options["axes"] = "body"
    for name in ROWS:
        if name in given:
            given[name] = given[name][0]
    answer = getattr(SYSTEM, operation.name)(**given, t=T, **options)
    return getattr(answer, "matrix", answer)


def expected(operation: Operation, state):
    return [np.asarray(x) for x in (tupled(method_of(operation, state)) if operation.name != "energy" else
                                    (method_of(operation, state),))]


@pytest.mark.parametrize("name", NAMES)
def test_out_is_filled_and_returned(name):
    operation, state = OPERATIONS[name], states()[0]
    new = expected(operation, state)
    given = [np.full(x.shape, np.nan) for x in new]
    out = given[0] if len(given) == 1 else tuple(given)
    answer = method_of(operation, state, out=out)
    for x, y in zip(given, new, strict=True):
        np.testing.assert_array_equal(x, y)
    if name != "energy":  # which answers with a named tuple
        assert all(x is y for x, y in zip(tupled(answer), given, strict=True))


@pytest.mark.parametrize("name", HANDLED)
def test_compiled_code_of_others_gets_the_same_bits(name):
    """The function that Python calls, for arguments in another form: one of each number of arguments, and of each size
    of a workspace, and all with MBKERN_ALL_OPERATIONS=1."""
    operation, state = OPERATIONS[name], states()[1]
    f, block = SYSTEM.njit(name)
    new = expected(operation, state)
    results = [np.full(r.shape_for(MODEL, 1), np.nan) for r in operation.results]
    code = f(block, T, *[state[a.name] for a in operation.inputs], *results, SYSTEM.work(name))
    assert code == 0
    for x, y in zip(results, new, strict=True):
        np.testing.assert_array_equal(x.reshape(y.shape), y)


# ---- C ----
def c_call(name: str, state, **left_out):
    """The results that C code gets, and the function."""
    f = SYSTEM.cfunc_of(name)
    inputs = [None if a.name in left_out else state[a.name] for a in f.operation.inputs]
    results = [np.full(f.shapes[r.name], np.nan) for r in f.operation.results]
    code = f.ctypes(T, *inputs, *results, f.user_data)
    assert code == f.status
    return f, results


def single(name: str, state, **left_out):
    """What the method of `System` gives for the same."""
    given = {a.name: state[a.name] for a in SYSTEM.cfunc_of(name).operation.inputs if a.name not in left_out}
    return [np.asarray(x) for x in tupled(getattr(SYSTEM, name)(**given, t=T))]


@pytest.mark.parametrize("name", NAMES)
def test_c_gets_the_same_bits(name):
    operation, state = OPERATIONS[name], states()[2]
    f, results = c_call(name, state)
    assert f.error is None and f.address > 0
    for x, y in zip(results, expected(operation, state), strict=True):
        np.testing.assert_array_equal(x.reshape(y.shape), y)


@pytest.mark.parametrize("name", ("rhs", "accelerations"))
@pytest.mark.parametrize("left_out", ((), ("wrench",), ("tau", "wrench")), ids=["all", "tau", "none"])
def test_right_hand_sides_have_the_same_bits_everywhere(name, left_out):
    """In Numba "rhs" has no wrench. Without wrenches the sum of joint forces has them as zeros: -0.0 apart the same."""
    state, left = states()[3], dict.fromkeys(left_out)
    new = single(name, state, **left)
    f, results = c_call(name, state, **left)
    for x, y in zip(results, new, strict=True):
        np.testing.assert_array_equal(x, y)
    if name == "accelerations":
        g, block = SYSTEM.njit(name)
        empty = {"tau": np.empty(0), "wrench": np.empty((0, 6))}
        inputs = [empty[a.name] if a.name in left else state[a.name] for a in f.operation.inputs]
        for x in results:
            x[:] = np.nan
        assert g(block, T, *inputs, *results, SYSTEM.work()) == 0
        np.testing.assert_array_equal(results[0], new[0])


def test_several_vectors_in_c():
    X = np.random.default_rng(1).normal(size=(3, MODEL.nv))
    f, Y = SYSTEM.cfunc_of("solve_mass", k=3), np.empty((3, MODEL.nv))
    assert f.ctypes(T, states()[0]["q"], X, Y, f.user_data) == 0
    np.testing.assert_array_equal(Y, SYSTEM.solve_mass(states()[0]["q"], X.T, T).T)
    for wrong in (0, -1, 1.5, True, "2"):
        with pytest.raises(StateError, match=r"^k: expected a whole number"):
            SYSTEM.cfunc_of("solve_mass", k=wrong)


def test_what_c_cannot_compute_is_nan_and_has_a_code():
    state = dict(states()[0], q=states()[0]["q"] * np.nan)
    f, (R, r) = c_call("body_poses", state)
    assert CODES[f.status][0] == "BAD_Q" and "BAD_Q" in str(f.error) and np.isnan(R).all() and np.isnan(r).all()
    bare = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_double, *[ctypes.c_void_p] * 4)(f.address)
    q = states()[0]["q"]
    assert bare(T, q.ctypes.data, R.ctypes.data, r.ctypes.data, f.user_data) == 0 and np.isfinite(R).all()
    code = bare(T, None, R.ctypes.data, r.ctypes.data, f.user_data)  # a null pointer for what is needed
    assert CODES[code][0] == "BAD_SHAPE" and np.isnan(R).all()
    other = SYSTEM.cfunc_of("mass_matrix")  # takes two arrays: nothing is known about these three
    assert CODES[bare(T, q.ctypes.data, R.ctypes.data, r.ctypes.data, other.user_data)][0] == "BAD_SHAPE"


def test_arrays_for_c_are_looked_at():
    f, p = SYSTEM.cfunc_of("momenta"), np.empty(MODEL.nv)
    state, other = states()[0], SYSTEM.cfunc_of("velocities")
    for arguments, match in (
            ((state["q"][:-1], state["u"], p, f.user_data), "q: expected a contiguous float64 array of shape"),
            ((state["q"], None, p, f.user_data), "u: expected"),
            ((state["q"], state["u"], [0.0], f.user_data), "p: expected"),
            ((state["q"], state["u"], p, other.user_data), "user: it belongs to COperation\\('velocities'"),
            ((state["q"], state["u"], p, SYSTEM.cfunc.user_data), "got that of a CFunc"),
            ((state["q"], state["u"], p, None), "user: expected the user_data of a COperation")):
        with pytest.raises(ctypes.ArgumentError, match=match):
            f.ctypes(T, *arguments)
    with pytest.raises(MethodError, match="the nearest is 'momenta'"):
        SYSTEM.cfunc_of("momentum")
    with pytest.raises(MbkernError, match="cannot be copied or pickled"):
        pickle.dumps(f)


def test_the_header_declares_every_operation():
    text = header()
    for name in (*NAMES, "rhs", "accelerations"):
        declared = SYSTEM.cfunc_of(name).signature.replace(f"int {name}(", f"typedef int (*mbkern_{name})(")
        assert declared + ";" in text


@pytest.mark.skipif(compiler() is None, reason="needs a C compiler")
def test_a_c_program_calls_an_operation(tmp_path):
    (tmp_path / "mbkern.h").write_text(header())
    (tmp_path / "hold.c").write_text("""
#include "mbkern.h"
/* joint forces that hold a machine at rest */
int hold(mbkern_inverse_dynamics f, void *user, const double *q, double *rest, double *tau) {
    for (long j = 0; j < mbkern_nv(user); j++) rest[j] = 0.0;
    return f(0.37, q, rest, rest, 0, tau, user);
}
""")
    target = tmp_path / "hold.so"
    subprocess.run([compiler(), *FLAGS, "-shared", "-fPIC", str(tmp_path / "hold.c"), "-o", str(target)], check=True)
    hold = ctypes.CDLL(str(target)).hold
    hold.argtypes = [ctypes.c_void_p] * 5
    f, q, zero, tau = SYSTEM.cfunc_of("inverse_dynamics"), states()[0]["q"], np.ones(MODEL.nv), np.empty(MODEL.nv)
    assert hold(f.address, f.user_data, q.ctypes.data, zero.ctypes.data, tau.ctypes.data) == 0
    np.testing.assert_array_equal(tau, SYSTEM.bias(q, zero, T))


def batch_of(operation: Operation, chosen, **options):
    """The result of the batched method for some states."""
    given = {}
    for a in operation.inputs:
        key = a.name if a.optional else a.name[0].upper() + a.name[1:]
        given[key] = np.array([state[a.name] for state in chosen])
    if "Frame" in given:
        del given["Frame"]
        given["frame"] = FRAME
        if "axes" in inspect.signature(getattr(SYSTEM, operation.name)).parameters:
            options["axes"] = "body"
    for key, value in given.items():
        if key[0].lower() + key[1:] in ROWS:
            given[key] = value[:, 0]
    return tupled(getattr(SYSTEM, operation.name + "_batch")(**given, t=T, **options))


@pytest.mark.slow  # 2 to 10 s each to compile
@pytest.mark.parametrize("name", SHORT)
def test_batches_have_the_bits_of_single_calls(name):
    operation = OPERATIONS[name]
    for chosen in (many(), states()[:1], many()[:LANES], states()[:4]):
        for threads in (1, None):
            results = batch_of(operation, chosen, threads=threads)
            for k, state in enumerate(chosen):
                for rows, one in zip(results, expected(operation, state), strict=True):
                    np.testing.assert_array_equal(rows[k], one)
    out = [np.full(x.shape, np.nan) for x in results]
    again = batch_of(operation, states()[:4], out=out[0] if len(out) == 1 else tuple(out))
    for x, y, z in zip(out, again, results, strict=True):
        assert y is x or y.base is x or np.shares_memory(x, y)
        np.testing.assert_array_equal(x, z)


@pytest.mark.slow
@pytest.mark.parametrize("name", ("inverse_dynamics", "velocities", "mass_matrix", "jacobian"))
def test_batches_with_machines_of_their_own(name):
    """A row with the nominal mass is the nominal row, round-off apart as frames may lie elsewhere; others differ."""
    operation, body = OPERATIONS[name], MODEL.body_names[2]
    chosen = many()
    masses = MODEL.body_specs[2].mass * np.linspace(1.0, 2.0, len(chosen))
    results = batch_of(operation, chosen, parameters=MODEL.vary(body=body, mass=masses))
    with_nominal = batch_of(operation, chosen)
    np.testing.assert_allclose(results[0][0], with_nominal[0][0], rtol=1e-9, atol=1e-9)
    differs = np.abs(results[0] - with_nominal[0]).max()
    assert (differs > 1e-3) == (name != "jacobian")  # a mass does not move a frame


@pytest.mark.slow
@pytest.mark.parametrize("name", ("mass_matrix", "inverse_mass_matrix"))
@pytest.mark.parametrize("n", (1, 2, 3, 4, 5, 6, 7, 9))
def test_symmetric_results_are_whole(name, n):
    """Lanes have one half of them; rows are written in tiles, which few dofs do not fill. A bad row is NaN."""
    system = mb.System(mb.zoo.chain(n))
    Q = np.random.default_rng(n).normal(size=(2 * LANES + 3, n))
    Q[LANES + 1, n - 1] = np.nan
    with pytest.warns(RuntimeWarning, match=f"1 of {len(Q)} states"):
        H = getattr(system, name + "_batch")(Q)
    assert np.isnan(H[LANES + 1]).all()
    for k in np.delete(np.arange(len(Q)), LANES + 1):
        np.testing.assert_array_equal(H[k], getattr(system, name)(Q[k]))


def test_a_bad_row_is_nan_and_leaves_the_others_alone():
    Q = np.array([state["q"] for state in states()])
    good = SYSTEM.momenta_batch(Q, Q[:, :MODEL.nv] * 0 + 1.0, T)
    Q[2, 0] = np.nan
    P, status = SYSTEM.momenta_batch(Q, np.ones((5, MODEL.nv)), T, return_status=True)
    assert CODES[status[2]][0] == "BAD_Q" and not np.delete(status, 2).any()
    assert np.isnan(P[2]).all()
    np.testing.assert_array_equal(np.delete(P, 2, 0), np.delete(good, 2, 0))
    with pytest.warns(RuntimeWarning, match="1 of 5 states have no result.*row 2: BAD_Q"):
        SYSTEM.momenta_batch(Q, np.ones((5, MODEL.nv)), T)


# ---- bad input ----
@pytest.mark.parametrize("name", NAMES)
def test_numbers_that_are_none_are_named(name):
    operation = OPERATIONS[name]
    for argument in operation.inputs:
        if argument.name == "frame":
            continue
        for bad in (np.nan, np.inf, 1e301):
            state = {key: value.copy() for key, value in states()[0].items()}
            state[argument.name].flat[-1] = bad
            with pytest.raises(StateError, match=rf"^{argument.name}\b"):
                method_of(operation, state)
    expected(operation, states()[0])  # all is well again


@pytest.mark.parametrize("name", NAMES)
def test_shapes_are_named(name):
    operation = OPERATIONS[name]
    for argument in operation.inputs:
        if argument.name == "frame":
            continue
        for bad in (np.zeros(MODEL.nv + 3), np.zeros((2, 2, 2)), "text", None if not argument.optional else 5.0,
                    [[1.0], [2.0, 3.0]], np.zeros(MODEL.nq, complex)):
            state = dict(states()[0])
            state[argument.name] = [bad] if argument.name in ROWS else bad
            with pytest.raises(StateError, match=rf"^{argument.name}\b"):
                method_of(operation, state)


@pytest.mark.parametrize("name", [n for n in NAMES if n not in ("solve_mass",)])
def test_arrays_that_cannot_be_written_are_refused(name):
    operation, state = OPERATIONS[name], states()[0]
    new = expected(operation, state)

    def refused(out, match):
        with pytest.raises(StateError, match=match):
            method_of(operation, state, out=out)

    good = [np.zeros(x.shape) for x in new]
    read_only = [x.copy() for x in good]
    read_only[0].flags.writeable = False
    for wrong in (read_only, [np.zeros((*x.shape, 1)) for x in good], [x.astype(np.float32) for x in good],
                  [np.zeros((*x.shape[:-1], 2 * x.shape[-1]))[..., ::2] for x in good]):
        refused(wrong[0] if len(wrong) == 1 else tuple(wrong), "^out")
    refused(5, "^out")
    if len(good) == 1 and new[0].shape == (MODEL.nv,):
        second = operation.inputs[1].name if len(operation.inputs) > 1 else ""
        if second in ("u", "p"):
            refused(state[second], f"shares memory with {second}")


def test_lists_and_integers_are_fine():
    chain = mb.System(mb.zoo.chain(3))
    np.testing.assert_array_equal(chain.momenta([0, 0, 0], [1, 0, 2]),
                                  chain.momenta(np.zeros(3), np.array([1.0, 0.0, 2.0])))
    np.testing.assert_array_equal(chain.mass_matrix((0, 1, 0), 0), chain.mass_matrix(np.array([0.0, 1.0, 0.0])))
    strided = np.zeros(6)[::2]
    np.testing.assert_array_equal(chain.mass_matrix(strided), chain.mass_matrix(np.zeros(3)))


def test_right_hand_sides_of_the_mass_matrix():
    q, H = states()[0]["q"], SYSTEM.mass_matrix(states()[0]["q"], T)
    X = np.random.default_rng(0).normal(size=(MODEL.nv, 7))
    Y = SYSTEM.solve_mass(q, X, T)
    np.testing.assert_allclose(H @ Y, X, atol=1e-9)  # rounding times the condition of H, 1e4
    for k in range(7):
        np.testing.assert_array_equal(SYSTEM.solve_mass(q, X[:, k], T), Y[:, k])  # however many there are
    out = np.empty_like(X)
    assert SYSTEM.solve_mass(q, X, T, out=out) is out
    np.testing.assert_array_equal(out, Y)
    assert SYSTEM.solve_mass(q, X[:, :0], T).shape == (MODEL.nv, 0)
    for wrong in (np.empty(2), "text", np.empty_like(X, np.float32), [0.0] * MODEL.nv):
        with pytest.raises(StateError, match=r"^out: expected a contiguous writeable float64 array"):
            SYSTEM.solve_mass(q, X, T, out=wrong)


def test_unknown_names_come_with_the_nearest():
    with pytest.raises(MethodError, match=r"'inverse_dynamic'; the nearest is 'inverse_dynamics'"):
        SYSTEM.njit("inverse_dynamic")
    with pytest.raises(ModelError, match=rf"frame: .*; the nearest is {FRAME!r}"):
        SYSTEM.jacobian(states()[0]["q"], FRAME + "x")
    with pytest.raises(StateError, match=r"axes: expected one of world, body, local-world-aligned, got 'World'; the n"):
        SYSTEM.jacobian(states()[0]["q"], FRAME, axes="World")
    for wrong in (5, None, ["body1"]):
        with pytest.raises(MbkernError, match=r"^frame"):
            SYSTEM.frame_pose(states()[0]["q"], wrong)


# ---- frames ----
def tool():
    builder = mb.ModelBuilder()
    builder.add_body("base", joint=mb.free(), mass=3.0, inertia=(1, 2, 3), com=(0.1, 0, 0))
    builder.add_body("arm", "base", mb.revolute((1, 2, 2)), mass=1.0, com=(0.2, 0.1, 0.3), inertia=(0.1, 0.2, 0.2),
                     position=(0.3, 0, 0.4))
    builder.add_frame("tool", "arm", position=(0.5, -0.2, 0.1), rotation=[[0.6, 0.8, 0], [-0.8, 0.6, 0], [0, 0, 1]])
    return builder.build()


@pytest.mark.parametrize("axes", ("world", "body", "local-world-aligned"))
def test_a_wrench_at_a_frame_does_the_work_of_its_jacobian(axes):
    model = tool()
    system = mb.System(model)
    q, u = model.random_state(3)
    p = system.momenta(q, u)
    f, m = np.array([1.0, -2.0, 0.5]), np.array([0.3, 0.1, -0.7])
    wrench = system.wrench_at("tool", f, m, axes=axes, q=q)
    added = system.rhs(q, p, wrench=wrench)[1] - system.rhs(q, p)[1]
    np.testing.assert_allclose(added, system.jacobian(q, "tool", axes=axes).T @ np.concatenate((f, m)), atol=1e-12)
    if axes != "body":
        with pytest.raises(StateError, match=r"^q: expected the configuration"):
            system.wrench_at("tool", f, m, axes=axes)
    np.testing.assert_allclose(system.frame_velocity(q, p, "tool", axes=axes),
                               system.jacobian(q, "tool", axes=axes) @ u, atol=1e-12)


def test_numbers_of_a_frame_are_a_copy():
    """What compiled code of others does with them must not move the frame for everybody else."""
    model = tool()
    system, (q, _) = mb.System(model), model.random_state(2)
    before = system.jacobian(q, "tool", axes="body")
    system.frame_numbers("tool", "body")[:] = 0.0
    np.testing.assert_array_equal(system.jacobian(q, "tool", axes="body"), before)


def test_frames_on_the_world_stand_still():
    model = tool()
    system, (q, _) = mb.System(model), model.random_state(1)
    R, r = system.frame_pose(q, "world")
    np.testing.assert_array_equal(R, np.eye(3))
    np.testing.assert_array_equal(r, np.zeros(3))
    np.testing.assert_array_equal(system.jacobian(q, "world"), np.zeros((6, model.nv)))
    with pytest.raises(ModelError, match=r"stands on the world"):
        system.wrench_at("world", (1, 0, 0))


# ---- small machines ----
def test_machines_without_dofs():
    builder = mb.ModelBuilder()
    builder.add_body("table", mass=2.0, com=(0, 0, 1.0))
    system = mb.System(builder.build())
    none = np.empty(0)
    assert system.mass_matrix(none).shape == system.inverse_mass_matrix(none).shape == (0, 0)
    assert system.momenta(none, none).shape == system.bias(none, none).shape == (0,)
    np.testing.assert_array_equal(system.center_of_mass(none), [0, 0, 1])
    np.testing.assert_array_equal(system.total_momentum(none, none), np.zeros(6))
    assert system.jacobian(none, "table").shape == (6, 0)
    np.testing.assert_allclose(system.reactions(none, none)[0, 2], 2 * 9.81)


def test_a_machine_without_mass_has_no_centre():
    builder = mb.ModelBuilder()
    builder.add_body("wheel", joint=mb.revolute("z"), inertia=(1, 1, 1))
    system = mb.System(builder.build())
    for call in (system.center_of_mass, system.total_momentum_matrix):
        with pytest.raises(StateError, match="has no mass"):
            call([0.0])


def test_the_table_of_the_documentation_is_up_to_date():
    """Written anew by hand: what `mbkern.operations.markdown_table()` returns, between the marks."""
    page = (Path(__file__).parents[1] / "docs" / "operations.md").read_text()
    table = page.partition("<!-- operations: begin -->\n")[2].partition("<!-- operations: end -->")[0]
    assert markdown_table() == table


@pytest.mark.parametrize("name", NAMES)
def test_every_operation_has_all_routes(name):
    batched = inspect.signature(getattr(mb.System, name + "_batch")).parameters
    single = inspect.signature(getattr(mb.System, name)).parameters
    assert "out" in single and "t" in single and "t" in batched and "options" in batched
    compiled = OPERATIONS[name].compiled
    assert all(hasattr(compiled, form) for form in ("one", "lanes", "varied", "handle"))
