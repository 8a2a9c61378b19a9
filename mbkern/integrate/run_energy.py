"""Energies along a run, the work that changes them, and what drifts although it should not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..errors import MbkernError
from ..lazy import cached_property
from .run_states import Energies, RunStates
from .work import Loads, Work, driven, work_along

SAMPLES = 200  # states that the drift of momenta is taken from


class RunEnergy(RunStates):
    """The part of `Solution` about energy and invariants."""

    if TYPE_CHECKING:
        _loads: Loads

    def energy(self) -> Energies:
        """Kinetic and potential energy and the Hamiltonian at the times of the output.

        Examples
        --------
        >>> import mbkern as mb
        >>> model = mb.zoo.chain(3)
        >>> solution = mb.System(model).simulate(model.neutral(), [0, 0, 0], (0, 1))
        >>> H = solution.energy().hamiltonian
        >>> bool(abs(H - H[0]).max() < 1e-6)
        True
        """
        return self._energies_and_speeds[0]

    def work(self) -> Work:
        """What changed the Hamiltonian between the first output and each of them, in joules.

        The power of tau and wrenches, of dampers and of drives is integrated anew: from every output Dormand-Prince
        steps of order 5, about as long as those of the run, lead to the next one. So the functions of the run are
        called again, and `error` says how far the integrals can be trusted: 1e-8 of the work and better where forces
        are smooth, worse where they jump (friction, switches).

        Returns
        -------
        Work
            `.loads`, `.dampers`, `.drives`, `.total` (m,), and `.error`.

        Examples
        --------
        A motor of 2 N m lifts a weight; what it does is in the energy:

        >>> import mbkern as mb
        >>> b = mb.ModelBuilder()
        >>> _ = b.add_body("arm", joint=mb.revolute("y"), mass=0.1, com=(1, 0, 0), damping=0.1)
        >>> run = mb.System(b.build()).simulate([0.0], [0.0], (0, 1), tau=[2.0])
        >>> work, H = run.work(), run.energy().hamiltonian
        >>> bool(abs(H - H[0] - work.total).max() < 1e-6)
        True
        """
        return self._work

    @cached_property
    def _work(self) -> Work:
        return work_along(self)  # type: ignore[arg-type]  # a Solution

    def drift(self) -> dict[str, float]:
        """Largest change of each quantity that the equations conserve, over the times of the output.

        Returns
        -------
        dict
            "energy" in J: of H, less the work of tau, wrenches, dampers and drives where there are any (`work`). Then
            "quadrature" says by how much the integral of that work may be off: a drift below it says nothing. Neither
            is there when the forces are not known (a file that does not have their work, a state of a batch with a
            force function).
            "linear momentum" in kg m/s and "angular momentum" in kg m^2/s (about the world's origin) without forces
            and gravity, when nothing but free joints without armature and dampers carries the tree.

        Examples
        --------
        >>> import mbkern as mb
        >>> model = mb.zoo.chain(3)
        >>> list(mb.System(model).simulate(model.neutral(), [0, 0, 0], (0, 1)).drift())
        ['energy']
        >>> list(mb.System(model).simulate(model.neutral(), [0, 0, 0], (0, 1), tau=[1, 0, 0]).drift())
        ['energy', 'quadrature']
        """
        drift: dict[str, float] = {}
        if self.t.size == 0:
            return drift
        H = self.energy().hamiltonian
        if self._closed:
            drift["energy"] = float(np.abs(H - H[0]).max())
        else:
            try:
                work = self.work()
            except MbkernError:  # nobody knows
                return drift
            drift["energy"] = float(np.abs(H - H[0] - work.total).max())
            drift["quadrature"] = work.error
        model = self.system.model
        roots = [body for body in model.body_specs if body.parent < 0]
        floating = not self._loads.act and not driven(model) and not np.any(model.gravity) and all(
            len(body.joint.elements) == 1 and body.joint.elements[0].nv == 6
            and not any(body.damping) and body.armature is None for body in roots)
        if floating:
            chosen = np.unique(np.linspace(0, self.t.size - 1, SAMPLES).astype(int))
            totals = self._momenta(chosen)
            change = np.abs(totals - totals[0]).max(axis=0)
            drift["linear momentum"] = float(change[:3].max())
            drift["angular momentum"] = float(change[3:].max())
        return drift

    @property
    def _closed(self) -> bool:
        """Whether nothing changes the energy."""
        return not (self._loads.act or self.system.model.damping.any() or driven(self.system.model))
