"""The worked systems of golden/trees.json as models with their expected answers."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import mbkern as mb

MOVES = {"R": mb.rotate, "T": mb.translate}


def golden_step(spec):
    """One elementary step of a joint."""
    if spec["kind"] == "coordinate":
        amount = None
    elif spec["kind"] == "constant":
        amount = spec["value"]
    else:
        amplitude, omega, phase, offset = spec["harmonic"]
        amount = mb.harmonic(amplitude, omega, phase, offset)
    return MOVES[spec["move"]](spec["axis"], amount)


def golden_model(spec):
    """The model of one entry."""
    builder = mb.ModelBuilder(gravity=spec["gravity"], name=spec["name"])
    names = [body["name"] for body in spec["bodies"]]
    for body in spec["bodies"]:
        builder.add_body(
            body["name"],
            parent="world" if body["parent"] < 0 else names[body["parent"]],
            joint=[golden_step(step) for step in body["steps"]],
            mass=body["mass"],
            com=body["com"],
            inertia=body["inertia_com"],
        )
    return builder.build()


@cache
def golden_systems():
    """List of (model, expected) where `expected` is the entry of the file."""
    entries = json.loads((Path(__file__).parents[1] / "golden" / "trees.json").read_text())["systems"]
    return [(golden_model(entry["spec"]), entry) for entry in entries]


def golden_cases():
    """The same as pytest parameters' ids and values."""
    return {entry["spec"]["name"]: (model, entry) for model, entry in golden_systems()}
