"""The states of a batch one by one, their energies, pictures and pages."""

import pickle
from concurrent.futures import ThreadPoolExecutor

import numba
import numpy as np
import pytest

import mbkern as mb
from mbkern.errors import StateError

TIMES = np.linspace(0.0, 0.5, 6)


@pytest.fixture(scope="module")
def batch():
    system = mb.System(mb.zoo.chain(3))
    Q0 = np.random.default_rng(0).normal(size=(7, 3))
    Q0[2] = np.nan
    return system.simulate_batch(Q0, np.zeros((7, 3)), (0.0, 0.5), t_eval=TIMES, tau=[0.1, 0.0, 0.2])


def test_a_state_is_a_solution(batch):
    run = batch[4]
    single = batch.system.simulate(batch.q[4, 0], batch.p[4, 0], (0.0, 0.5), t_eval=TIMES, tau=[0.1, 0.0, 0.2])
    assert np.array_equal(run.q, single.q) and np.array_equal(run.p, single.p) and np.array_equal(run.t, single.t)
    assert run.n_accepted == single.n_accepted and run.nfev is None and "evaluations" not in repr(run)
    assert run.drift() == single.drift(), "its forces are known"
    assert np.array_equal(batch[-3].q, run.q) and [len(state.t) for state in batch].count(6) == 6
    with pytest.raises(IndexError):
        batch[7]
    for bad in (1.0, "x", slice(2), True):
        with pytest.raises(StateError, match=r"solution\[i\]"):
            batch[bad]


def test_a_state_that_failed(batch):
    run = batch[2]
    assert run.status == "failed" and "q is not finite" in run.message and run.t.size == 0 and not run.success


def test_a_run_that_ends_early_has_the_outputs_it_reached():
    builder = mb.ModelBuilder()
    builder.add_body("arm", joint=[mb.rotate("x", mb.spline([0.0, 0.3, 0.4], [0.0, 0.2, 0.3])), mb.rotate("y")],
                     mass=1.0, com=(1, 0, 0))
    batch = mb.System(builder.build()).simulate_batch(np.zeros((2, 1)), np.zeros((2, 1)), (0.0, 0.5), t_eval=TIMES)
    run = batch[1]
    assert run.t.tolist() == TIMES[TIMES <= batch.reached[1]].tolist() and 0 < run.t.size < 6
    assert "defined from t = 0 to 0.4" in run.message


def test_energies_are_those_of_the_states(batch):
    energy = batch.energy()
    assert energy.hamiltonian.shape == (7, 6) and np.isnan(energy.kinetic[2]).all()
    for i in (0, 6):
        for ours, theirs in zip(energy, batch[i].energy(), strict=True):
            assert np.array_equal(ours[i], theirs)
    final = batch.system.simulate_batch(batch.q[:2, 0], batch.p[:2, 0], (0.0, 0.5), reduce="final", tau=[0.1, 0, 0.2])
    assert np.array_equal(final.energy().hamiltonian, energy.hamiltonian[:2, -1])
    assert final[1].t.tolist() == [0.5] and np.array_equal(final[1].q[0], batch.q[1, -1])


def test_each_machine_of_its_own():
    model = mb.zoo.chain(2)
    varied = model.vary("body1", mass=[1.0, 2.0, 3.0]).vary(gravity=np.array([[0, 0, -1.0], [0, 0, -2], [0, -3, 0]]))
    Q0, P0 = np.full((3, 2), 0.1), np.ones((3, 2))
    system = mb.System(model, "emh-ldl")
    batch = system.simulate_batch(Q0, P0, (0.0, 0.5), t_eval=TIMES, parameters=varied)
    with ThreadPoolExecutor(1) as pool:
        joined = mb.ensemble.run(system, (Q0, P0), (0.0, 0.5), client=pool, chunk=2, t_eval=TIMES, parameters=varied)
    for i in range(3):
        assert batch[i].system.model == varied.model_of(i) == joined[i].system.model
        np.testing.assert_allclose(batch.energy().hamiltonian[i], batch[i].energy().hamiltonian, rtol=1e-12)
        assert batch[i].drift()["energy"] < 1e-5
    assert np.array_equal(batch.q, joined.q)


def test_forces_of_a_function_are_not_known():
    @numba.njit
    def push(t, q, p, out, i):
        out[0] = 1.0 + i

    batch = mb.System(mb.zoo.chain(2)).simulate_batch(np.zeros((2, 2)), np.zeros((2, 2)), (0.0, 0.1), tau=push)
    assert batch[1].drift() == {}
    with pytest.raises(mb.errors.IntegrationError, match="not known"):
        batch[1].work()


def test_what_reduce_did_not_keep():
    @numba.njit
    def keep(t, q, p, kept, i):
        kept[0] = q[0]

    batch = mb.System(mb.zoo.chain(2)).simulate_batch(np.zeros((2, 2)), np.zeros((2, 2)), (0.0, 0.1), reduce=keep)
    for call in (lambda: batch[0], batch.energy, batch.plot, batch.viewer):
        with pytest.raises(StateError, match="reduce"):
            call()
    with pytest.raises(StateError, match="several outputs"):
        mb.System(mb.zoo.chain(2)).simulate_batch(np.zeros((2, 2)), np.zeros((2, 2)), (0.0, 0.1),
                                                  reduce="final").viewer()


def test_pictures_and_pages(batch, tmp_path):
    pytest.importorskip("matplotlib", reason="needs matplotlib: pip install mbkern[viz]")
    from matplotlib.figure import Figure

    axes = Figure().subplots()
    batch.plot(["body0", 2], axes)
    assert len(axes.lines) == 14 and [text.get_text() for text in axes.get_legend().get_texts()] == ["body0", "body2"]
    many = batch.system.simulate_batch(np.zeros((30, 3)), np.zeros((30, 3)), (0.0, 0.5), t_eval=TIMES)
    axes = Figure().subplots()
    many.plot([0], axes)
    assert len(axes.lines) == 1 and len(axes.collections) == 1
    batch.viewer(path=tmp_path / "batch.html")
    text = (tmp_path / "batch.html").read_text()
    assert "state 6" in text and "state 2" not in text
    batch.viewer([1], tmp_path / "one.html")
    assert (tmp_path / "one.html").stat().st_size > 1000


def test_it_pickles(batch):
    again = pickle.loads(pickle.dumps(batch))
    assert np.array_equal(again[1].q, batch[1].q) and again.message(2) == batch.message(2)
