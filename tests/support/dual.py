"""Dual numbers in plain Python: the exact derivative of whatever the kernels compute, for :mod:`mbkern.plain`.

A number carries its value and its partial derivatives with respect to k seeds, and every operation applies the chain
rule. Nothing is known here about mechanics, so that derivatives in closed form can be held against it.
"""

from __future__ import annotations

import math

import numpy as np

from mbkern import plain


class Dual:
    """value + partials . (infinitesimals); knows what the kernels ask of a number."""

    __slots__ = ("partials", "value")
    __array_ufunc__ = None  # so that a numpy float to the left leaves the operation to us

    def __init__(self, value, partials):
        self.value, self.partials = float(value), partials

    def __repr__(self):
        return f"Dual({self.value!r}, {self.partials!r})"

    def __add__(self, other):
        if isinstance(other, Dual):
            return Dual(self.value + other.value, self.partials + other.partials)
        return Dual(self.value + other, self.partials)

    __radd__ = __add__

    def __neg__(self):
        return Dual(-self.value, -self.partials)

    def __sub__(self, other):
        return self + (-other)

    def __rsub__(self, other):
        return -self + other

    def __mul__(self, other):
        if isinstance(other, Dual):
            return Dual(self.value * other.value, self.value * other.partials + other.value * self.partials)
        return Dual(self.value * other, float(other) * self.partials)

    __rmul__ = __mul__

    def __truediv__(self, other):
        if isinstance(other, Dual):
            ratio = self.value / other.value
            return Dual(ratio, (self.partials - ratio * other.partials) / other.value)
        return self * (1.0 / other)

    def __rtruediv__(self, other):
        ratio = other / self.value
        return Dual(ratio, (-ratio / self.value) * self.partials)

    def __abs__(self):
        return -self if self.value < 0.0 else self

    def __float__(self):
        return self.value

    def __lt__(self, other):
        return self.value < float(other)

    def __le__(self, other):
        return self.value <= float(other)

    def __gt__(self, other):
        return self.value > float(other)

    def __ge__(self, other):
        return self.value >= float(other)

    def root(self):
        """Square root."""
        value = math.sqrt(self.value)
        return Dual(value, (0.5 / value) * self.partials)

    def sincos(self):
        """Sine and cosine."""
        s, c = math.sin(self.value), math.cos(self.value)
        return Dual(s, c * self.partials), Dual(c, -s * self.partials)


def seeded(values, seeds):
    """An object array of duals with these values; row i of `seeds` has the partials of number i."""
    numbers = np.empty(len(values), object)
    for i, (value, partials) in enumerate(zip(values, seeds, strict=True)):
        numbers[i] = Dual(value, np.array(partials, float))
    return numbers


def partials_of(numbers, k):
    """The partials of an object array of duals and floats, a row each."""
    return np.array([x.partials if isinstance(x, Dual) else np.zeros(k) for x in numbers]).reshape(len(numbers), k)


def values_of(numbers):
    return np.array([float(x) for x in numbers])


def tangent_basis(model, q):
    """N(q), (nq, nv): column j is how q moves along the j-th direction of the tangent chart, qdot = N(q) u."""
    rates, N = plain.load("joints").put_rates, np.zeros((model.nq, model.nv))
    for j in range(model.nv):
        u, qdot = np.zeros(model.nv), np.zeros(model.nq)
        u[j] = 1.0
        rates(model.block, q, u, 0, qdot)
        N[:, j] = qdot
    return N


def rhs_tangents(module, model, q, p, t, tau, wrench, size=40_000):
    """u, pdot and their exact derivatives by the plain source of a method.

    Columns: the nv directions of the tangent chart of q, then p, then tau. Returns values (2 nv) and derivatives
    (2 nv, 3 nv) of (u, pdot).
    """
    nv, block = model.nv, model.block
    k = 3 * nv
    eye = np.eye(nv)
    x = seeded(q, np.hstack([tangent_basis(model, q), np.zeros((model.nq, 2 * nv))]))
    y = seeded(p, np.hstack([np.zeros((nv, nv)), eye, np.zeros((nv, nv))]))
    forces = seeded(tau, np.hstack([np.zeros((nv, 2 * nv)), eye]))
    if wrench is not None:
        equivalent = np.empty(nv, object)
        plain.load("momenta").wrenches_to_joints(block, t, x, np.asarray(wrench).ravel(), equivalent,
                                                 np.full(size, np.nan, object))
        forces = forces + equivalent
    work, xdot, ydot = np.full(size, np.nan, object), np.empty(model.nq, object), np.empty(nv, object)
    code = plain.rhs(module)(block, t, x, y, forces, xdot, ydot, work)
    assert code == 0
    at = plain.load("layout").speeds_at(block)
    both = [*work[at:at + nv], *ydot]
    return values_of(both), partials_of(both, k)
