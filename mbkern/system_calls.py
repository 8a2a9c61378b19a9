"""How a `System` calls an operation of the table: the function of each choice of inputs, made once and kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from numpy.typing import ArrayLike

from .inputs import Array
from .operations import operation_named
from .workspace.calls import Call

if TYPE_CHECKING:
    from .model.model import Model
    from .workspace.binding import Binding

OPTIONAL = ("tau", "wrench")


class Energy(NamedTuple):
    """Energies of a state, in joules.

    Attributes
    ----------
    kinetic : float
        T = sum v^T M v / 2.
    potential : float
        Weight of all bodies, zero at the world's origin, plus the joint springs.
    hamiltonian : float
        H = p^T u - T + Pi; equal to T + Pi when no joint is driven.
    """

    kinetic: float
    potential: float
    hamiltonian: float


NAMED = {"energy": Energy}  # operations whose results are not arrays


class Runs:
    """The operations of a system as functions run(t, out, inputs ...), each made when it is first asked for."""

    def __init__(self, system: Calls) -> None:
        self._system = system

    def __getattr__(self, name: str) -> Any:
        """The operation of that name, all optional inputs left out."""
        operation = operation_named(name)
        given = tuple([argument.name for argument in operation.inputs if not argument.optional])
        run = self._system._call(name, given).run
        setattr(self, name, run)  # from now on found at once
        return run


class Calls:
    """The part of `System` that finds the compiled function of an operation."""

    if TYPE_CHECKING:
        model: Model
        binding: Binding
        block: Array
        _nq: int
        _nv: int

        def _with_constraint_forces(self, q: ArrayLike, p: ArrayLike, t: float, tau: ArrayLike | None,
                                    wrench: ArrayLike | None) -> tuple[Any, Any]: ...

    def _begin(self) -> None:
        self._calls: dict[Any, Call] = {}  # operations in use, by name and inputs
        self._runs = Runs(self)

    def _call(self, name: str, given: tuple[str, ...]) -> Call:
        """An operation of the table for a choice of inputs."""
        key = name, given
        try:
            return self._calls[key]
        except KeyError:
            operation = operation_named(name).made_for(self.block, given)
            size = max(self.binding.work_size, operation.work_size(self.block))
            call = Call(self, operation, given, size, NAMED.get(name))  # type: ignore[arg-type]
            return self._calls.setdefault(key, call)

    def _run_with(self, name: str, t: float, out: Any, **arguments: Any) -> Any:
        """Run an operation with optional inputs, of which some may be None."""
        given = {key: value for key, value in arguments.items() if value is not None or key not in OPTIONAL}
        return self._call(name, tuple(given)).run(t, out, *given.values())
