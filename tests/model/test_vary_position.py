"""Offsets that differ from state to state, for every body of machines of many kinds."""

from __future__ import annotations

import numpy as np
import pytest
from cases import assert_close

import mbkern as mb

COUNT = 3
TOLERANCE = 1e-11  # rounding only, times the condition of articulated inertias, as frames may lie elsewhere
MODELS = {"chain": mb.zoo.chain(4), "planar chain": mb.zoo.chain(4, seed=None), "carousel": mb.zoo.carousel(4),
          "binary tree": mb.zoo.binary_tree(5), "random tree": mb.zoo.random_tree(6, seed=3),
          "pipelayer": mb.zoo.pipelayer()}
BODIES = [(name, body) for name, model in MODELS.items() for body in model.body_names]


@pytest.mark.parametrize(("name", "body"), BODIES)
def test_every_body_may_have_other_positions(name, body):
    model = MODELS[name]
    rng = np.random.default_rng(7)
    position = rng.uniform(-0.5, 0.5, (COUNT, 3))
    position[0] = model.body_specs[model.body_index(body)].position  # the machine itself
    varied = model.vary(body=body, position=position)
    states = [model.random_state(seed) for seed in range(COUNT)]
    Q, P = np.array([q for q, _ in states]), np.array([u for _, u in states])
    rates = mb.System(model, "emh-ldl").rhs_batch(Q, P, 0.2, parameters=varied)
    for i in range(COUNT):
        alone = mb.System(varied.model_of(i), "emh-ldl").rhs(Q[i], P[i], 0.2)
        for given, wanted in zip(rates, alone, strict=True):
            assert_close(given[i], wanted, TOLERANCE, f"position of {body}")
