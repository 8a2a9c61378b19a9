"""Derivatives of one state, in closed form: of right-hand sides, accelerations and joint forces; small vibrations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from numpy.typing import ArrayLike

from . import lazy
from .errors import MethodError
from .lazy import cached_property
from .system_constraints import Constrained

if TYPE_CHECKING:
    from .derivatives import AccelerationDerivatives, Derivatives, ForceDerivatives, Jacobian
    from .derivatives.linear import Equilibrium, Linearization, Modes
    from .derivatives.parameters import ParameterDerivatives
    from .inputs import Array


class Differentiable(Constrained):
    """The part of `System` that has derivatives of one state."""

    if TYPE_CHECKING:
        @property
        def method(self) -> str: ...

        @property
        def variable(self) -> str: ...

    def jacobian_rhs(self, q: ArrayLike, p: ArrayLike, t: float = 0.0, tau: ArrayLike | None = None,
                     wrench: ArrayLike | None = None, *, chart: str = "tangent", out: Array | None = None) -> Jacobian:
        """Exact derivatives of (u, pdot) with respect to (q, p), in closed form, O(N^2) for the whole matrix.

        Parameters
        ----------
        q, p, t, tau, wrench
            As in `rhs`. Wrenches turn with their bodies; joint forces only add to pdot.
        chart : str
            How q moves: "tangent" (small turns and moves in body axes for ball and free joints, the coordinates for all
            others), or "coordinates" (the nq numbers of q, and qdot in the place of u).
        out : (2 nv, 2 nv) or, in coordinates, (nq + nv, nq + nv), optional
            Float64 array to write into. What is returned has views of it, and may be what an earlier call has returned.

        Returns
        -------
        Jacobian
            `.u_q`, `.u_p` (= Mass^-1), `.pdot_q`, `.pdot_p`, `.pdot_tau`; `.matrix` = [[u_q, u_p], [pdot_q, pdot_p]].

        Examples
        --------
        >>> import mbkern as mb, numpy as np
        >>> builder = mb.ModelBuilder()
        >>> _ = builder.add_body("bob", joint=mb.revolute("y"), mass=2.0, com=(0, 0, -0.5))
        >>> A = mb.System(builder.build()).jacobian_rhs([0.0], [0.0])
        >>> A.matrix.round(6) + 0.0  # m g l = 9.81, m l^2 = 0.5
        array([[ 0.  ,  2.  ],
               [-9.81,  0.  ]])
        >>> float(np.abs(np.linalg.eigvals(A.matrix)[0]).round(6))  # sqrt(g / l)
        4.429447
        """
        derivatives = self._derivatives
        if tau is None and wrench is None and chart == "tangent":
            last = derivatives.last
            if out is not None and last.matrix is out:  # of an earlier call: to make another takes as long as 3 bodies
                derivatives.run(t, out, q, p)
                return last
            made = derivatives.new(derivatives.run(t, out, q, p))
            if type(made) is derivatives.new and made.matrix is out:
                derivatives.last = made
            return made
        return derivatives.jacobian_rhs(q, p, t, tau, wrench, chart, out)

    def jvp(self, q: ArrayLike, p: ArrayLike, dq: ArrayLike, dp: ArrayLike, t: float = 0.0,
            tau: ArrayLike | None = None, wrench: ArrayLike | None = None, *,
            out: tuple[Array, Array] | None = None) -> tuple[Array, Array]:
        """How (u, pdot) change along directions (dq, dp): the Jacobian times a vector, in O(N).

        Parameters
        ----------
        q, p, t, tau, wrench
            As in `jacobian_rhs`.
        dq, dp : (nv,) or (nv, k)
            One direction, or k of them; dq along the tangent.
        out : (du, dpdot), optional
            Float64 arrays of that shape to write into; new ones by default.

        Returns
        -------
        du, dpdot : (nv,) or (nv, k)

        Examples
        --------
        >>> import mbkern as mb, numpy as np
        >>> model = mb.zoo.random_tree(5, seed=1)
        >>> system = mb.System(model)
        >>> q, u = model.random_state(seed=1)
        >>> p, d = system.momenta(q, u), np.ones(model.nv)
        >>> du, dpdot = system.jvp(q, p, d, d)
        >>> A = system.jacobian_rhs(q, p)
        >>> bool(np.allclose(dpdot, A.pdot_q @ d + A.pdot_p @ d))
        True
        """
        self._need_momenta("jvp")
        return self._derivatives.product("jvp", q, p, dq, dp, t, tau, wrench, ("dq", "dp"), out)

    def vjp(self, q: ArrayLike, p: ArrayLike, u_weights: ArrayLike, pdot_weights: ArrayLike, t: float = 0.0,
            tau: ArrayLike | None = None, wrench: ArrayLike | None = None, *,
            out: tuple[Array, Array] | None = None) -> tuple[Array, Array]:
        """Gradient of u_weights . u + pdot_weights . pdot: the transposed Jacobian times a vector, in O(N).

        Parameters
        ----------
        q, p, t, tau, wrench
            As in `jacobian_rhs`.
        u_weights, pdot_weights : (nv,) or (nv, k)
            One set of weights, or k of them.
        out : (gq, gp), optional
            Float64 arrays of that shape to write into; new ones by default.

        Returns
        -------
        gq, gp : (nv,) or (nv, k)
            Derivatives with respect to the tangent of q, and to p.

        Examples
        --------
        >>> import mbkern as mb, numpy as np
        >>> model = mb.zoo.random_tree(5, seed=1)
        >>> system = mb.System(model)
        >>> q, u = model.random_state(seed=1)
        >>> p, w = system.momenta(q, u), np.ones(model.nv)
        >>> gq, gp = system.vjp(q, p, w, w)
        >>> A = system.jacobian_rhs(q, p)
        >>> bool(np.allclose(gq, w @ A.u_q + w @ A.pdot_q))
        True
        """
        self._need_momenta("vjp")
        return self._derivatives.product("vjp", q, p, u_weights, pdot_weights, t, tau, wrench,
                                         ("u_weights", "pdot_weights"), out)

    def derivatives_accelerations(self, q: ArrayLike, u: ArrayLike, t: float = 0.0, tau: ArrayLike | None = None,
                                  wrench: ArrayLike | None = None, *, out: tuple[Array, Array, Array] | None = None
                                  ) -> AccelerationDerivatives:
        """Exact derivatives of the joint accelerations udot(q, u, tau), in closed form, O(N^2).

        Parameters
        ----------
        q, u, t, tau, wrench
            As in `accelerations`.
        out : (udot_q, udot_u, udot_tau), optional
            Float64 arrays, (nv, nv) each, to write into; new ones by default.

        Returns
        -------
        AccelerationDerivatives
            `.udot_q` (q along its tangent), `.udot_u`, `.udot_tau` (= Mass^-1).

        Examples
        --------
        >>> import mbkern as mb
        >>> builder = mb.ModelBuilder()
        >>> _ = builder.add_body("bob", joint=mb.revolute("y"), mass=2.0, com=(0, 0, -0.5))
        >>> derivatives = mb.System(builder.build()).derivatives_accelerations([0.0], [0.0])
        >>> float(derivatives.udot_q[0, 0].round(6)), float(derivatives.udot_tau[0, 0].round(6))
        (-19.62, 2.0)
        """
        return self._derivatives.accelerations(q, u, t, tau, wrench, out)

    def derivatives_inverse_dynamics(self, q: ArrayLike, u: ArrayLike, udot: ArrayLike, t: float = 0.0,
                                     wrench: ArrayLike | None = None, *, out: tuple[Array, Array, Array] | None = None
                                     ) -> ForceDerivatives:
        """Exact derivatives of the joint forces tau(q, u, udot) that a motion needs, in closed form, O(N depth).

        Parameters
        ----------
        q, u, udot, t, wrench
            As in `inverse_dynamics`.
        out : (tau_q, tau_u, tau_udot), optional
            Float64 arrays, (nv, nv) each, to write into; new ones by default.

        Returns
        -------
        ForceDerivatives
            `.tau_q` (q along its tangent), `.tau_u`, `.tau_udot` (= Mass).

        Examples
        --------
        >>> import mbkern as mb, numpy as np
        >>> model = mb.zoo.chain(3)
        >>> system = mb.System(model)
        >>> q, u = model.random_state(seed=1)
        >>> derivatives = system.derivatives_inverse_dynamics(q, u, np.zeros(3))
        >>> bool(np.allclose(derivatives.tau_udot, system.mass_matrix(q)))
        True
        """
        return self._derivatives.inverse_dynamics(q, u, udot, t, wrench, out)

    def equilibrium(self, q_guess: ArrayLike, t: float = 0.0, tau: ArrayLike | None = None,
                    wrench: ArrayLike | None = None, *, hold: Sequence[str | int] = (), u: ArrayLike | None = None
                    ) -> Equilibrium:
        """A configuration near a guess that stays when all joint speeds are zero, or constant, by Newton's method.

        Parameters
        ----------
        q_guess : (nq,)
            Where to begin.
        t, tau, wrench
            As in `rhs`. Where joints are driven, the machine stays relative to them, as in a steady rotation.
        hold : names or numbers of dofs
            Coordinates that keep their values of q_guess, by whatever joint forces it takes.
        u : (nv,), optional
            Joint speeds that stay, for a steady rotation of joints that are not driven; zero by default.

        Returns
        -------
        Equilibrium
            `.q`, `.p`, `.tau` (with what holds), `.residual`, `.iterations`. Whether it is stable, `modes` tells. With
            constraints q closes all loops, and `constraint_forces` do their part.

        Examples
        --------
        >>> import mbkern as mb
        >>> builder = mb.ModelBuilder()
        >>> _ = builder.add_body("bob", joint=mb.revolute("y"), mass=2.0, com=(0, 0, -0.5))
        >>> found = mb.System(builder.build()).equilibrium([0.3], tau=[-9.81 / 2])
        >>> round(float(found.q[0]), 6)  # asin(1/2)
        -0.523599
        """
        return lazy.module("derivatives.linear").equilibrium(self, q_guess, t, tau, wrench, hold, u)

    def linearize(self, q: ArrayLike, p: ArrayLike, t: float = 0.0, tau: ArrayLike | None = None,
                  wrench: ArrayLike | None = None, *, inputs: Sequence[str | int] | None = None,
                  outputs: Sequence[str] | ArrayLike | None = None) -> Linearization:
        """State-space matrices of small deviations from a state.

        Parameters
        ----------
        q, p, t, tau, wrench
            As in `rhs`.
        inputs : names or numbers of dofs, optional
            Where joint forces act; all by default.
        outputs : names or (k, 2 nv), optional
            What is seen: "q:", "u:" or "p:" and the name of a dof, or the matrix C; the whole state by default.

        Returns
        -------
        Linearization
            `.A`, `.B`, `.C`, `.D`, `.rate` (zero at an equilibrium), `.states`, `.inputs`, `.outputs` and
            `.state_space` for `scipy.signal`. With constraints deviations that satisfy them move as the machine does;
            the others do not change what they violate, which gives eigenvalues 0 beside those of the machine.

        Examples
        --------
        >>> import mbkern as mb
        >>> model = mb.zoo.chain(2)
        >>> linear = mb.System(model).linearize([0, 0], [0, 0], inputs=[0], outputs=["u:body1"])
        >>> linear.A.shape, linear.B.shape, linear.C.shape
        ((4, 4), (4, 1), (1, 4))
        """
        self._need_momenta("linearize")
        return lazy.module("derivatives.linear").linearize(self, q, p, t, tau, wrench, inputs, outputs)

    def modes(self, q: ArrayLike, t: float = 0.0, tau: ArrayLike | None = None, wrench: ArrayLike | None = None, *,
              u: ArrayLike | None = None) -> Modes:
        """Small vibrations about an equilibrium or a steady rotation: frequencies, damping, shapes.

        Parameters
        ----------
        q : (nq,)
            An equilibrium under tau and wrench, see `equilibrium`.
        t, tau, wrench
            As in `rhs`.
        u : (nv,), optional
            Joint speeds of a steady rotation, as in `equilibrium`; zero by default.

        Returns
        -------
        Modes
            `.eigenvalues`, `.frequencies` (Hz), `.damping`, `.shapes` (nv, k), slowest first. With constraints the
            motions that they allow.

        Examples
        --------
        >>> import mbkern as mb
        >>> builder = mb.ModelBuilder()
        >>> _ = builder.add_body("bob", joint=mb.revolute("y"), mass=2.0, com=(0, 0, -0.5))
        >>> modes = mb.System(builder.build()).modes([0.0])
        >>> modes.frequencies.round(6), modes.eigenvalues.round(6)
        (array([0.704968]), array([0.+4.429447j]))
        """
        return lazy.module("derivatives.linear").modes(self, q, t, tau, wrench, u)

    def derivatives_parameters(self, q: ArrayLike, p: ArrayLike, t: float = 0.0, tau: ArrayLike | None = None,
                               wrench: ArrayLike | None = None, *,
                               parameters: Mapping[str, str | Sequence[str]] | Sequence[str] | str | None = None
                               ) -> ParameterDerivatives:
        """Exact derivatives of (u, pdot) by the constants of the machine, at constant q and p.

        Parameters
        ----------
        q, p, t, tau, wrench
            As in `rhs`; wrenches and joint forces do not follow the constants.
        parameters : mapping, str or sequence of str, optional
            Names of bodies and what of them: "mass", "com", "inertia" (about the centre of mass), "position" (of the
            joint in the parent), "stiffness", "damping", "armature", as in `Model.vary`; the name of a body for all of
            these, "boom.mass" for one, "gravity" for gravity. By default all of all bodies. With constraints not
            "position", which would move loops apart.

        Returns
        -------
        ParameterDerivatives
            `.names`, as "boom.com[0]", and `.u`, `.pdot`, (nv, number of names).

        Examples
        --------
        >>> import mbkern as mb
        >>> builder = mb.ModelBuilder()
        >>> _ = builder.add_body("bob", joint=mb.revolute("y"), mass=2.0, com=(0, 0, -0.5), damping=0.1)
        >>> by = mb.System(builder.build()).derivatives_parameters(
        ...     [0.0], [1.0], parameters={"bob": ["mass", "damping"]})
        >>> by.names, by.u.round(6) + 0.0, by.pdot.round(6)  # u = p / (m l^2), pdot = -c u
        (('bob.mass', 'bob.damping[0]'), array([[-1.,  0.]]), array([[ 0.1, -2. ]]))
        """
        self._need_momenta("derivatives_parameters")
        made: ParameterDerivatives = lazy.module("derivatives.parameters").derivatives_parameters(
            self, q, p, t, tau, wrench, parameters)
        return made

    @cached_property
    def _derivatives(self) -> Derivatives:
        """What does the work, loaded when it is first needed."""
        parts = self, self._runs, self._run_with, self._need_momenta
        if self.model.constraints:
            constrained: Derivatives = lazy.module("derivatives.constrained_jacobian").ConstrainedDerivatives(*parts)
            return constrained
        made: Derivatives = lazy.module("derivatives").Derivatives(*parts)
        return made

    def _need_momenta(self, what: str) -> None:
        """Refuse what is about (q, p) alone, where the state is (q, u)."""
        if self.variable != "p":
            raise MethodError(f"{what}: it is about the state (q, p), but method {self.method!r} has the state (q, u); "
                              "use derivatives_accelerations(q, u), or a System with \"emh-ldl\" and momenta(q, u)")
