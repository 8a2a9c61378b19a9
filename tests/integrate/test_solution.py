"""What people do with a run: speeds, poses, momenta, work of forces, other times, files, tables, notes."""

import os
import pickle

import numba
import numpy as np
import pytest
from integrate_cases import flying

import mbkern as mb
from mbkern.errors import FileError, IntegrationError, MissingFileError, ModelError, StateError
from mbkern.integrate.limits import violations


@numba.njit
def push(t, q, p, out):
    for i in range(out.shape[0]):
        out[i] = np.sin(3.0 * t + i) - 0.1 * p[i]


@numba.njit
def wind(t, q, p, out):
    out[1, 0] = np.cos(t)
    out[2, 4] = 0.3


@numba.njit
def crossing(t, q, p):
    return q[5] - 0.1


def machine():
    """Driven, damped, with ball joints."""
    builder = mb.ModelBuilder(name="machine")
    builder.add_body("shaken", joint=[mb.rotate("x", mb.harmonic(0.3, 5.0)), mb.rotate("z")], mass=2.0, com=(0.3, 0, 0),
                     inertia=(0.1, 0.2, 0.15), damping=0.4)
    builder.add_body("ball", "shaken", mb.ball(), mass=1.0, com=(0, 0.2, 0.1), inertia=(0.1, 0.08, 0.05),
                     position=(0.5, 0, 0), damping=0.2)
    builder.add_body("tip", "ball", mb.prismatic("y"), mass=0.5, position=(0, 0.3, 0), stiffness=30.0)
    return mb.System(builder.build())


@pytest.fixture(scope="module")
def forced():
    system = machine()
    q, u = system.model.random_state(seed=2)
    return system.simulate(q, system.momenta(q, u), (0.0, 1.0), tau=push, wrench=wind, rtol=1e-9, atol=1e-11,
                           events=crossing)


@pytest.fixture(scope="module")
def swing():
    model = mb.zoo.chain(3)
    return mb.System(model).simulate(model.neutral(), np.zeros(3), (0.0, 1.0), dense=True)


def test_notes_do_not_count_what_rounding_does_at_a_limit():
    b = mb.ModelBuilder(gravity=(0, 0, 0))
    b.add_body("a", joint=mb.prismatic("x"), mass=1.0, limits=(0.0, 0.04, 2.0, 5.0))
    t = np.array([0.0, 1.0])

    def said(x, speed):
        return violations(b.build(), t, np.array([[0.0], [x]]), np.array([[0.0], [speed]]))

    assert said(-1e-9, 2.0 + 1e-7) == [] and said(0.04 + 1e-9, -2.0) == []
    [place, speed] = said(-1e-6, 2.1)
    assert "left its limits 0 .. 0.04 at t = 1 s, by at most 1e-06" in place and "above its limit 2 at t = 1 s" in speed


def test_speeds_poses_and_momenta_are_those_of_the_states(forced):
    system = forced.system
    R, r = forced.body_poses()
    for k in (0, forced.t.size // 2, forced.t.size - 1):
        t, q, p = float(forced.t[k]), forced.q[k], forced.p[k]
        assert np.array_equal(forced.u[k], system.velocities(q, p, t))
        assert np.array_equal(R[k], system.body_poses(q, t)[0]) and np.array_equal(r[k], system.body_poses(q, t)[1])
        # body by body instead of by what the roots carry
        linear, angular, v = np.zeros(3), np.zeros(3), system.body_velocities(q, p, t)
        for i in range(system.model.n_bodies):
            mu = system.model.bodies[i].M @ v[i]
            linear += R[k, i] @ mu[:3]
            angular += R[k, i] @ mu[3:] + np.cross(r[k, i], R[k, i] @ mu[:3])
        # momenta of size 10, rounding of a few operations
        np.testing.assert_allclose(forced.momentum().linear[k], linear, atol=1e-12)
        np.testing.assert_allclose(forced.momentum().angular[k], angular, atol=1e-12)


def test_the_work_of_forces_dampers_and_drives_is_the_change_of_energy(forced):
    H, work = forced.energy().hamiltonian, forced.work()
    assert np.all(np.diff(work.dampers) < 0.0)
    for part in (work.loads, work.dampers, work.drives):
        assert np.abs(part).max() > 0.01, "each of them matters"
    assert np.abs(H - H[0] - work.total).max() < 1e-6  # the tolerances, times energies of 10 J and some steps
    drift = forced.drift()
    assert set(drift) == {"energy", "quadrature"} and drift["energy"] < 1e-6 and drift["quadrature"] < 1e-5


def test_work_does_not_depend_on_the_outputs(forced):
    few = forced.system.simulate(forced.q[0], forced.p[0], (0.0, 1.0), tau=push, wrench=wind, rtol=1e-9, atol=1e-11,
                                 t_eval=[0.0, 0.4, 1.0])
    assert abs(few.work().total[-1] - forced.work().total[-1]) < 1e-6 and few.drift()["energy"] < 1e-6
    back = forced.system.simulate(forced.q[-1], forced.p[-1], (1.0, 0.0), tau=push, wrench=wind, rtol=1e-9, atol=1e-11)
    assert abs(back.work().total[-1] + forced.work().total[-1]) < 1e-6


def test_a_loose_run_has_a_drift_that_shows():
    system = machine()
    q, u = system.model.random_state(seed=2)
    loose = system.simulate(q, system.momenta(q, u), (0.0, 1.0), tau=push, rtol=1e-3, atol=1e-4)
    assert loose.drift()["energy"] > 1e-4


def test_relative_drift_is_of_the_largest_kinetic_energy():
    """A body that turns at constant speed has a kinetic energy whose range is round-off."""
    builder = mb.ModelBuilder(gravity=(0, 0, 0))
    builder.add_body("wheel", joint=mb.revolute("z"), mass=1.0, inertia=(0.1, 0.1, 0.2))
    text = repr(mb.System(builder.build()).simulate([0.0], [2.0], (0.0, 10.0)))
    assert "of the largest kinetic energy" in text
    assert float(text.split(" J, ")[1].split(" of the largest")[0]) < 1e-12


def test_other_times(forced, swing):
    times = np.linspace(0.0, 1.0, 57)
    dense = swing.resample(times)
    assert np.array_equal(dense.q, swing.sol(times)[0]) and dense.drift()["energy"] < 1e-4
    # without dense output by the equations' slopes: 100 steps of a motion at some rad/s, (h w)^4 / 384
    between = forced.resample(times)
    direct = forced.system.simulate(forced.q[0], forced.p[0], (0.0, 1.0), tau=push, wrench=wind, rtol=1e-9, atol=1e-11,
                                    t_eval=times)
    assert np.abs(between.q - direct.q).max() < 1e-5 and np.abs(between.p - direct.p).max() < 1e-5
    assert np.abs(np.linalg.norm(between.q[:, 1:5], axis=1) - 1.0).max() < 1e-15
    for bad in ([0.0, 2.0], [0.5, 0.4], 0.5, "x", [np.nan]):
        with pytest.raises(StateError, match="resample"):
            forced.resample(bad)


def test_a_file_holds_the_run(forced, swing, tmp_path):
    path = tmp_path / "run.npz"
    for run in (forced, swing):
        run.save(path)
        again = mb.Solution.load(path)
        assert again.system.model == run.system.model and again.system.method == run.system.method
        for name in ("t", "q", "p", "u"):
            assert np.array_equal(getattr(again, name), getattr(run, name))
        assert again.drift() == run.drift() and (again.status, again.message, again.nfev) == (
            run.status, run.message, run.nfev)
        assert repr(again) == repr(run)
    assert np.array_equal(again.sol(0.3)[0], swing.sol(0.3)[0])
    forced.save(path)
    again = mb.Solution.load(path)
    assert np.array_equal(again.events[0].t, forced.events[0].t) and again.events[0].t.size > 0
    assert again.resample([0.2, 0.4]).q.shape == (2, 6)
    assert [entry.name for entry in tmp_path.iterdir()] == ["run.npz"], "nothing is left beside it"
    with np.load(path) as archive:  # by those who know no mbkern
        assert np.array_equal(archive["q"], forced.q) and list(archive["coordinate_names"]) == list(
            forced.system.model.coordinate_names)


def test_a_file_that_cannot_be_written_leaves_the_old_one(swing, tmp_path, monkeypatch):
    path = tmp_path / "run.npz"
    swing.save(path)
    before = path.read_bytes()

    def full(*arguments, **names):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(FileError, match=r"run\.npz.*No space left"):
        swing.save(path)
    monkeypatch.undo()
    assert path.read_bytes() == before and len(list(tmp_path.iterdir())) == 1
    with pytest.raises(FileError, match="cannot write"):
        swing.save(tmp_path / "none" / "run.npz")


def test_faults_of_files_are_named(swing, tmp_path):
    path = tmp_path / "run.npz"
    with pytest.raises(MissingFileError, match="no such file"):
        mb.Solution.load(path)
    swing.save(path)
    whole = path.read_bytes()
    for damaged in (b"", b"text", whole[:len(whole) // 2]):
        path.write_bytes(damaged)
        with pytest.raises(IntegrationError, match=r"run\.npz"):
            mb.Solution.load(path)
    rng = np.random.default_rng(4)
    for _ in range(300):  # one bit that is wrong, anywhere: an error, or what was written
        place, bit = int(rng.integers(len(whole))), 1 << int(rng.integers(8))
        path.write_bytes(whole[:place] + bytes([whole[place] ^ bit]) + whole[place + 1:])
        try:
            again = mb.Solution.load(path)
        except IntegrationError as error:
            assert "run.npz" in str(error)
        else:
            assert all(np.array_equal(getattr(again, name), getattr(swing, name)) for name in "tqp")
    np.savez(path, q=np.zeros(3))
    with pytest.raises(IntegrationError, match="format 'mbkern-solution'"):
        mb.Solution.load(path)
    path.write_bytes(whole)
    with np.load(path) as archive:
        data = dict(archive)
    np.savez(path, **(data | {"version": 2}))
    with pytest.raises(IntegrationError, match=r"version 1.*got 2"):
        mb.Solution.load(path)
    np.savez(path, **{name: value for name, value in data.items() if name != "p"})
    with pytest.raises(IntegrationError, match="no p"):
        mb.Solution.load(path)
    np.savez(path, **(data | {"q": data["q"][:, :2]}))
    with pytest.raises(IntegrationError, match="shape"):
        mb.Solution.load(path)


def test_a_machine_with_a_drive_of_ones_own_is_given_to_load(tmp_path):
    @numba.njit
    def wave(t):
        return np.sin(t), np.cos(t), -np.sin(t)

    builder = mb.ModelBuilder()
    builder.add_body("arm", joint=[mb.rotate("x", mb.drive(wave)), mb.rotate("y")], mass=1.0, com=(1, 0, 0))
    model = builder.build()
    run = mb.System(model).simulate([0.0], [0.0], (0.0, 0.5))
    run.save(tmp_path / "run.npz")
    with pytest.raises(ModelError, match="model=model"):
        mb.Solution.load(tmp_path / "run.npz")
    assert np.array_equal(mb.Solution.load(tmp_path / "run.npz", model=model).q, run.q)


def test_a_solution_pickles(forced):
    again = pickle.loads(pickle.dumps(forced))
    assert np.array_equal(again.q, forced.q) and again.drift() == forced.drift()


def test_a_table_with_names(forced):
    pytest.importorskip("pandas", reason="needs pandas: pip install mbkern[tables]")
    table = forced.to_frame()
    assert table.index.name == "t" and np.array_equal(table.index, forced.t)
    assert np.array_equal(table["q:tip"], forced.q[:, 5]) and np.array_equal(table["u:ball.wx"], forced.u[:, 1])
    assert np.array_equal(table["hamiltonian"], forced.energy().hamiltonian)


def test_a_labelled_dataset(forced):
    pytest.importorskip("xarray", reason="needs xarray: pip install mbkern[tables]")
    data = forced.to_xarray()
    assert np.array_equal(data.q.sel(coordinate="tip"), forced.q[:, 5]) and data.q.dims == ("t", "coordinate")
    assert np.array_equal(data.p.sel(speed="ball.wz"), forced.p[:, 3]) and data.attrs["status"] == "finished"


@pytest.mark.parametrize("package, call", [("pandas", "to_frame"), ("xarray", "to_xarray")])
def test_a_missing_package_is_named(swing, package, call, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, package, None)
    with pytest.raises(IntegrationError, match=f"pip install {package}"):
        getattr(swing, call)()


def test_momenta_of_a_free_tree_stay():
    system = mb.System(flying(gravity=(0, 0, 0)))
    q, u = system.model.random_state(seed=7)
    momentum = system.simulate(q, system.momenta(q, u), (0.0, 2.0), rtol=1e-10, atol=1e-12).momentum()
    for part in momentum:
        assert np.abs(part - part[0]).max() < 1e-7 and np.abs(part[0]).max() > 0.1


def test_leaving_the_limits_is_noted():
    builder = mb.ModelBuilder()
    builder.add_body("arm", joint=mb.revolute("y"), mass=1.0, com=(1, 0, 0), limits=(-0.5, 1.5, 3.0, np.inf))
    builder.add_body("hand", "arm", mb.ball(), mass=1.0, com=(0.1, 0, 0), inertia=(0.1, 0.1, 0.1), position=(1, 0, 0))
    system = mb.System(builder.build())
    run = system.simulate(system.model.neutral(), np.zeros(4), (0.0, 1.0))
    where, speed = run.notes
    outside = run.q[:, 0] > 1.5
    assert f"t = {run.t[np.argmax(outside)]:.6g} s" in where and f"{run.q[:, 0].max() - 1.5:.3g}" in where
    assert "'arm'" in where and "-0.5 .. 1.5" in where and "speed of 'arm'" in speed and "note: " in repr(run)
    inside = system.simulate(system.model.neutral(), np.zeros(4), (0.0, 0.1))
    assert inside.notes == () and "note" not in repr(inside)


def test_a_stiff_failure_says_so():
    builder = mb.ModelBuilder()
    builder.add_body("arm", joint=mb.revolute("y"), mass=1.0, com=(1, 0, 0), stiffness=1e8)
    system = mb.System(builder.build())
    run = system.simulate([0.1], [0.0], (0.0, 10.0), "rk4", step=1e-3)  # the spring has 1e4 rad/s
    assert not run.success
    assert "1e+04 1/s" in run.message and '"gauss4"' in run.message and "smaller stiffness" in run.message
    soft = mb.ModelBuilder()
    soft.add_body("arm", joint=[mb.rotate("x", mb.spline([0.0, 1.0], [0.0, 1.0])), mb.rotate("y")], mass=1.0,
                  com=(1, 0, 0))
    ended = mb.System(soft.build()).simulate([0.1], [0.0], (0.0, 10.0), "rk4", step=1e-3)
    assert not ended.success and "stiff" not in ended.message
