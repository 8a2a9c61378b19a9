"""Models by name, for all commands: "chain:20", "pipelayer", a file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ..errors import ModelError
from ..model import zoo
from ..model.checks import near
from ..model.model import Model
from ..model.serial import load

FAMILIES: dict[str, Callable[[int], Model]] = {
    "chain": zoo.chain,
    "carousel": zoo.carousel,
    "binary": zoo.binary_tree,
    "random": zoo.random_tree,
}
MACHINES: dict[str, Callable[[], Model]] = {"pipelayer": zoo.pipelayer}
FILES: dict[str, Callable[[Path], Model]] = {".json": load}
HELP = (f"{', '.join(f'{name}:N' for name in FAMILIES)} (N bodies), {', '.join(MACHINES)}, "
        f"or a file ({', '.join(FILES)})")


def model_named(text: str) -> Model:
    """The model that a word on the command line stands for.

    Examples
    --------
    >>> from mbkern.cli.models import model_named
    >>> model_named("chain:5").n_bodies
    5
    """
    if text in MACHINES:
        return MACHINES[text]()
    family, colon, size = text.partition(":")
    if family in FAMILIES and colon:
        try:
            n = int(size)
        except ValueError:
            raise ModelError(f"model {text!r}: expected {family}:N with a number of bodies N, got {size!r}") from None
        return FAMILIES[family](n)
    suffix = Path(text).suffix.lower()
    if suffix in FILES:
        if not Path(text).is_file():
            raise ModelError(f"model {text!r}: there is no such file")
        return FILES[suffix](Path(text))
    names = [*(f"{name}:20" for name in FAMILIES), *MACHINES]
    raise ModelError(f"model {text!r}: expected {HELP}.{near(text, names)}")
