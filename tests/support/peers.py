"""Our models in other libraries: Pinocchio and MuJoCo, with the maps between their numbers and ours.

Both are optional; a test that needs one is skipped without it. Drives have no counterpart there.
"""

from __future__ import annotations

from xml.etree import ElementTree as xml

import numpy as np
import pytest
import reference

from mbkern.model.joint import Ball, Free


def scalar_amount(element):
    """The constant amount of a step, None of a coordinate; a drive cannot be translated."""
    if callable(element.amount):
        raise ValueError("a driven step has no counterpart in the peer library")
    return element.amount


# ------------------------------------------------------------------------------------------------ Pinocchio


class Pinocchio:
    """A Pinocchio model of ours: one Pinocchio joint per moving element, joints numbered depth first.

    Several moving elements in one joint become several Pinocchio joints with massless links between them.

    Attributes
    ----------
    model, data : the Pinocchio objects
    q_index, v_index : where our q and u sit in theirs (their quaternion is x, y, z, w)
    bodies : per body (joint number, placement of the body frame in that joint's frame)

    Armature is passed on. Pinocchio adds it to the mass matrix without Hamel's term, so that its free joints, and ball
    joints whose rotors differ, move otherwise than under our (and MuJoCo's) equations when they have any.
    """

    def __init__(self, model):
        self.pin = pin = pytest.importorskip("pinocchio")
        self.ours = model
        self.model = pin.Model()
        self.model.gravity.linear = np.array(model.gravity)
        self.bodies = [None] * model.n_bodies
        self.moving = {}  # (body, element) -> joint number
        children = [[] for _ in range(model.n_bodies)]
        stack = []
        for i, body in enumerate(model.body_specs):
            (children[body.parent] if body.parent >= 0 else stack).append(i)
        stack.reverse()
        while stack:  # depth first: crba wants every subtree numbered without gaps
            i = stack.pop()
            self._add(i, model.body_specs[i])
            stack.extend(reversed(children[i]))
        self.q_index = np.zeros(model.nq, int)
        self.v_index = np.zeros(model.nv, int)
        self._number()
        self.model.armature = self.v(reference.armature(model))
        self.data = self.model.createData()

    def _add(self, i, body):
        pin = self.pin
        joint, placement = (0, pin.SE3.Identity()) if body.parent < 0 else self.bodies[body.parent]
        placement = placement * pin.SE3(np.array(body.rotation), np.array(body.position))
        for k, element in enumerate(body.joint.elements):
            if isinstance(element, Ball):
                kind = pin.JointModelSpherical()
            elif isinstance(element, Free):
                kind = pin.JointModelFreeFlyer()
            elif scalar_amount(element) is None:
                axis = np.array(element.axis)
                rotates = element.move == "rotate"
                kind = pin.JointModelRevoluteUnaligned(axis) if rotates else pin.JointModelPrismaticUnaligned(axis)
            else:
                placement = placement * self._constant(element)
                continue
            joint = self.model.addJoint(joint, kind, placement, f"{body.name}/{k}")
            self.moving[i, k] = joint
            placement = pin.SE3.Identity()
        inertia = pin.Inertia(body.mass, np.array(body.com, float), np.array(body.inertia, float))
        self.model.appendBodyToJoint(joint, inertia, placement)
        self.bodies[i] = joint, placement

    def _constant(self, step):
        axis = np.array(step.axis)
        if step.move == "rotate":
            return self.pin.SE3(reference.rotation_about(axis, step.amount), np.zeros(3))
        return self.pin.SE3(np.eye(3), axis * step.amount)

    def _number(self):
        iq = iv = 0
        for i, body in enumerate(self.ours.body_specs):
            for k, element in enumerate(body.joint.elements):
                if (i, k) not in self.moving:
                    continue
                joint = self.model.joints[self.moving[i, k]]
                if isinstance(element, Ball):
                    order, nv = [3, 0, 1, 2], 3
                elif isinstance(element, Free):
                    order, nv = [0, 1, 2, 6, 3, 4, 5], 6
                else:
                    order, nv = [0], 1
                self.q_index[iq : iq + len(order)] = joint.idx_q + np.array(order)
                self.v_index[iv : iv + nv] = joint.idx_v + np.arange(nv)
                iq, iv = iq + len(order), iv + nv

    def q(self, q):
        """Their configuration."""
        out = np.zeros(self.model.nq)
        out[self.q_index] = q
        return out

    def v(self, u):
        """Their speeds (or forces)."""
        out = np.zeros(self.model.nv)
        out[self.v_index] = u
        return out

    def mass_matrix(self, q):
        """Composite-rigid-body mass matrix in our order."""
        upper = np.triu(self.pin.crba(self.model, self.data, self.q(q)))
        full = upper + np.triu(upper, 1).T
        return full[np.ix_(self.v_index, self.v_index)]

    def accelerations(self, q, u, tau=None, wrench=None):
        """Articulated-body forward dynamics, du/dt in our order."""
        force = np.zeros(self.model.nv) if tau is None else self.v(tau)
        external = self.pin.StdVec_Force()
        external.extend([self.pin.Force.Zero() for _ in range(self.model.njoints)])
        if wrench is not None:
            for (joint, placement), w in zip(self.bodies, wrench, strict=True):
                external[joint] = external[joint] + placement.act(self.pin.Force(np.array(w)))
        return self.pin.aba(self.model, self.data, self.q(q), self.v(u), force, external)[self.v_index]

    def momentum_rate(self, q, u, tau=None, wrench=None):
        """pdot = M du/dt + (dM/dt) u, with dM/dt = Coriolis + Coriolis^T."""
        qdd = self.accelerations(q, u, tau, wrench)
        self.pin.computeCoriolisMatrix(self.model, self.data, self.q(q), self.v(u))
        coriolis = self.data.C[np.ix_(self.v_index, self.v_index)]
        return self.mass_matrix(q) @ qdd + (coriolis + coriolis.T) @ u

    def kinematics(self, q, u):
        """(R, r, v): body rotations, origins and body-axes velocities."""
        self.pin.forwardKinematics(self.model, self.data, self.q(q), self.v(u))
        R, r, v = [], [], []
        for joint, placement in self.bodies:
            pose = self.data.oMi[joint] * placement
            R.append(pose.rotation)
            r.append(pose.translation)
            v.append(placement.actInv(self.data.v[joint]).vector if joint else np.zeros(6))
        return np.array(R), np.array(r), np.array(v)

    def energies(self, q, u):
        """(kinetic, potential); the datum is the world origin; bodies welded to the world do not count."""
        kinetic = self.pin.computeKineticEnergy(self.model, self.data, self.q(q), self.v(u))
        return kinetic, self.pin.computePotentialEnergy(self.model, self.data, self.q(q))


# --------------------------------------------------------------------------------------------------- MuJoCo


def text(values):
    """Numbers as MJCF wants them, with all their digits."""
    return " ".join(repr(float(x)) for x in np.ravel(values))


def matrix_quaternion(R):
    """Unit quaternion (w, x, y, z) of a rotation matrix."""
    # the eigenvector of Davenport's matrix for eigenvalue 1: valid for every rotation, no cases
    z = np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
    K = np.block([[np.array([[np.trace(R)]]), z[None]], [z[:, None], R + R.T - np.trace(R) * np.eye(3)]])
    _, vectors = np.linalg.eigh(K)
    return vectors[:, -1]


class MuJoCo:
    """A MuJoCo model of ours through MJCF text: one MuJoCo body per body.

    A joint may have constant steps first, then any number of coordinate steps, or one ball; `free()` only on
    the ground (MuJoCo's rule). Springs and dampers of scalar coordinates are passed on.
    """

    def __init__(self, model):
        self.mujoco = pytest.importorskip("mujoco")
        self.ours = model
        root = xml.Element("mujoco")
        xml.SubElement(root, "compiler", angle="radian", autolimits="true")
        option = xml.SubElement(root, "option", gravity=text(model.gravity))
        xml.SubElement(option, "flag", contact="disable", energy="enable")
        world = xml.SubElement(root, "worldbody")
        nodes = []
        self.free_placements = {}  # joint name -> (R, r)
        self.moving = []  # (joint name, element) in our order
        for body in model.body_specs:
            nodes.append(self._body(world if body.parent < 0 else nodes[body.parent], body))
        self.text = xml.tostring(root, encoding="unicode")
        self.model = self.mujoco.MjModel.from_xml_string(self.text)
        self.data = self.mujoco.MjData(self.model)
        self.addresses = []
        for name, element in self.moving:
            j = self.model.joint(name).id
            self.addresses.append((self.model.jnt_qposadr[j], self.model.jnt_dofadr[j], element))

    def _body(self, parent, body):
        R, r = np.array(body.rotation, float), np.array(body.position, float)
        elements = list(body.joint.elements)
        while elements and not isinstance(elements[0], Ball | Free) and scalar_amount(elements[0]) is not None:
            step = elements.pop(0)
            if step.move == "rotate":
                R = R @ reference.rotation_about(step.axis, step.amount)
            else:
                r = r + R @ (np.array(step.axis) * step.amount)
        node = xml.SubElement(parent, "body", name=body.name, pos=text(r), quat=text(matrix_quaternion(R)))
        v = 0
        for k, element in enumerate(elements):
            name = f"{body.name}/{k}"
            self.moving.append((name, element))
            if isinstance(element, Free):
                if body.parent >= 0 or len(elements) > 1:
                    raise ValueError("MuJoCo has free joints on the ground only")
                xml.SubElement(node, "joint", name=name, type="free", armature=text(self._rotor(body, v, 6)))
                self.free_placements[name] = R, r
                v += 6
                continue
            if isinstance(element, Ball):
                if np.ptp(body.damping[v : v + 3]) > 0:
                    raise ValueError("MuJoCo has one damping for a ball joint")
                xml.SubElement(node, "joint", name=name, type="ball", damping=text(body.damping[v]),
                               armature=text(self._rotor(body, v, 3)))
                v += 3
                continue
            if scalar_amount(element) is not None:
                raise ValueError("a constant step after a moving one needs its own MuJoCo body")
            xml.SubElement(
                node,
                "joint",
                name=name,
                type="hinge" if element.move == "rotate" else "slide",
                axis=text(element.axis),
                damping=text(body.damping[v]),
                stiffness=text(body.stiffness[v]),
                springref=text(body.rest[v]),
                armature=text(self._rotor(body, v, 1)),
            )
            v += 1
        if body.mass > 0:
            J = np.array(body.inertia)
            six = [J[0, 0], J[1, 1], J[2, 2], J[0, 1], J[0, 2], J[1, 2]]
            xml.SubElement(node, "inertial", pos=text(body.com), mass=text(body.mass), fullinertia=text(six))
        return node

    @staticmethod
    def _rotor(body, v, n):
        """Armature of a joint's n dofs."""
        own = (body.armature or (0.0,) * body.joint.nv)[v : v + n]
        if np.ptp(own) > 0:
            raise ValueError("MuJoCo has one armature for a joint")
        return own[0]

    def set_state(self, q, u):
        """Put our (q, u) into their data; J with qvel = J u (a free joint moves in world axes there)."""
        data = self.data
        J = np.zeros((self.model.nv, self.ours.nv))
        iq = iv = 0
        for (name, element), (aq, av, _) in zip(self.moving, self.addresses, strict=True):
            if isinstance(element, Free):
                R0, r0 = self.free_placements[name]
                quaternion = q[iq + 3 : iq + 7]
                data.qpos[aq : aq + 3] = r0 + R0 @ q[iq : iq + 3]
                data.qpos[aq + 3 : aq + 7] = reference.quaternion_product(matrix_quaternion(R0), quaternion)
                J[av : av + 3, iv : iv + 3] = R0 @ reference.quaternion_matrix(quaternion)
                J[av + 3 : av + 6, iv + 3 : iv + 6] = np.eye(3)
                iq, iv = iq + 7, iv + 6
            elif isinstance(element, Ball):
                data.qpos[aq : aq + 4] = q[iq : iq + 4]
                J[av : av + 3, iv : iv + 3] = np.eye(3)
                iq, iv = iq + 4, iv + 3
            else:
                data.qpos[aq] = q[iq]
                J[av, iv] = 1.0
                iq, iv = iq + 1, iv + 1
        data.qvel[:] = J @ u
        data.qfrc_applied[:] = 0.0
        data.xfrc_applied[:] = 0.0
        self.mujoco.mj_forward(self.model, data)
        return J

    def mass_matrix(self, q):
        """Their mass matrix in our speeds."""
        J = self.set_state(q, np.zeros(self.ours.nv))
        columns = np.zeros((self.model.nv, self.model.nv))
        for column, e in zip(columns, np.eye(self.model.nv), strict=True):
            self.mujoco.mj_mulM(self.model, self.data, column, e)
        return J.T @ columns.T @ J

    def accelerations(self, q, u, tau=None, wrench=None):
        """du/dt in our speeds."""
        J = self.set_state(q, u)
        data = self.data
        if tau is not None:
            # forces conjugate to qvel = J u with J orthogonal
            data.qfrc_applied[:] = J @ tau
        if wrench is not None:
            for body, w in zip(self.ours.body_specs, wrench, strict=True):
                b = self.model.body(body.name).id
                R = data.xmat[b].reshape(3, 3)
                data.xfrc_applied[b, :3] = R @ w[:3]
                data.xfrc_applied[b, 3:] = R @ (w[3:] - np.cross(body.com, w[:3]))
        self.mujoco.mj_forward(self.model, data)
        udot = J.T @ data.qacc
        iv = 0
        for _, element in self.moving:
            if isinstance(element, Free):
                # body-axes derivative of the body-axes linear speed
                udot[iv : iv + 3] -= np.cross(u[iv + 3 : iv + 6], u[iv : iv + 3])
                iv += 6
            else:
                iv += 3 if isinstance(element, Ball) else 1
        return udot

    def energies(self, q, u):
        """(kinetic, potential) with the world origin as datum; springs included."""
        self.set_state(q, u)
        return float(self.data.energy[1]), float(self.data.energy[0])
