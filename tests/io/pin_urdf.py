"""Pinocchio's own reading of a URDF file, with its coordinates and speeds matched to ours by joint names."""

import numpy as np
import pinocchio as pin

import mbkern as mb
from mbkern.io.urdf import FLOATING_BASE
from mbkern.model.joint import Free, Step


class PinUrdf:
    """`path_or_xml` as Pinocchio loads it, beside `model`, which mbkern loaded."""

    def __init__(self, path_or_xml, model, floating_base=False):
        text = str(path_or_xml)
        build = pin.buildModelFromXML if text.lstrip().startswith("<") else pin.buildModelFromUrdf
        theirs = build(text, pin.JointModelFreeFlyer()) if floating_base else build(text)
        known = {e.name for body in model.body_specs for e in body.joint.elements}
        known |= {name.removesuffix(".x") for name in known if name} | {"universe", "root_joint"}
        welded = [k for k, name in enumerate(theirs.names) if name not in known]  # they move no mass
        self.model = pin.buildReducedModel(theirs, welded, pin.neutral(theirs)) if welded else theirs
        self.model.gravity.linear[:] = model.gravity
        self.data = self.model.createData()
        self.ours = model
        self.system = mb.System(model)

    def state(self, q, u):
        """(their q, J, Jdot): their speeds are J u."""
        theirs = pin.neutral(self.model)
        J = np.zeros((self.model.nv, self.ours.nv))
        Jdot = np.zeros_like(J)
        iq = iv = 0
        for body in self.ours.body_specs:
            moving = [e for e in body.joint.elements if e.nv]
            if not moving:
                continue
            if isinstance(moving[0], Free):
                name = moving[0].name
                joint = self.model.joints[self.model.getJointId("root_joint" if name == FLOATING_BASE else name)]
                theirs[joint.idx_q : joint.idx_q + 3] = q[iq : iq + 3]
                theirs[joint.idx_q + 3 : joint.idx_q + 7] = q[iq + 4], q[iq + 5], q[iq + 6], q[iq + 3]
                J[joint.idx_v : joint.idx_v + 6, iv : iv + 6] = np.eye(6)
            elif len(moving) == 3:  # planar, about z: their linear speeds are in body axes
                joint = self.model.joints[self.model.getJointId(moving[0].name.removesuffix(".x"))]
                c, s = np.cos(q[iq + 2]), np.sin(q[iq + 2])
                theirs[joint.idx_q : joint.idx_q + 4] = q[iq], q[iq + 1], c, s
                J[joint.idx_v : joint.idx_v + 3, iv : iv + 3] = [[c, s, 0], [-s, c, 0], [0, 0, 1]]
                Jdot[joint.idx_v : joint.idx_v + 2, iv : iv + 2] = u[iv + 2] * np.array([[-s, c], [-c, -s]])
            else:
                assert isinstance(moving[0], Step)
                joint = self.model.joints[self.model.getJointId(moving[0].name)]
                theirs[joint.idx_q : joint.idx_q + joint.nq] = (
                    [q[iq]] if joint.nq == 1 else [np.cos(q[iq]), np.sin(q[iq])]
                )
                J[joint.idx_v, iv] = 1.0
            iq, iv = iq + body.joint.nq, iv + body.joint.nv
        return theirs, J, Jdot

    def compare(self, seeds=(0,)):
        """Largest differences in random states, each relative to the largest number of its kind.

        Mass matrix; accelerations against `aba`; the joint forces that our accelerations need by `rnea` against those
        that act; rhs (speeds, and the rate of the momenta against d/dt (M v) = (C + C^T) v + M vdot of theirs).
        """
        errors = np.zeros(4)
        for seed in seeds:
            q, u = self.ours.random_state(seed)
            theirs, J, Jdot = self.state(q, u)
            v, tau = J @ u, -self.ours.damping * u
            upper = np.triu(pin.crba(self.model, self.data, theirs))
            M = upper + np.triu(upper, 1).T
            vdot = pin.aba(self.model, self.data, theirs, v, np.linalg.solve(J.T, tau))
            C = pin.computeCoriolisMatrix(self.model, self.data, theirs, v)
            pdot = J.T @ ((C + C.T) @ v + M @ vdot) + Jdot.T @ M @ v
            udot = np.linalg.solve(J, vdot - Jdot @ u)
            ours = self.system.accelerations(q, u)
            needed = J.T @ pin.rnea(self.model, self.data, theirs, v, J @ ours + Jdot @ u)
            p = self.system.momenta(q, u)
            pairs = [
                [(self.system.mass_matrix(q), J.T @ M @ J)],
                [(ours, udot)],
                [(needed, tau)],
                [(p, J.T @ M @ v), (self.system.velocities(q, p), u), (self.system.rhs(q, p)[1], pdot)],
            ]
            # of the forces whose sums `needed` and pdot are: they may cancel
            weights = max(np.abs(J.T @ M @ J @ ours).max(), np.abs(p).max())
            for k, group in enumerate(pairs):
                for got, expected in group:
                    scale = max(np.abs(expected).max(), weights if got is needed or expected is pdot else 1e-300)
                    errors[k] = max(errors[k], np.abs(got - expected).max() / scale)
        return errors
