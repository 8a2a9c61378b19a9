"""Values that a call must refuse in words, and others that say the same as the right ones.

Each function takes a right value of an argument and yields (is_right, what it is, value). `check` replaces one argument
of a call after the other by each of them: an error must be one of ours, and short; what is right must give the same
answer; no answer may have numbers that are none.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from mbkern.errors import MbkernError

NAN, INF = float("nan"), float("inf")
Values = Iterator[tuple[bool | None, str, Any]]  # None: may be refused or not


class Stranger:
    """Something of another package."""

    def __repr__(self) -> str:
        return "Stranger()"


class Raising:
    """Something that raises an error of its own, whatever it is asked."""

    def _raise(self, *_: Any, **__: Any) -> Any:
        raise RuntimeError("asked too much")

    __array__ = __float__ = __index__ = __len__ = __iter__ = __getitem__ = __eq__ = _raise
    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return "Raising()"


def endless() -> list[Any]:
    """A list that contains itself."""
    entries: list[Any] = []
    entries.append(entries)
    return entries


def arrays(right: Any) -> Values:
    """Of numbers in a shape."""
    v = np.asarray(right, float)
    shape = v.shape
    for what, bad in {"text": "abc", "one number": 5.0, "nothing": [], "an axis too many": v[..., None],
                      "longer": np.zeros(tuple(n + 1 for n in shape)), "a mapping": {"a": 1},
                      "ragged": [[1.0], [1.0, 2]], "a stranger": Stranger(), "a function": len, "bytes": b"abc",
                      "raising": Raising(), "endless": endless(), "a generator": (x for x in (1.0, 2.0)),
                      "more than any memory": np.broadcast_to(0.0, (10**14, *shape[1:])),
                      "no number": NAN, "a set": {1.0, 2.0},
                      "structured": np.zeros(shape, [("a", float)]), "objects": np.full(shape, None, object),
                      "texts": np.full(shape, "x"), "times": np.zeros(shape, "datetime64[s]"), "complex": v + 1j,
                      "integers beyond all": [10**400] * v.size}.items():
        yield False, what, bad
    for what, x in (("NaN", NAN), ("infinity", INF), ("minus infinity", -INF)):
        yield False, what, _with_last(v, x)
    yield False, "masked", np.ma.masked_array(v, np.ones(shape, bool))
    for x in (1.7e308, -1e200, 1e150, 1e13):
        yield None, f"{x}", _with_last(v, x)
    for kind in (np.float16, np.int8, bool):
        yield None, kind.__name__, v.astype(kind)
    yield True, "a list", v.tolist()
    yield True, "by columns", np.asfortranarray(v)
    wide = np.zeros(tuple(2 * n for n in shape))
    inner = wide[tuple(slice(None, None, 2) for _ in shape)]
    inner[...] = v
    yield True, "strided", inner
    fixed = v.copy()
    fixed.flags.writeable = False
    yield True, "read-only", fixed
    yield True, "big-endian", v.astype(">f8")
    yield True, "unaligned", np.frombuffer(b"\0" + v.tobytes(), np.uint8)[1:].view(float).reshape(shape)
    yield True, "long double", v.astype(np.longdouble)


def _with_last(v: np.ndarray, x: float) -> np.ndarray:
    changed = v.copy()
    changed.reshape(-1)[-1] = x
    return changed


def numbers(right: Any) -> Values:
    """One number."""
    for bad in ("a", "", [1.0, 2.0], [], 1j, Stranger(), Raising(), endless(), {}, np.array([1.0, 2.0]), b"1",
                len, slice(1), np.ma.masked, np.datetime64("2020-01-01"), NAN, INF, -INF, 10**400):
        yield False, repr(bad)[:30], bad
    for x in (-1.0, 0.0, 1e-300, 5e-324, 1e300, True, "1.0"):
        yield None, repr(x), x
    yield True, "of NumPy", np.float64(right)
    yield True, "without dimensions", np.array(right)


def counts(right: Any) -> Values:
    """A whole number."""
    for bad in ("3", [3], 1.5, NAN, 2j, Stranger(), Raising(), endless(), {}, np.array([3, 3]), len, -1, 10**400):
        yield False, repr(bad)[:30], bad
    for x in (0, True, 2**63, 10**30):
        yield None, repr(x), x
    yield True, "of NumPy", np.int32(right)


def names(right: str) -> Values:
    """A name of something."""
    for bad in ("nonsense", "", f" {right}", "\N{LATIN SMALL LETTER E WITH ACUTE}\n\0", 5, 1.5, b"abc", [right], {},
                Stranger(), Raising(), endless(), "\ud800", NAN, ("a", "b"), np.array(["a", "b"]), True):
        yield False, repr(bad)[:30], bad


def lists_of_names(right: Any) -> Values:
    """Several names."""
    for bad in (["nonsense"], [None], [5.5], [[]], {"a": 1}, Stranger(), Raising(), [Raising()], endless(),
                len, [b"a"], NAN, np.array([1.5, 2.5])):
        yield False, repr(bad)[:30], bad
    yield True, "a tuple", tuple(right)


def paths(right: Any) -> Values:
    """The name of a file that can be written."""
    ending = Path(right).suffix
    for bad in (f"/nonexistent/a/b{ending}", f"/proc/b{ending}", "", f"a\0b{ending}", 5, NAN, Stranger(), Raising(),
                endless(), ["a"], b"abc", {}, f"\ud800{ending}"):
        yield False, repr(bad)[:30], bad


def things(right: Any) -> Values:
    """Something of a class: a system, a function."""
    for bad in (5, "abc", {}, NAN, Stranger(), Raising(), endless(), [1.5]):
        yield False, repr(bad)[:30], bad


def flags(right: Any) -> Values:
    """True or False."""
    for bad in (np.array([True, False]), Stranger(), Raising(), "no"):
        yield None, repr(bad)[:30], bad


def check(call: Callable[..., Any], kinds: dict[str, Callable[[Any], Values]], right: dict[str, Any]) -> list[str]:
    """What is wrong with a call, one line each."""
    answer, found = call(**right), []
    for name, kind in kinds.items():
        for is_right, what, value in kind(right[name]):
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    given = call(**{**right, name: value})
            except MbkernError as error:
                if is_right:
                    found.append(f"{name} ({what}) is refused: {error}")
                elif len(str(error)) > 1500:
                    found.append(f"{name} ({what}): a message of {len(str(error))} letters")
            except Exception as error:
                found.append(f"{name} ({what}): {type(error).__name__}: {error}")
            else:
                if is_right is False:
                    found.append(f"{name} ({what}) is accepted")
                elif not all(np.isfinite(x).all() for x in _parts(given)):
                    found.append(f"{name} ({what}): no numbers")
                elif is_right and not _same(given, answer):
                    found.append(f"{name} ({what}): another answer")
    return found


def _parts(answer: Any) -> Iterator[np.ndarray]:
    """All arrays of numbers in an answer."""
    if isinstance(answer, int | float | complex | np.number | np.ndarray) and not isinstance(answer, bool):
        array = np.asarray(answer)
        if array.dtype.kind in "fciu":
            yield array
    elif isinstance(answer, dict):
        for part in answer.values():
            yield from _parts(part)
    elif isinstance(answer, tuple | list):
        for part in answer:
            yield from _parts(part)
    elif answer is not None:
        for name in ("t", "q", "p", "matrix", "A", "values"):
            yield from _parts(getattr(answer, name, None))


def _same(a: Any, b: Any) -> bool:
    x, y = list(_parts(a)), list(_parts(b))
    return len(x) == len(y) and all(i.shape == j.shape and np.allclose(i, j, rtol=1e-10, atol=1e-12)
                                    for i, j in zip(x, y, strict=True))
