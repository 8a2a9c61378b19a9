"""Which pivots of frames without bodies the kernels need not look at: they never come near rounding there."""

import numpy as np
import pytest

import mbkern as mb
from mbkern import plain
from mbkern.core import constants as L
from mbkern.model import doubts

layout, extended = plain.load("layout"), plain.load("extended")


def nodes_of(model):
    return model.block[L.HEADER:L.HEADER + int(model.block[L.N_NODES]) * L.NODE].reshape(-1, L.NODE)


def kept(model):
    block, at = model.block, int(model.block[L.AT_DOUBTS])
    numbers = block[at + 1:at + 1 + 2 * int(block[at])].astype(int).tolist() if at else []
    return [*zip(numbers[::2], numbers[1::2], strict=True)]


def margins(model, pairs, q):
    """Of all nodes, when the kernel looks at these pairs."""
    block, at = model.block.copy(), int(model.block[L.AT_DOUBTS])
    block[at], block[at + 1:at + 1 + 2 * len(pairs)] = len(pairs), np.ravel(pairs) if pairs else []
    work = np.zeros(100_000)
    extended.backward(block, q, np.zeros(model.nv), work)
    return work[layout.margins_at(block):][:int(block[L.N_NODES])]


def machine(joint, inertia=(0.1, 0.2, 0.25), com=(0.1, 0.2, 0.3), mass=1.0, tip=1.0):
    builder = mb.ModelBuilder()
    builder.add_body("a", "world", joint, mass=mass, com=com, inertia=inertia)
    builder.add_body("b", "a", mb.revolute("y"), position=(0.0, 0.0, 0.5), mass=tip, com=(0.2, 0.0, 0.0),
                     inertia=(0.1, 0.1, 0.1))
    return builder.build()


JOINTS = {"hinge on hinge": [mb.rotate("x"), mb.rotate("y")], "slide on slide": [mb.translate("x"), mb.translate("z")],
          "slide on hinge": [mb.rotate("x"), mb.translate("x")], "hinge on slide": [mb.translate("z"), mb.rotate("x")],
          "oblique hinges": [mb.rotate("x"), mb.rotate((1.0, 0.02, 0.0))]}


@pytest.mark.parametrize("name", JOINTS)
@pytest.mark.parametrize("tip", [0.0, 1.0, 30.0])
def test_what_is_sure_is_far_from_rounding(name, tip):
    rng = np.random.default_rng(len(name))
    for _ in range(20):
        model = machine(JOINTS[name], 10.0**rng.uniform(-3, 0) * np.array([1.0, 0.9, rng.uniform(0.2, 1.8)]),
                        rng.normal(size=3), tip=tip)
        every = doubts._pairs(nodes_of(model))
        assert every and not kept(model)
        q = rng.uniform(-3.0, 3.0, model.nq)
        before, after = margins(model, [], q), margins(model, every, q)
        assert before.min() > 0.0
        assert ((before - after) <= before / doubts.SURE).all()  # a look would take less than that away


@pytest.mark.parametrize("model", [
    machine(JOINTS["hinge on hinge"], inertia=(0.0, 0.0, 0.0)),  # a point mass
    machine(JOINTS["hinge on hinge"], inertia=(0.1, 0.1, 0.0), com=(0.0, 0.0, 0.0)),  # a rod
    machine(JOINTS["hinge on hinge"], mass=0.0, com=(0.0, 0.0, 0.0)),
    machine([mb.rotate("x"), mb.rotate((1.0, 1e-7, 0.0))]),  # nearly parallel
    machine(JOINTS["hinge on hinge"], inertia=(1e-9, 1e-9, 1e-9), com=(0.0, 0.0, 0.0), tip=1e8),
    machine([mb.rotate("x"), mb.rotate("y"), mb.rotate("z")]),  # may lock
    machine([mb.rotate("x"), mb.rotate("y", mb.harmonic(0.1, 1.0)), mb.rotate("z")])], ids=range(7))
def test_what_is_not_sure_is_kept(model):
    assert kept(model)


def test_sliding_loads_may_be_far_away():
    builder = mb.ModelBuilder()
    builder.add_body("a", "world", mb.universal("x", "y"), mass=1.0, inertia=(0.1, 0.1, 0.1))
    builder.add_body("b", "a", mb.prismatic("z"), mass=1.0, inertia=(0.1, 0.1, 0.1))
    assert kept(builder.build()) == [(1, 0)]


def test_machines_with_numbers_of_their_own_are_looked_at():
    model = machine(JOINTS["hinge on hinge"])
    varied = model.vary("a", mass=[1.0, 2.0])
    at = int(model.block[L.AT_DOUBTS])
    assert model.block[at] == 0.0 and at in varied.places
    assert (varied.values[:, [*varied.places].index(at)] == 1.0).all()


def test_the_layout_has_no_section_without_such_frames():
    assert mb.zoo.chain(3).block[L.AT_DOUBTS] == 0.0
    assert doubts.room_in(mb.zoo.chain(3).block) == 0
    assert doubts.room_in(machine(JOINTS["hinge on hinge"]).block) == 1
