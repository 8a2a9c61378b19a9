"""The same ensemble in this process, in other threads and processes, and on a Dask cluster that loses a worker."""

from __future__ import annotations

import os
import signal
import threading
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest
from numba import njit

import mbkern as mb

COUNT = 103
SETTINGS = {"integrator": "rk4", "step": 0.01, "t_eval": [0.0, 0.1, 0.2]}


@pytest.fixture(scope="module")
def system():
    return mb.System(mb.zoo.chain(4), "emh-ldl")


@pytest.fixture(scope="module")
def states():
    rng = np.random.default_rng(0)
    return rng.normal(size=(COUNT, 4)), rng.normal(size=(COUNT, 4))


def same(one, other):
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in ("t", "q", "p", "status", "steps"))


@njit
def push(t, q, p, out, i):
    out[0] = 0.1 * i


@njit
def number(t, q, p, kept, i):
    kept[0] = i


def test_chunks_make_no_difference(system, states):
    """Per-state forces, parameters and numbers of states go with their chunk."""
    tau = np.random.default_rng(1).normal(size=(COUNT, 4))
    varied = system.model.vary(body=system.model.body_names[1], mass=np.linspace(0.5, 2.0, COUNT))
    expected = system.simulate_batch(*states, (0.0, 0.2), tau=tau, parameters=varied, **SETTINGS)
    with ThreadPoolExecutor(3) as pool:
        for client in (None, pool):
            found = mb.ensemble.run(system, states, (0.0, 0.2), client=client, chunk=10, tau=tau, parameters=varied,
                                    **SETTINGS)
            assert same(found, expected)
        expected = system.simulate_batch(*states, (0.0, 0.2), tau=push, **SETTINGS)
        assert same(mb.ensemble.run(system, states, (0.0, 0.2), client=pool, chunk=7, tau=push, **SETTINGS), expected)
        kept = mb.ensemble.run(system, states, (0.0, 0.1), client=pool, chunk=7, reduce=number).kept
        assert kept[:, 0].tolist() == list(range(COUNT))


def test_streams(system, states):
    """Each part once, in any order; together all states."""
    expected = system.simulate_batch(*states, (0.0, 0.2), **SETTINGS)
    with ThreadPoolExecutor(3) as pool:
        parts = mb.ensemble.run(system, states, (0.0, 0.2), client=pool, chunk=20, stream=True, **SETTINGS)
        seen = []
        for part in parts:
            assert np.array_equal(part.solution.q, expected.q[part.begin:part.end])
            seen += range(part.begin, part.end)
    assert sorted(seen) == list(range(COUNT))


def test_progress(system, states, capsys):
    mb.ensemble.run(system, states, (0.0, 0.2), chunk=50, progress=True, **SETTINGS)
    assert f"{COUNT} of {COUNT} states" in capsys.readouterr().err


def test_processes(system, states):
    """Models and njit functions travel by pickle."""
    expected = system.simulate_batch(*states, (0.0, 0.2), **SETTINGS)
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        assert same(mb.ensemble.run(system, states, (0.0, 0.2), client=pool, **SETTINGS), expected)


@pytest.mark.parametrize(("change", "said"), [
    ({"states": np.zeros(3)}, "states: expected .Q0, P0."),
    ({"states": (np.zeros((2, 3)), np.zeros((2, 4)))}, "Q0: "),
    ({"states": (np.zeros((0, 4)), np.zeros((0, 4)))}, "at least one state"),
    ({"client": "a cluster"}, "client: expected None, a concurrent.futures.Executor or a client of Dask"),
    ({"chunk": 0}, "chunk: expected a whole number"),
    ({"integrator": "gauss6"}, "integrator: batches have"),
])
def test_bad_input(system, states, change, said):
    with pytest.raises(mb.errors.MbkernError, match=said):
        mb.ensemble.run(**({"system": system, "states": states, "t_span": (0.0, 0.2)} | change))


def test_an_engine_that_fails_says_which_chunk(system, states):
    class Dying(ThreadPoolExecutor):
        def submit(self, function, /, *arguments, **keywords):
            return super().submit(os.path.getsize, "no such file")

    said = r"begins with state \d+ failed.*FileNotFound"
    with Dying(1) as pool, pytest.raises(mb.errors.IntegrationError, match=said):
        mb.ensemble.run(system, states, (0.0, 0.2), client=pool, **SETTINGS)


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="signals")
def test_dask_cluster_that_loses_a_worker(system, states):
    """Two processes, one of which is killed while it works: the answer is complete, bit for bit."""
    distributed = pytest.importorskip("distributed")
    settings = dict(SETTINGS, step=5e-5)
    expected = system.simulate_batch(*states, (0.0, 0.2), **settings)
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None,
                                  memory_limit=None) as cluster, distributed.Client(cluster) as client:
        warm = mb.ensemble.run(system, states, (0.0, 0.2), client=client, **SETTINGS)
        assert same(warm, system.simulate_batch(*states, (0.0, 0.2), **SETTINGS))
        victim = next(iter(client.run(os.getpid).values()))
        killed = threading.Event()

        def kill():
            deadline = time.monotonic() + 300
            while time.monotonic() < deadline and not any(client.processing().values()):
                time.sleep(0.01)
            os.kill(victim, signal.SIGKILL)
            killed.set()

        killer = threading.Thread(target=kill)
        killer.start()
        parts = []
        for part in mb.ensemble.run(system, states, (0.0, 0.2), client=client, chunk=8, stream=True, **settings):
            parts.append((part, killed.is_set()))
        killer.join()
    assert parts[-1][1], "the worker was killed too late to matter"
    ordered = [part.solution for part, _ in sorted(parts, key=lambda entry: entry[0].begin)]
    assert same(mb.batch.BatchSolution.joined(ordered), expected)


def test_a_single_time_is_refused_in_words(system, states):
    with pytest.raises(mb.errors.StateError, match="t_eval"):
        mb.ensemble.run(system, states, (0.0, 0.1), t_eval=5)


def test_a_closed_dask_client_is_refused_in_words(system, states):
    distributed = pytest.importorskip("distributed", reason="needs Dask: pip install mbkern[distributed]")
    with distributed.LocalCluster(n_workers=0, processes=False, dashboard_address=":0") as cluster:
        client = distributed.Client(cluster)
        client.close()
        with pytest.raises(mb.errors.StateError, match=r"client: .* closed"):
            mb.ensemble.run(system, states, (0.0, 0.1), client=client, **SETTINGS)


def test_a_dask_cluster_without_workers_is_not_waited_for_for_ever(system, states, monkeypatch):
    distributed = pytest.importorskip("distributed", reason="needs Dask: pip install mbkern[distributed]")
    monkeypatch.setattr("mbkern.batch.ensemble.ALONE", 1.0)
    with distributed.LocalCluster(n_workers=0, processes=False, dashboard_address=":0") as cluster, \
            distributed.Client(cluster) as client, pytest.raises(mb.errors.IntegrationError, match="no workers for"):
        mb.ensemble.run(system, states, (0.0, 0.1), client=client, **SETTINGS)
