"""Models of many bodies: what each costs, counted in calls of functions; deep trees; the pause of the collector."""

from __future__ import annotations

import gc
import os
import sys

import numpy as np
import pytest

import mbkern as mb
from mbkern import collector
from mbkern.core import constants as L
from mbkern.model.joint import Joint
from mbkern.workspace import places

GENERAL = mb.revolute((1.0, 2.0, 0.5))
FEW, MANY = 100, 300


def described(n, joints):
    """A builder with a chain of bodies in general position."""
    rng = np.random.default_rng(n)
    builder = mb.ModelBuilder()
    parent = "world"
    for i in range(n):
        w = rng.normal(size=4)
        parent = builder.add_body(f"b{i}", parent, joints(i), mass=1.0, com=(0.1, 0.0, 0.2), inertia=(0.1, 0.2, 0.2),
                                  position=(0.5, 0.0, 0.1), rotation=w / np.linalg.norm(w))
    return builder


def calls(work, argument):
    """How many functions are called, of Python and of C."""
    count = 0

    def note(frame, event, function):
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        work(argument)
    finally:
        sys.setprofile(before)
    return count


def calls_per_body(work, few, many):
    """What each further body adds; nothing is loaded for the first time."""
    work(few)
    return (calls(work, many) - calls(work, few)) / (MANY - FEW)


def add_bodies(n):
    builder = mb.ModelBuilder()
    for i in range(n):
        builder.add_body(f"b{i}", "world", GENERAL, mass=1.0, com=(0.1, 0.0, 0.2), inertia=(0.1, 0.2, 0.2),
                         position=(0.5, 0.0, 0.1), rotation=[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])


def build(builder):
    builder.build()


def build_and_lower(builder):
    assert builder.build().block.size


def one_joint(i):
    return GENERAL


def joints_of_their_own(i):
    return mb.revolute((1.0, 2.0, 0.5 + i))


def welds(i):
    return GENERAL if i == 0 else mb.weld()


# The limits are what was counted and a tenth more; 0.1: nothing is done body by body. Otherwise lowering alone took 580
# calls, writing 1160.
def test_calls_of_add_body():
    assert calls_per_body(add_bodies, FEW, MANY) <= 21


@pytest.mark.parametrize(("work", "joints", "limit"), [
    (build, one_joint, 0.1), (build_and_lower, one_joint, 0.1), (build_and_lower, joints_of_their_own, 29),
    (build_and_lower, welds, 19.8),
])
def test_calls_of_building(work, joints, limit):
    assert calls_per_body(work, described(FEW, joints), described(MANY, joints)) <= limit


@pytest.mark.parametrize(("work", "limit"), [(mb.Model.to_json, 36), (
    lambda model: mb.Model.from_json(model.text), 58)])
def test_calls_of_files(work, limit):
    few, many = (described(n, one_joint).build() for n in (FEW, MANY))
    for model in (few, many):
        model.__dict__["text"] = model.to_json()
    assert calls_per_body(work, few, many) <= limit


def test_chains_deeper_than_the_stack():
    """Of welds, each placed in the frame of the one before, and of joints."""
    n = 3 * sys.getrecursionlimit()
    builder = mb.ModelBuilder()
    parent = "world"
    for i in range(n):
        joint = [mb.translate("x", 0.5)] if i < n - 2 else mb.revolute("y")
        parent = builder.add_body(f"b{i}", parent, joint, mass=1.0, inertia=(1, 1, 1), position=(0.0, 0.25, 0.0))
    block = builder.build().block
    at = places.body_row(block, n - 3) + L.BODY_RHO
    assert block[at:at + 3].tolist() == [0.5 * (n - 2), 0.25 * (n - 2), 0.0]
    assert mb.Model.from_json(builder.build().to_json()).block.tolist() == block.tolist()
    assert mb.zoo.chain(n).block[L.N_NODES] == n


def test_files_have_a_line_for_each_body_and_share_joints():
    model = mb.zoo.chain(5)
    lines = [line for line in model.to_json().splitlines() if line.startswith("  {")]
    assert [f'"name": "{name}"' in line for name, line in zip(model.body_names, lines, strict=True)] == [True] * 5
    twin = mb.Model.from_json(model.to_json())
    assert twin == model and len({id(body.joint) for body in twin.body_specs}) == 1


def test_joints_that_differ_in_a_file_differ_in_the_model():
    b = mb.ModelBuilder()
    joints = [mb.revolute("x"), mb.revolute("x", name="turn"), mb.revolute((1, 0, 1e-15)), mb.prismatic("x"),
              Joint([mb.rotate("x")], "hinge"), Joint([mb.rotate("x", 1.0), mb.rotate("x")], "hinge")]
    for i, joint in enumerate(joints):
        b.add_body(f"b{i}", joint=joint, mass=1.0, inertia=(1, 1, 1))
    twin = mb.Model.from_json(b.build().to_json())
    assert [(body.joint, body.joint.kind) for body in twin.body_specs] == [(joint, joint.kind) for joint in joints]


def test_the_collector_works_again_after_errors():
    assert gc.isenabled()
    for wrong in ("{", '{"format": 1}', mb.zoo.chain(2).to_json().replace('"mass"', '"mess"', 1)):
        with pytest.raises(mb.errors.ModelError):
            mb.Model.from_json(wrong)
        assert gc.isenabled()


def test_a_collector_that_is_off_stays_off():
    gc.disable()
    try:
        mb.Model.from_json(mb.zoo.chain(2).to_json())
        assert not gc.isenabled()
    finally:
        gc.enable()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of forks while threads run
def test_the_collector_works_in_a_process_forked_meanwhile():
    with collector.paused():
        child = os.fork()
        if child == 0:
            os._exit(0 if gc.isenabled() else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
