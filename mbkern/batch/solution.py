"""What happened to many states."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.checks import CALLBACK_FAILED, SINGULAR
from ..errors import StateError
from ..explain import CODES, drive_fault
from ..inputs import Array
from ..integrate.kernels import lane_plan as LP
from ..model.model import Model

REASONS = {
    LP.STEP_COLLAPSED: "the step size collapsed: a singularity or a jump in the forces is near, or the tolerances are "
                       "too tight, or t is so large that float64 does not resolve the steps it takes",
    LP.NOT_CONVERGED: "the stages did not converge: take a smaller step",
    LP.INTERRUPTED: "interrupted",
}


class BatchSolution:
    """Trajectories of many states, and how each of them ended.

    Attributes
    ----------
    t : (T,)
        Times of the output in seconds.
    q : (B, T, nq)
        Configurations; (B, nq) with ``reduce="final"``, None with a reducing function. NaN after a failure.
    p : (B, T, nv)
        Momenta likewise.
    kept : (B, m) or None
        What a reducing function kept.
    status : (B,) int array
        0 where the end was reached, else a code: `message` puts it in words.
    reached : (B,)
        Time in seconds up to which each state came.
    steps, rejected : (B,) int arrays
        Steps that were taken, and steps that were too long.
    success : bool
        Whether all states reached the end.
    integrator : str

    Examples
    --------
    >>> import mbkern as mb, numpy as np
    >>> Q0 = np.zeros((3, 2))
    >>> Q0[1] = np.nan
    >>> solution = mb.System(mb.zoo.chain(2)).simulate_batch(Q0, np.zeros((3, 2)), (0, 1), "rk4", step=0.01)
    >>> solution
    BatchSolution by 'rk4': 3 states, t = 0 .. 1 s, 1 failed
      state 1 stopped at t = 0 s: q is not finite, or an angle or distance is beyond 1e12
    >>> solution.failed
    array([1])
    """

    def __init__(self, integrator: str, t_span: tuple[float, float], t: Array, q: Array | None, p: Array | None,
                 kept: Array | None, status: NDArray[np.int64], reached: Array, counts: NDArray[np.int64],
                 model: Model, failed_at: Array, raised: str = "") -> None:
        self.integrator = integrator
        self.t_span = t_span
        self.t = t
        self.q = q
        self.p = p
        self.kept = kept
        self.status = status
        self.reached = reached
        self.steps, self.rejected = counts[:, 0], counts[:, 1]
        self._model = model
        self._failed_at = failed_at  # time of the evaluation that failed
        self._raised = raised  # what a user's function raised, in words

    @property
    def success(self) -> bool:
        """Whether all states reached the end."""
        return not self.status.any()

    @property
    def failed(self) -> NDArray[np.int64]:
        """Numbers of the states that did not reach the end.

        Examples
        --------
        >>> import mbkern as mb, numpy as np
        >>> zeros = np.zeros((3, 2))
        >>> mb.System(mb.zoo.chain(2)).simulate_batch(zeros, zeros, (0, 1)).failed
        array([], dtype=int64)
        """
        return np.flatnonzero(self.status)

    def message(self, i: int) -> str:
        """How state i ended, as a sentence.

        Examples
        --------
        >>> import mbkern as mb, numpy as np
        >>> zeros = np.zeros((3, 2))
        >>> mb.System(mb.zoo.chain(2)).simulate_batch(zeros, zeros, (0, 1)).message(2)
        'state 2 reached the end of t_span at t = 1 s'
        """
        code = int(self.status[i])
        if code == 0:
            return f"state {i} reached the end of t_span at t = {self.reached[i]:.9g} s"
        return f"state {i} stopped at t = {self.reached[i]:.9g} s: {self._reason(code, float(self._failed_at[i]))}"

    def _reason(self, code: int, t: float) -> str:
        """What a status means that came up at time t."""
        if code == CALLBACK_FAILED and self._raised:
            return self._raised
        if code == SINGULAR and (fault := drive_fault(self._model, t)) is not None:
            return str(fault)
        return REASONS[code] if code in REASONS else CODES[code][1]

    def __len__(self) -> int:
        return int(self.status.size)

    def __repr__(self) -> str:
        failed = self.failed
        end = "all finished" if failed.size == 0 else f"{failed.size} failed"
        lines = [f"BatchSolution by {self.integrator!r}: {len(self)} states, t = {self.t_span[0]:g} .. "
                 f"{self.t_span[1]:g} s, {end}"]
        lines += [f"  {self.message(int(i))}" for i in failed[:3]]
        if failed.size > 3:
            lines.append(f"  ... ({failed.size - 3} more in .failed)")
        return "\n".join(lines)

    @staticmethod
    def joined(parts: Sequence[BatchSolution]) -> BatchSolution:
        """One solution of all states of several, in their order."""
        if not parts:
            raise StateError("parts: expected at least one solution")
        first = parts[0]

        def join(name: str) -> Any:
            return None if getattr(first, name) is None else np.concatenate([getattr(part, name) for part in parts])

        counts = np.stack([join("steps"), join("rejected")], axis=1)
        return BatchSolution(first.integrator, first.t_span, first.t, join("q"), join("p"), join("kept"),
                             join("status"), join("reached"), counts, first._model, join("_failed_at"),
                             next((part._raised for part in parts if part._raised), ""))

