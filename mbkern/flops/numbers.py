"""A number that counts what is done with it, and the memory it lives in.

One flop is one addition, subtraction, multiplication, division or square root. A sine-cosine pair is counted apart; sign
changes and comparisons cost nothing. What the compiler removes from a kernel is not counted either:

- A Python float 0.0 or 1.0 met in an operation is a literal of the source: ``x * 0.0``, ``x + 0.0``, ``x * 1.0`` fold away.
  A number that *happens* to be zero (a model constant, a coordinate) is no literal and counts.
- An operation counts when its result reaches memory, a comparison or an index. What nobody uses is dead code; it is
  kept apart as `unused`.

A repeated operation on the same operands counts each time.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..inputs import Array

ADD, MULTIPLY, DIVIDE, ROOT, SINCOS = "add", "multiply", "divide", "root", "sincos"
FLOPS = (ADD, MULTIPLY, DIVIDE, ROOT)


class Ledger:
    """Where operations are written down, each under the heading in force when it was done.

    Attributes
    ----------
    heading : tuple of str
        Where we are, e.g. ("backward",) or ("backward", "A^T M*").
    done : Counter
        All operations by (heading, operation).
    used : Counter
        Those whose results were used.

    Examples
    --------
    >>> from mbkern.flops.numbers import Ledger
    >>> ledger = Ledger()
    >>> x = ledger.number(2.0)
    >>> with ledger.under("here"):
    ...     y = x * x + 0.0
    >>> y.value, dict(ledger.done)
    (4.0, {(('here',), 'multiply'): 1})
    """

    def __init__(self) -> None:
        self.heading: tuple[str, ...] = ()
        self.done: Counter[tuple[tuple[str, ...], str]] = Counter()
        self.used: Counter[tuple[tuple[str, ...], str]] = Counter()

    @contextmanager
    def under(self, *heading: str) -> Iterator[None]:
        """Write down what follows under this heading."""
        before, self.heading = self.heading, heading
        try:
            yield
        finally:
            self.heading = before

    def number(self, value: float) -> Count:
        """A number that comes from nowhere: no operation made it."""
        return Count(float(value), self, None, ())

    def numbers(self, values: Any) -> np.ndarray:
        """An object array of such numbers, of the shape of `values`."""
        values = np.asarray(values, float)
        out = np.empty(values.shape, object)
        for index in np.ndindex(values.shape):
            out[index] = self.number(values[index])
        return out

    def result(self, operation: str, value: float, *sources: Count) -> Count:
        """The number that an operation made."""
        key = (self.heading, operation)
        self.done[key] += 1
        return Count(value, self, key, sources)

    def use(self, number: Count) -> None:
        """A result is needed: so are the operations behind it."""
        left = [number]
        while left:
            x = left.pop()
            if x.sources:
                if x.key is not None:
                    self.used[x.key] += 1
                left.extend(x.sources)
                x.sources = ()  # counted; the history can go


class Count:
    """A float64 that tells its ledger about every operation; knows what the kernels ask of a number."""

    __slots__ = ("key", "ledger", "sources", "value")

    def __init__(self, value: float, ledger: Ledger, key: Any, sources: tuple[Count, ...]) -> None:
        self.value, self.ledger, self.key, self.sources = value, ledger, key, sources

    def __repr__(self) -> str:
        return f"Count({self.value!r})"

    # ---- arithmetic ----
    def __add__(self, other: Any) -> Any:
        if type(other) is float and other == 0.0:
            return self
        return self._with(ADD, other, self.value + float(other))

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        if type(other) is float and other == 0.0:
            return self
        return self._with(ADD, other, self.value - float(other))

    def __rsub__(self, other: Any) -> Any:
        if type(other) is float and other == 0.0:
            return -self
        return self._with(ADD, other, float(other) - self.value)

    def __mul__(self, other: Any) -> Any:
        if type(other) is float and other in (0.0, 1.0, -1.0):
            return 0.0 if other == 0.0 else self if other == 1.0 else -self
        return self._with(MULTIPLY, other, self.value * float(other))

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        if type(other) is float and other in (1.0, -1.0):
            return self if other == 1.0 else -self
        return self._with(DIVIDE, other, self.value / float(other))

    def __rtruediv__(self, other: Any) -> Any:
        if type(other) is float and other == 0.0:
            return 0.0
        return self._with(DIVIDE, other, float(other) / self.value)

    def _with(self, operation: str, other: Any, value: float) -> Count:
        if isinstance(other, Count):
            return self.ledger.result(operation, value, self, other)
        return self.ledger.result(operation, value, self)

    def __neg__(self) -> Count:
        return Count(-self.value, self.ledger, None, (self,))

    def __abs__(self) -> Count:
        return -self if self.value < 0.0 else self

    def root(self) -> Count:
        """Square root."""
        return self.ledger.result(ROOT, math.sqrt(self.value), self)

    def sincos(self) -> tuple[Count, Count]:
        """Sine and cosine: one operation, not a flop."""
        pair = self.ledger.result(SINCOS, self.value, self)
        s, c = math.sin(self.value), math.cos(self.value)
        return Count(s, self.ledger, None, (pair,)), Count(c, self.ledger, None, (pair,))

    # ---- decisions: the value is needed, so is what made it ----
    def __float__(self) -> float:
        return self.value

    def __int__(self) -> int:
        self.ledger.use(self)
        return int(self.value)

    def _compared(self, other: Any) -> float:
        self.ledger.use(self)
        if isinstance(other, Count):
            self.ledger.use(other)
        return float(other)

    def __lt__(self, other: Any) -> bool:
        return self.value < self._compared(other)

    def __le__(self, other: Any) -> bool:
        return self.value <= self._compared(other)

    def __gt__(self, other: Any) -> bool:
        return self.value > self._compared(other)

    def __ge__(self, other: Any) -> bool:
        return self.value >= self._compared(other)


class Memory:
    """A one-dimensional array of counting numbers.

    What is stored is used. Memory does not remember that a number was a literal: a 0.0 that is read back counts.

    Examples
    --------
    >>> from mbkern.flops.numbers import Ledger, Memory
    >>> ledger = Ledger()
    >>> a = Memory([2.0, 0.0], ledger)
    >>> a[0] = a[0] + a[1]
    >>> unused = a[0] * a[0]
    >>> a.values(), sum(ledger.done.values()), sum(ledger.used.values())
    (array([2., 0.]), 2, 1)
    """

    def __init__(self, values: Iterable[float], ledger: Ledger) -> None:
        self._ledger = ledger
        self._numbers = [ledger.number(x) for x in values]
        self.shape = (len(self._numbers),)

    def __len__(self) -> int:
        return len(self._numbers)

    def __getitem__(self, i: int) -> Count:
        return self._numbers[i]

    def __setitem__(self, i: int, x: Any) -> None:
        if isinstance(x, Count):
            self._ledger.use(x)
        else:
            x = self._ledger.number(x)
        self._numbers[i] = x

    def values(self) -> Array:
        """The numbers without their history."""
        return np.array([x.value for x in self._numbers])
