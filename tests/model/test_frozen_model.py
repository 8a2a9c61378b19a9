"""The finished model: its arrays, names, states, and that it cannot change."""

import copy
import pickle
import subprocess
import sys

import numpy as np
import pytest

import mbkern as mb
from mbkern.errors import FrozenError, ModelError


@pytest.fixture(scope="module")
def machine():
    """Every kind of element in one tree: floating base, ball, constants, drives, welds."""
    b = mb.ModelBuilder(gravity=(1.0, 2.0, 3.0), name="machine")
    box = dict(mass=2.0, com=(0.1, -0.2, 0.3), inertia=(0.3, 0.4, 0.5, 0.01, 0.02, -0.03))
    b.add_body("base", joint=mb.free(), **box)
    b.add_body("plate", "base", **box)
    b.add_body("arm", "base", [mb.translate("x", 0.2), mb.rotate("z"), mb.rotate("y", mb.harmonic(1, 2)), mb.ball()])
    b.add_body("hand", "arm", mb.cylindrical("y", names=["turn", "slide"]), position=(1, 2, 3), **box)
    b.add_body("tip", "hand", mb.revolute((1, 2, 2)), rotation=(0, 1, 0, 0), **box)
    return b.build()


def test_sizes_and_offsets(machine):
    assert (machine.n_bodies, machine.nq, machine.nv) == (5, 7 + 0 + 5 + 2 + 1, 6 + 0 + 4 + 2 + 1)
    assert machine.parents.tolist() == [-1, 0, 0, 2, 3]
    assert machine.dofs.tolist() == [6, 0, 4, 2, 1]
    assert machine.q_offsets.tolist() == [0, 7, 7, 12, 14]
    assert machine.v_offsets.tolist() == [0, 6, 6, 10, 12]
    assert machine.gravity.tolist() == [1.0, 2.0, 3.0]
    assert machine.total_mass == 8.0


def test_names(machine):
    assert machine.body_names == ("base", "plate", "arm", "hand", "tip")
    assert machine.coordinate_names == (
        "base.x", "base.y", "base.z", "base.qw", "base.qx", "base.qy", "base.qz",
        "arm.0", "arm.1.qw", "arm.1.qx", "arm.1.qy", "arm.1.qz", "turn", "slide", "tip",
    )  # fmt: skip
    assert machine.speed_names == (
        "base.vx", "base.vy", "base.vz", "base.wx", "base.wy", "base.wz",
        "arm.0", "arm.1.wx", "arm.1.wy", "arm.1.wz", "turn", "slide", "tip",
    )  # fmt: skip


def test_lookup_by_name(machine):
    assert [machine.index(name) for name in machine.coordinate_names] == list(range(machine.nq))
    assert [machine.speed_index(name) for name in machine.speed_names] == list(range(machine.nv))
    assert machine.body_index("hand") == 3
    with pytest.raises(ModelError, match=r"model 'machine' has no coordinate named 'turm'\. Did you mean 'turn'"):
        machine.index("turm")
    with pytest.raises(ModelError, match=r"has no body named 'elephant'\. Known names: 'base'"):
        machine.body_index("elephant")
    with pytest.raises(ModelError, match="no speed named 3"):
        machine.speed_index(3)
    with pytest.raises(ModelError, match="no body named"):
        machine.body_index(["base"])


def test_two_balls_in_one_joint_have_different_names():
    b = mb.ModelBuilder()
    b.add_body("a", joint=[mb.ball(), mb.translate("x", 1.0), mb.ball()], mass=1.0, inertia=(1, 1, 1))
    assert b.build().speed_names == ("a.0.wx", "a.0.wy", "a.0.wz", "a.1.wx", "a.1.wy", "a.1.wz")


def test_body_records(machine):
    bodies = machine.bodies
    assert isinstance(bodies, np.recarray) and bodies.shape == (5,)
    assert bodies.name.tolist() == list(machine.body_names)
    assert bodies.nq.tolist() == [7, 0, 5, 2, 1]
    assert bodies.n_steps.tolist() == [1, 0, 4, 2, 1]
    assert bodies.first_step.tolist() == [0, 1, 1, 5, 7]
    assert bodies.position[3].tolist() == [1, 2, 3]
    assert bodies.rotation[4].tolist() == np.diag([1.0, -1.0, -1.0]).tolist()


def test_spatial_inertia_gives_the_kinetic_energy(machine):
    """v^T M v / 2 at the origin equals the energy at the centre of mass, for any twist."""
    rng = np.random.default_rng(0)
    body = machine.bodies[0]
    for v in rng.normal(size=(5, 6)):
        at_com = v[:3] + np.cross(v[3:], body.com)
        expected = 0.5 * body.mass * at_com @ at_com + 0.5 * v[3:] @ body.inertia @ v[3:]
        assert 0.5 * v @ body.M @ v == pytest.approx(expected, rel=1e-14)
    m, rc = body.mass, body.com
    np.testing.assert_allclose(body.M[3:, :3] @ [1, 0, 0], m * np.cross(rc, [1, 0, 0]))  # m rc~ below, as written
    np.testing.assert_array_equal(body.M, body.M.T)
    assert (machine.bodies.M[2] == 0.0).all()  # the massless arm


def test_step_records(machine):
    steps = machine.steps
    assert steps.body.tolist() == [0, 2, 2, 2, 2, 3, 3, 4]
    assert steps.move.tolist() == [3, 1, 0, 0, 2, 0, 1, 0]
    assert steps.kind.tolist() == [0, 1, 0, 2, 0, 0, 0, 0]
    assert steps.q_index.tolist() == [0, -1, 7, -1, 8, 12, 13, 14]
    assert steps.v_index.tolist() == [0, -1, 6, -1, 7, 10, 11, 12]
    assert steps.value[1] == 0.2 and np.isnan(np.delete(steps.value, 1)).all()
    assert steps.axis[7].tolist() == pytest.approx([1 / 3, 2 / 3, 2 / 3])


def test_a_model_of_welds_only():
    b = mb.ModelBuilder()
    b.add_body("statue", mass=1.0)
    model = b.build()
    assert (model.nq, model.nv, len(model.steps)) == (0, 0, 0)
    assert model.neutral().shape == (0,)
    assert [x.shape for x in model.random_state(0)] == [(0,), (0,)]


def test_nothing_can_be_changed(machine):
    with pytest.raises(FrozenError, match="a model cannot be changed"):
        machine.nv = 3
    with pytest.raises(AttributeError):
        machine.colour = "red"
    with pytest.raises(FrozenError):
        del machine.name
    arrays = [machine.gravity, machine.parents, machine.dofs, machine.q_offsets, machine.v_offsets, machine.bodies]
    for array in [*arrays, machine.steps, machine.stiffness, machine.damping, machine.rest, machine.armature]:
        with pytest.raises(ValueError, match="read-only"):
            array[...] = array[0]
    with pytest.raises(ValueError, match="read-only"):
        machine.bodies.mass[0] = 1.0
    with pytest.raises(ValueError, match="read-only"):
        machine.bodies[0].mass = 1.0


def test_neutral_and_random_states(machine):
    q = machine.neutral()
    assert q.tolist() == [0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0]
    q[0] = 5.0  # a state of one's own
    assert machine.neutral()[0] == 0.0
    q, u = machine.random_state(4)
    again = machine.random_state(4)
    np.testing.assert_array_equal(q, again[0])
    np.testing.assert_array_equal(u, again[1])
    assert (machine.random_state(5)[0] != q).all()
    for start in (3, 8):
        assert np.linalg.norm(q[start : start + 4]) == pytest.approx(1.0, abs=1e-15)
    many = np.array([machine.random_state(seed)[0] for seed in range(200)])
    assert np.abs(many).max(axis=0)[[0, 1, 2, 13]] == pytest.approx(0.5, abs=0.02)  # distances
    assert np.abs(many).max(axis=0)[[7, 12, 14]] == pytest.approx(1.0, abs=0.04)  # angles


def variants():
    box = dict(mass=1.0, inertia=(1.0, 1.0, 1.0))

    def one(name="m", gravity=(0, 0, -9.81), **kwargs):
        b = mb.ModelBuilder(gravity, name)
        b.add_body(**{"name": "a", "joint": mb.revolute("z"), **box, **kwargs})
        return b.build()

    return [
        one(), one(name="n"), one(gravity=(0, 0, 0)), one(mass=2.0), one(com=(0, 0, 1)), one(inertia=(1, 1, 1.5)),
        one(position=(1, 0, 0)), one(rotation=(0, 1, 0, 0)), one(joint=mb.revolute("y")), one(stiffness=1.0),
        one(armature=1.0), one(damping=1.0), one(rest=1.0),
        one(joint=[mb.rotate("z"), mb.rotate("x", mb.harmonic(1, 2))]),
        one(joint=[mb.rotate("z"), mb.rotate("x", mb.harmonic(1, 3))]), one(**{"name": "b"}),
    ]  # fmt: skip


def test_equality_and_hash_see_every_part():
    first, second = variants(), variants()
    for i, a in enumerate(first):
        for k, b in enumerate(second):
            assert (a == b) == (i == k)
    assert [hash(a) for a in first] == [hash(b) for b in second]
    assert len(set(first) | set(second)) == len(first)
    assert first[0] != "m"


def test_pickle_and_copy(machine):
    machine.bodies, hash(machine)  # derived data must not travel along
    for twin in (pickle.loads(pickle.dumps(machine)), copy.copy(machine), copy.deepcopy(machine)):
        assert twin == machine and hash(twin) == hash(machine)
        np.testing.assert_array_equal(twin.bodies, machine.bodies)
        with pytest.raises(FrozenError):
            twin.name = "other"


def test_hash_is_right_in_another_process(machine, tmp_path):
    """Strings hash differently in every process, so a stored hash would be wrong there."""
    hash(machine)
    path = tmp_path / "model.pickle"
    path.write_bytes(pickle.dumps((machine, machine.to_json())))
    code = (
        "import pickle, sys; from mbkern.model.model import Model; "
        "model, text = pickle.load(open(sys.argv[1], 'rb')); assert len({model, Model.from_json(text)}) == 1"
    )
    subprocess.run([sys.executable, "-c", code, str(path)], check=True)


def test_text(machine):
    assert repr(machine) == "Model 'machine': 5 bodies, 13 dofs (nq = 15), total mass 8 kg"
    lines = machine.describe().splitlines()
    assert lines[1] == "world"
    assert [line.split(":")[0] for line in lines[2:]] == ["  base", "    plate", "    arm", "      hand", "        tip"]
    assert "rotate y by harmonic(t)" in lines[4]
    assert machine.describe(limit=2).splitlines()[-1] == "... and 3 more"
    assert len(mb.zoo.chain(3000).describe().splitlines()) == 103
