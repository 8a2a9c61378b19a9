"""A number that counts what is done with it, and the memory it lives in.

One flop is one addition, subtraction, multiplication, division or square root. A sine-cosine pair is counted apart;
sign changes and comparisons cost nothing. What the compiler removes from a kernel is not counted either:

- A Python float 0.0 or 1.0 met in an operation is a literal of the source: ``x * 0.0``, ``x + 0.0``, ``x * 1.0`` fold
  away. A number that *happens* to be zero (a model constant, a coordinate) is no literal and counts.
- An operation counts when its result reaches memory, a comparison or an index. What nobody uses is dead code; it is
  kept apart as `unused`.

A repeated operation on the same operands counts each time.

These rules were checked against machine code. Straight-line pieces of the core compile to exactly the counted number of
arithmetic instructions (a fused multiply-add is two), repeated operations apart. Whole right-hand sides, stepped
through instruction by instruction, agree within 2.5 % for "emh-ldl" (often to the last operation); "emh-lu", "dah" and
"hzu" execute up to a tenth less than counted, because the compiler unrolls loops over the dofs of a joint and finds
repeated operations and zeros in them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..inputs import Array

OPERATIONS = ("add", "multiply", "divide", "root", "sincos")
FLOPS = OPERATIONS[:4]
_ADD, _MULTIPLY, _DIVIDE, _ROOT, _SINCOS = range(5)


class Page:
    """The operations under one heading, in the order of OPERATIONS: all, and those whose results were used."""

    __slots__ = ("done", "used")

    def __init__(self) -> None:
        self.done, self.used = [0] * 5, [0] * 5


class Ledger:
    """Where operations are written down, each under the heading in force when it was done.

    Attributes
    ----------
    pages : dict
        A page for each heading, e.g. ("backward",) or ("backward", "A^T M*").
    page : Page
        Where we are.
    history : bool
        Whether numbers know what they were made of, so that pages can tell the operations whose results were used.

    Examples
    --------
    >>> from mbkern.flops.numbers import Ledger
    >>> ledger = Ledger()
    >>> x = ledger.number(2.0)
    >>> with ledger.under("here"):
    ...     y = x * x + 0.0
    >>> y.value, ledger.pages["here",].done
    (4.0, [0, 1, 0, 0, 0])
    """

    def __init__(self, history: bool = True) -> None:
        self.page, self.history = Page(), history
        self.pages: dict[tuple[str, ...], Page] = {("elsewhere", "elsewhere"): self.page}

    @contextmanager
    def under(self, *heading: str) -> Iterator[None]:
        """Write down what follows under this heading."""
        before = self.page
        if heading not in self.pages:
            self.pages[heading] = Page()
        self.page = self.pages[heading]
        try:
            yield
        finally:
            self.page = before

    def number(self, value: float) -> Count:
        """A number that comes from nowhere: no operation made it."""
        return Count(float(value), self, None, 0, ())

    def numbers(self, values: Any) -> np.ndarray:
        """An object array of such numbers, of the shape of `values`."""
        values = np.asarray(values, float)
        out = np.empty(values.shape, object)
        for index in np.ndindex(values.shape):
            out[index] = self.number(values[index])
        return out


class Count:
    """A float64 that tells its ledger about every operation; knows what the kernels ask of a number."""

    __slots__ = ("ledger", "operation", "page", "sources", "value")

    def __init__(self, value: float, ledger: Ledger, page: Page | None, operation: int,
                 sources: tuple[Count, ...]) -> None:
        self.value, self.ledger, self.page, self.operation, self.sources = value, ledger, page, operation, sources

    def __repr__(self) -> str:
        return f"Count({self.value!r})"

    def use(self) -> None:
        """The number is needed: so are the operations behind it."""
        left = [self] if self.sources else []
        while left:
            x = left.pop()
            sources = x.sources
            if sources:  # else counted meanwhile
                if x.page is not None:
                    x.page.used[x.operation] += 1
                left += [source for source in sources if source.sources]
                x.sources = ()  # the history can go

    # ---- arithmetic: the ledger's page knows of each operation; written out, as a call would take as long as it ----
    def _result(self, operation: int, value: float) -> Count:
        """Of an operation with a plain number."""
        ledger = self.ledger
        page = ledger.page
        page.done[operation] += 1
        return Count(value, ledger, page, operation, (self,) if ledger.history else ())

    def __add__(self, other: Any) -> Any:
        if type(other) is Count:
            ledger = self.ledger
            page = ledger.page
            page.done[_ADD] += 1
            return Count(self.value + other.value, ledger, page, _ADD, (self, other) if ledger.history else ())
        if type(other) is float and other == 0.0:
            return self
        return self._result(_ADD, self.value + float(other))

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        if type(other) is Count:
            ledger = self.ledger
            page = ledger.page
            page.done[_ADD] += 1
            return Count(self.value - other.value, ledger, page, _ADD, (self, other) if ledger.history else ())
        if type(other) is float and other == 0.0:
            return self
        return self._result(_ADD, self.value - float(other))

    def __rsub__(self, other: Any) -> Any:
        if type(other) is float and other == 0.0:
            return -self
        return self._result(_ADD, float(other) - self.value)

    def __mul__(self, other: Any) -> Any:
        if type(other) is Count:
            ledger = self.ledger
            page = ledger.page
            page.done[_MULTIPLY] += 1
            return Count(self.value * other.value, ledger, page, _MULTIPLY, (self, other) if ledger.history else ())
        if type(other) is float and other in (0.0, 1.0, -1.0):
            return 0.0 if other == 0.0 else self if other == 1.0 else -self
        return self._result(_MULTIPLY, self.value * float(other))

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        if type(other) is Count:
            ledger = self.ledger
            page = ledger.page
            page.done[_DIVIDE] += 1
            return Count(self.value / other.value, ledger, page, _DIVIDE, (self, other) if ledger.history else ())
        if type(other) is float and other in (1.0, -1.0):
            return self if other == 1.0 else -self
        return self._result(_DIVIDE, self.value / float(other))

    def __rtruediv__(self, other: Any) -> Any:
        if type(other) is float and other == 0.0:
            return 0.0
        return self._result(_DIVIDE, float(other) / self.value)

    def __neg__(self) -> Count:
        return Count(-self.value, self.ledger, None, 0, (self,))

    def __abs__(self) -> Count:
        return -self if self.value < 0.0 else self

    def root(self) -> Count:
        """Square root."""
        return self._result(_ROOT, math.sqrt(self.value))

    def sincos(self) -> tuple[Count, Count]:
        """Sine and cosine: one operation, not a flop."""
        pair = self._result(_SINCOS, self.value)
        s, c = math.sin(self.value), math.cos(self.value)
        return Count(s, self.ledger, None, 0, (pair,)), Count(c, self.ledger, None, 0, (pair,))

    # ---- decisions: the value is needed, so is what made it ----
    def __float__(self) -> float:
        return self.value

    def __int__(self) -> int:
        self.use()
        return int(self.value)

    def _compared(self, other: Any) -> float:
        self.use()
        if isinstance(other, Count):
            other.use()
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
    """A one-dimensional array of counting numbers; a slice of it is a view.

    What is stored is used. Memory does not remember that a number was a literal: a 0.0 that is read back counts.

    Examples
    --------
    >>> from mbkern.flops.numbers import Ledger, Memory
    >>> ledger = Ledger()
    >>> a = Memory([2.0, 0.0], ledger)
    >>> a[0] = a[0] + a[1]
    >>> unused = a[0] * a[0]
    >>> a.values(), ledger.page.done, ledger.page.used
    (array([2., 0.]), [1, 1, 0, 0, 0], [1, 0, 0, 0, 0])
    """

    def __init__(self, values: Iterable[float], ledger: Ledger) -> None:
        self._ledger = ledger
        self._numbers = [ledger.number(x) for x in values]
        self._begin = 0
        self.shape = (len(self._numbers),)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, i: Any) -> Any:
        return self._part(i) if i.__class__ is slice else self._numbers[self._begin + i]

    def __setitem__(self, i: int, x: Any) -> None:
        if isinstance(x, Count):
            x.use()
        else:
            x = self._ledger.number(x)
        self._numbers[self._begin + i] = x

    def _part(self, part: slice) -> Memory:
        """The same numbers from one place to another."""
        begin, end, _ = part.indices(len(self))
        view = Memory((), self._ledger)
        view._numbers, view._begin, view.shape = self._numbers, self._begin + begin, (max(end - begin, 0),)
        return view

    def values(self) -> Array:
        """The numbers without their history."""
        return np.array([x.value for x in self._numbers[self._begin:self._begin + len(self)]])
