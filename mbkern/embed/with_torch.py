"""Functions of a System for PyTorch: operators with exact gradients, under `torch.func.vmap` and `torch.compile`, on
the CPU, in float64.

    (qdot, pdot) = rhs(q, p, t, tau)          one batched call of the kernels, whatever the leading dimensions
    (dq, dp) = J(q, p, t)^T (wq, wp)          by `vjp`; of quaternions by the Jacobian in coordinates; of closed loops
                                              state by state, with dtau
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import MbkernError, MethodError
from ..model.constraints import UserRows
from ..workspace.binding import drives_of

if TYPE_CHECKING:
    from ..system import System

_operators: list[tuple[Callable[..., Any], Callable[..., Any]]] = []  # mbkern::rhs, and a function around it; once
_systems: list[System] = []  # compiled graphs know a system by its number here: it stays for ever


class TorchFunctions:
    """What `mb.embed.torch` makes of a System.

    Attributes
    ----------
    system : System
    """

    def __init__(self, system: System) -> None:
        if system.binding.method.variable != "p":
            raise MethodError(f"embed.torch: the state of method {system.method!r} is (q, u); expected a method with "
                              'the state (q, p), such as System(model, "emh-ldl")')
        self.system = system
        self._torch = _torch()
        self._operator, self._rhs = _defined(self._torch)
        _systems.append(system)
        self._number = len(_systems) - 1

    def __repr__(self) -> str:
        return f"TorchFunctions({self.system!r})"

    def rhs(self, q: Any, p: Any, t: Any = 0.0, tau: Any = None) -> tuple[Any, Any]:
        """Hamilton's equations, as `System.rhs`: (qdot, pdot). A state that has no value gives NaN.

        Parameters
        ----------
        q : (..., nq)
        p : (..., nv)
        t : float or (...)
        tau : (..., nv), optional
            Tensors, float64, on the CPU. Leading dimensions are states: one batched call for all.
        """
        torch, model = self._torch, self.system.model
        given = {"q": (q, (model.nq,)), "p": (p, (model.nv,)), "t": (t, ())}
        if tau is not None:
            given["tau"] = (tau, (model.nv,))
        tensors = {name: self._checked(name, x, shape) for name, (x, shape) in given.items()}
        try:
            lead = torch.broadcast_shapes(*[x.shape[:x.dim() - len(given[name][1])] for name, x in tensors.items()])
        except RuntimeError:
            shown = ", ".join(f"{name} {tuple(x.shape)}" for name, x in tensors.items())
            raise MethodError(f"rhs: the leading dimensions of {shown} do not fit together") from None
        wide = {name: x.expand((*lead, *given[name][1])) for name, x in tensors.items()}
        run = self._operator if torch.compiler.is_compiling() else self._rhs
        qdot, pdot = run(wide["q"], wide["p"], wide["t"], wide.get("tau"), self._number)
        return qdot, pdot

    def _checked(self, name: str, x: Any, shape: tuple[int, ...]) -> Any:
        torch = self._torch
        if not isinstance(x, torch.Tensor):
            x = torch.as_tensor(x, dtype=torch.float64)
        if x.dtype != torch.float64 or x.device.type != "cpu":
            raise MethodError(f"{name}: expected a float64 tensor on the CPU, got {x.dtype} on {x.device}; "
                              "x.to('cpu', torch.float64) makes one")
        if tuple(x.shape[x.dim() - len(shape):]) != shape:
            raise MethodError(f"{name}: expected shape (..., {shape[0]}), got {tuple(x.shape)}")
        return x


def torch(system: System) -> TorchFunctions:
    """Functions of a System for PyTorch: tensors of one state or of many, exact gradients, `torch.func.vmap`,
    `torch.compile`.

    Returns
    -------
    TorchFunctions
        With `.rhs(q, p, t=0.0, tau=None)`, for float64 tensors on the CPU. Gradients by q, p and tau are exact; those
        by the time of driven joints, second derivatives and forward mode are not there.

    Examples
    --------
    >>> import mbkern as mb
    >>> import torch                                          # doctest: +SKIP
    >>> f = mb.embed.torch(mb.System(mb.zoo.chain(3)))        # doctest: +SKIP
    >>> q = torch.zeros(100, 3, dtype=torch.float64, requires_grad=True)     # doctest: +SKIP
    >>> f.rhs(q, torch.zeros_like(q))[1].sum().backward()     # doctest: +SKIP
    """
    return TorchFunctions(system)


def _torch() -> Any:
    try:
        import torch as library
    except ImportError as error:
        raise MbkernError(f"embed.torch needs PyTorch, which is not there ({error}): pip install torch") from None
    return library


# ---- the operators ---------------------------------------------------------------------------------------------------

def _rows(*tensors: Any) -> list[Any]:
    """Each as a matrix of states, or a vector of times; None as it is."""
    lead = tensors[0].dim() - 1
    return [None if x is None else x.detach().contiguous().numpy().reshape(-1, *x.shape[lead:]) for x in tensors]


def _rates(library: Any, q: Any, p: Any, t: Any, tau: Any, system: int) -> tuple[Any, Any]:
    """(qdot, pdot) of all states."""
    out = library.empty(q.shape, dtype=q.dtype), library.empty(p.shape, dtype=p.dtype)
    Q, P, times, forces = _rows(q, p, t, tau)
    if times.size:
        _systems[system].rhs_batch(Q, P, times, tau=forces, threads=1, return_status=True,
                                   out=(out[0].numpy().reshape(Q.shape), out[1].numpy().reshape(P.shape)))
    return out


def _pulled_back(library: Any, q: Any, p: Any, t: Any, tau: Any, wq: Any, wp: Any, system: int) -> tuple[Any, ...]:
    """Weights of (qdot, pdot) times the Jacobian by q, p and tau."""
    machine = _systems[system]
    Q, P, times, forces, Wq, Wp = _rows(q, p, t, tau, wq, wp)
    if not times.size:
        return library.zeros_like(q), library.zeros_like(p), library.zeros_like(p)
    gtau = Wp
    if machine.model.constraints:
        gq, gp, gtau = _of_loops(machine, Q, P, times, forces, Wq, Wp)
    elif machine.model.nq == machine.model.nv:
        gq, gp, _ = machine.vjp_batch(Q, P, Wq, Wp, times, threads=1, return_status=True)
    else:
        A, _ = machine.jacobian_rhs_batch(Q, P, times, chart="coordinates", threads=1, return_status=True)
        both = np.einsum("bi,bij->bj", np.hstack([Wq, Wp]), A)
        gq, gp = both[:, :machine.model.nq], both[:, machine.model.nq:]
    return (library.from_numpy(np.array(gq)).reshape(q.shape),  # copies: results of an operator share no memory
            library.from_numpy(np.array(gp)).reshape(p.shape), library.from_numpy(np.array(gtau)).reshape(p.shape))


def _of_loops(system: System, Q: Any, P: Any, times: Any, forces: Any, Wq: Any, Wp: Any) -> tuple[Any, Any, Any]:
    """The same of closed loops; NaN where a state has no value."""
    nv, found = system.model.nv, []
    for k, t in enumerate(times):
        try:
            A = system.jacobian_rhs(Q[k], P[k], float(t), None if forces is None else forces[k])
        except MbkernError:
            found.append(np.full(3 * nv, np.nan))
        else:
            found.append(np.concatenate([np.concatenate([Wq[k], Wp[k]]) @ A.matrix, Wp[k] @ A.pdot_tau]))
    whole = np.array(found)
    return whole[:, :nv], whole[:, nv:2 * nv], whole[:, 2 * nv:]


def _defined(library: Any) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """The operator mbkern::rhs, and a function around it; systems are known by their numbers."""
    if _operators:
        return _operators[0]
    made = library.library

    rhs = made.custom_op("mbkern::rhs", partial(_rates, library), mutates_args=(), device_types="cpu",
                         schema="(Tensor q, Tensor p, Tensor t, Tensor? tau, int system) -> (Tensor, Tensor)")
    vjp = made.custom_op("mbkern::vjp", partial(_pulled_back, library), mutates_args=(), device_types="cpu", schema=(
        "(Tensor q, Tensor p, Tensor t, Tensor? tau, Tensor wq, Tensor wp, int system) -> (Tensor, Tensor, Tensor)"))
    rhs.register_fake(lambda q, p, *_: (q.new_empty(q.shape), p.new_empty(p.shape)))
    vjp.register_fake(lambda q, p, *_: (q.new_empty(q.shape), p.new_empty(p.shape), p.new_empty(p.shape)))
    for operator, results in ((rhs, 2), (vjp, 3)):
        operator.register_vmap(_over(operator, results))

    def remember(ctx: Any, inputs: Any, output: Any) -> None:
        q, p, t, tau, system = inputs
        kept = tau is not None and bool(_systems[system].model.constraints)  # trees: forces only add to pdot
        ctx.save_for_backward(q, p, t, *([tau] if kept else []))
        ctx.system, ctx.forced, ctx.timed = system, tau is not None, t.requires_grad

    def pulled_back(ctx: Any, wq: Any, wp: Any) -> Any:
        model = _systems[ctx.system].model
        if model.constraints and (model.nq != model.nv or any(isinstance(c, UserRows) for c in model.constraints)):
            raise MethodError(f"embed.torch: these constraints ({model.constraints[0].name!r}, ...) have no "
                              "derivatives, for the quaternions of ball and free joints, or for rows that a function "
                              "fills; values they have")
        if ctx.timed and drives_of(model):
            raise MethodError("t: the derivative with respect to the time of driven joints is not there; give t as a "
                              "constant")
        q, p, t, *tau = ctx.saved_tensors
        gq, gp, gtau = vjp(q, p, t, tau[0] if tau else None, wq, wp, ctx.system)
        return gq, gp, library.zeros_like(t) if ctx.timed else None, gtau if ctx.forced else None, None

    rhs.register_autograd(pulled_back, setup_context=remember)

    class Rhs(library.autograd.Function):
        """The operator for `torch.func.grad` and its like, which do not look into operators."""

        generate_vmap_rule = True
        setup_context, backward = staticmethod(remember), staticmethod(pulled_back)

        @staticmethod
        def forward(q: Any, p: Any, t: Any, tau: Any, system: int) -> Any:
            return rhs(q, p, t, tau, system)

    _operators.append((rhs, Rhs.apply))
    return _operators[0]


def _over(operator: Callable[..., Any], results: int) -> Callable[..., Any]:
    """What `torch.func.vmap` does: one more leading dimension, still one call."""
    def mapped(info: Any, in_dims: Any, *given: Any) -> Any:
        wide = [x if not hasattr(x, "movedim") else x.expand((info.batch_size, *x.shape)) if dim is None
                else x.movedim(dim, 0) for x, dim in zip(given, in_dims, strict=True)]
        return operator(*wide), (0,) * results

    return mapped
