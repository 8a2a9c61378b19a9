"""Operations as built-in functions of Python: what they take as it is, what they hand on, what they leave behind."""

import gc
import pickle
import sys
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import mbkern as mb
from mbkern.core.checks import BAD_SHAPE, OK
from mbkern.errors import StateError
from mbkern.workspace import builtin, interpreter

pytestmark = [pytest.mark.quick, pytest.mark.skipif(not interpreter.known(), reason="another Python")]

MODEL = mb.zoo.chain(4)
SYSTEM = mb.System(MODEL, "emh-ldl")
Q, U = MODEL.random_state(seed=1)
P = np.array([0.3, -0.2, 0.5, 0.1])


def call(name):
    """The operation of two vectors, ready to be called."""
    return getattr(SYSTEM._runs, name)


def explained(run):
    """A function whose explaining part says that it was asked."""
    plan, _, new_frame, named, kept = run.__self__
    seen = []
    bound = plan, lambda code, *given: seen.append((code, given)), new_frame, named, kept
    return interpreter.builtin(builtin.call.address, bound), seen


# ---- what it takes as it is ------------------------------------------------------------------------------------------
@pytest.mark.parametrize("t", [0.0, 1, 0, np.float64(0.25), -2.5, 2**70])
def test_times_that_are_taken(t):
    run, seen = explained(call("velocities"))
    np.testing.assert_array_equal(run(t, None, Q, P), SYSTEM.velocities(Q, P))
    assert seen == []


def from_elsewhere(x):
    """The same array with a dtype of its own."""
    copy = pickle.loads(pickle.dumps(x))
    assert copy.dtype is not x.dtype
    return copy


def locked(x):
    copy = x.copy()
    copy.flags.writeable = False
    return copy


@pytest.mark.parametrize("form", [from_elsewhere, locked, lambda x: np.stack((x, x))[1]])
def test_arrays_that_are_taken(form):
    run, seen = explained(call("velocities"))
    np.testing.assert_array_equal(run(0.0, None, form(Q), form(P)), SYSTEM.velocities(Q, P))
    assert seen == []


def test_results_are_those_that_were_given():
    out, pair = np.empty(4), (np.empty((4, 3, 3)), np.empty((4, 3)))
    assert SYSTEM.velocities(Q, P, out=out) is out
    assert SYSTEM.body_poses(Q, out=pair) is pair
    new = SYSTEM.body_poses(Q)
    assert type(new) is tuple and [x.shape for x in new] == [(4, 3, 3), (4, 3)]
    assert all(x.dtype == np.float64 and x.flags.owndata and x.flags.carray for x in new)
    np.testing.assert_array_equal(pair[1], SYSTEM.body_poses(Q)[1])


def test_named_tuples():
    out = np.empty(3)
    energy, again = SYSTEM.energy(Q, P, out=out), SYSTEM.energy(Q.tolist(), P)
    assert type(energy) is type(again) is mb.system_operations.Energy and isinstance(energy, tuple)
    assert energy == again == tuple(out) and hash(energy) == hash(again) == hash(tuple(out.tolist()))
    assert energy.hamiltonian == energy[2] == out[2] and energy._asdict()["kinetic"] == out[0]
    assert all(type(x) is float for x in energy) and sys.getrefcount(energy) == 2
    assert pickle.loads(pickle.dumps(energy)) == energy and energy._replace(kinetic=0.0).kinetic == 0.0
    for _ in range(100):
        gc.collect(0)
        assert SYSTEM.energy(Q, P) == energy


# ---- what it hands on ------------------------------------------------------------------------------------------------
class Times(float):
    pass


@pytest.mark.parametrize("t", [10**400, -1, True, "0", None, np.float32(0.0), np.int64(3), Times(1.0), [0.0]])
def test_times_that_python_looks_at(t):
    run, seen = explained(call("velocities"))
    run(t, None, Q, P)
    assert seen == [(BAD_SHAPE, (t, None, Q, P))]


class Arrays(np.ndarray):
    pass


@pytest.mark.parametrize("form", [
    list, lambda x: x[:-1], lambda x: x.astype(">f8"), lambda x: x.astype(np.float32), lambda x: x.view(np.int64),
    lambda x: x.view("M8[s]"), lambda x: np.stack((x, x), axis=1)[:, 0], lambda x: x[None], lambda x: x.view(Arrays),
    np.ma.array, lambda x: np.frombuffer(b"." + x.tobytes(), np.uint8)[1:].view(np.float64),
    lambda x: np.array(x[0]), lambda x: None])
def test_arrays_that_python_looks_at(form):
    run, seen = explained(call("velocities"))
    for given in ((form(Q), P), (Q, form(P))):
        run(0.0, None, *given)
        (code, (_, out, *arrays)), = seen
        assert code == BAD_SHAPE and out is None and all(a is b for a, b in zip(arrays, given, strict=True))
        seen.clear()


def test_results_that_python_looks_at():
    velocities, seen = explained(call("velocities"))
    poses, of_poses = explained(call("body_poses"))
    R, r = np.empty((4, 3, 3)), np.empty((4, 3))
    for out in (Q, P[:3], locked(Q), (np.empty(4),), Q.view(Arrays), 1.0):
        velocities(0.0, out, Q, P)
    for out in ([R, r], (R,), (R, r, r), (r, R), (R, R[:, 0]), (R, np.empty((4, 3), order="F")), R):
        poses(0.0, out, Q)
    assert [code for code, _ in seen + of_poses] == [BAD_SHAPE] * 13


def test_codes_of_the_operation_are_handed_on():
    run, seen = explained(call("velocities"))
    run(0.0, None, Q, P * np.nan)
    run(np.inf, None, Q, P)
    assert len({code for code, _ in seen} - {OK, BAD_SHAPE}) == 2


def test_a_wrong_number_of_arguments():
    run, seen = explained(call("velocities"))
    for given in ((), (0.0,), (0.0, None, Q), (0.0, None, *[Q] * 20)):
        run(*given)
    assert [code for code, _ in seen] == [BAD_SHAPE] * 4


def test_what_python_raises_comes_out():
    with pytest.raises(StateError, match=r"p: expected 4 real numbers, shape \(4,\), got shape \(3,\)"):
        SYSTEM.velocities(Q, P[:3])
    plan, explain, _, named, _ = call("velocities").__self__
    plan = plan.copy()
    plan[builtin.IDLE] = plan[builtin.MADE] = 0
    kept = interpreter.empty_places(builtin.KEPT)

    def out_of_memory():
        raise MemoryError("no room")

    run = interpreter.builtin(builtin.call.address, (plan, explain, out_of_memory, named, kept))
    with pytest.raises(MemoryError, match="no room"):
        run(0.0, None, Q, P)
    at = builtin.ARRAYS + 2 * 3 + 2  # the shape of the result: more than any memory has
    assert plan[at] == 4
    plan[at] = 2**62
    with pytest.raises(ValueError, match=r"too large|too big"):
        run(0.0, None, Q, P)


# ---- what it leaves behind -------------------------------------------------------------------------------------------
def test_references_are_counted():
    run, seen = explained(call("velocities"))
    out, q, p, t = np.empty(4), Q.copy(), P.copy(), float("0.125")
    things = out, q, p, t
    before = [sys.getrefcount(thing) for thing in things]
    for _ in range(100):
        run(t, out, q, p)
        run(t, None, q, p)
        run(t, q, q, p)
        seen.clear()
    assert [sys.getrefcount(thing) for thing in things] == before
    made, ordinary = SYSTEM.body_poses(q), (np.empty(3), np.empty(3))
    counts = [[sys.getrefcount(x), *[sys.getrefcount(part) for part in x]] for x in (made, ordinary)]
    assert counts[0] == [counts[1][0] + 1, *counts[1][1:]]  # the tuple is kept for a later call


# ---- results that are handed out again -------------------------------------------------------------------------------
def test_results_in_hand_never_change():
    """Of each call something is held on to: all of it, a part, a view of a part, what reads its memory."""
    rng = np.random.default_rng(5)
    states = rng.normal(size=(60, 2, 4))
    wanted = [[x.copy() for x in SYSTEM.rhs(q.copy(), p.copy())] for q, p in states]
    hold = [lambda made: made, lambda made: (None, made[1]), lambda made: (made[0][1:], None),
            lambda made: (memoryview(made[0]), None), lambda made: (np.asarray(made[0]).view(np.int64), None),
            lambda made: None]
    held = [hold[k % len(hold)](SYSTEM.rhs(q, p)) for k, (q, p) in enumerate(states)]
    for k, (kept, (u, pdot)) in enumerate(zip(held, wanted, strict=True)):
        if k % len(hold) == 0:
            np.testing.assert_array_equal(kept[0], u)
        if k % len(hold) in (0, 1):
            np.testing.assert_array_equal(kept[1], pdot)
        if k % len(hold) == 2:
            np.testing.assert_array_equal(kept[0], u[1:])
        if k % len(hold) == 3:
            np.testing.assert_array_equal(np.array(kept[0]), u)
        if k % len(hold) == 4:
            np.testing.assert_array_equal(kept[0].view(np.float64), u)


@pytest.mark.skipif(not interpreter.counts_references(), reason="another Python")
def test_results_that_nobody_has_are_handed_out_again():
    run, seen = explained(call("body_poses"))
    wanted = [SYSTEM.body_poses(Q + 0.1 * k)[0] for k in range(20)]
    places = set()
    for k in range(20):
        R, r = run(0.0, None, Q + 0.1 * k)
        places.add((id(R), id(r)))
        np.testing.assert_array_equal(R, wanted[k])
    assert len(places) == builtin.KEPT and seen == []
    all_of_them = [run(0.0, None, Q) for _ in range(20)]
    assert len({id(R) for R, _ in all_of_them}) == 20


def test_results_that_somebody_changed_are_not():
    run = call("velocities")
    for change in (lambda x: x.flags.__setattr__("writeable", False), lambda x: x.resize((2, 2), refcheck=False)):
        for _ in range(2 * builtin.KEPT):
            made = run(0.0, None, Q, P)
            change(made)
            del made
        np.testing.assert_array_equal(run(0.0, None, Q, P), SYSTEM.velocities(Q, P))
        assert run(0.0, None, Q, P).shape == (4,) and run(0.0, None, Q, P).flags.writeable


def test_kept_results_go_with_the_function():
    system = mb.System(MODEL, "emh-ldl")
    gone = [weakref.ref(x) for _ in range(3) for x in system.body_poses(Q)]
    assert len({id(x()) for x in gone if x() is not None}) <= 2 * builtin.KEPT
    del system
    gc.collect()
    assert all(x() is None for x in gone)


def test_large_results_are_not_kept():
    model = mb.zoo.chain(builtin.MOST_KEPT + 1)
    system = mb.System(model, "emh-ldl")
    gone = weakref.ref(system.velocities(model.neutral(), model.neutral()))
    assert gone() is None


def test_a_system_that_nobody_needs_is_gone():
    system = mb.System(MODEL, "emh-ldl")
    system.rhs(Q, P)
    system.velocities(Q, P)
    run, gone = system._runs.velocities, weakref.ref(system)
    del system
    gc.collect()
    assert run(0.0, None, Q, P).shape == (4,)  # it holds all that it needs
    del run
    gc.collect()
    assert gone() is None


def test_frames_are_used_again_and_may_run_out():
    run, seen = explained(call("velocities"))
    plan = run.__self__[0]
    for _ in range(3):
        run(0.0, None, Q, P)
    assert plan[builtin.IDLE] == plan[builtin.MADE] == 1
    kept = plan.copy()
    try:
        plan[builtin.IDLE], plan[builtin.MADE] = 0, builtin.MOST_FRAMES  # as if others had them all
        run(0.0, None, Q, P)
        assert [code for code, _ in seen] == [BAD_SHAPE]
        np.testing.assert_array_equal(SYSTEM.velocities(Q, P), call("velocities")(0, None, Q, P))
    finally:
        plan[:] = kept


def test_threads_have_frames_of_their_own():
    """A machine so large that other threads go on meanwhile."""
    model = mb.zoo.chain(2000)
    system = mb.System(model, "emh-ldl")
    states = [model.random_state(seed=k) for k in range(4)]
    alone = [system.momenta(*state) for state in states]
    plan = system._runs.momenta.__self__[0]
    assert plan[builtin.RELEASES] == 1 and SYSTEM._runs.momenta.__self__[0][builtin.RELEASES] == 0
    with ThreadPoolExecutor(4) as pool:
        for _ in range(20):
            for got, wanted in zip(pool.map(lambda state: system.momenta(*state), states), alone, strict=True):
                np.testing.assert_array_equal(got, wanted)
    assert 1 <= plan[builtin.MADE] == plan[builtin.IDLE] <= 4


# ---- another Python --------------------------------------------------------------------------------------------------
def test_without_built_in_functions_all_is_the_same_but_slower(monkeypatch):
    monkeypatch.setattr(interpreter, "known", lambda: False)
    system = mb.System(MODEL, "emh-ldl")
    for ours, theirs in zip(system.rhs(Q, P, 0, tau=U), SYSTEM.rhs(Q, P, 0, tau=U), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    out = np.empty(4)
    assert system.velocities(Q, P, out=out) is out
    steppers = [each.stepper("rk4", step=1e-3) for each in (system, SYSTEM)]
    for stepper in steppers:
        stepper.reset(Q, P)
    for tau in (None, U, list(U)):
        for ours, theirs in zip(*[stepper.step(2, tau) for stepper in steppers], strict=True):
            np.testing.assert_array_equal(ours, theirs)
