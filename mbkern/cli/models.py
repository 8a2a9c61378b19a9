"""Models by name, for all commands: "chain:20", "pipelayer", a file."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from math import prod
from pathlib import Path

from ..errors import ModelError
from ..io import load_mjcf, load_sdf, load_urdf
from ..model import zoo
from ..model.checks import near
from ..model.model import Model
from ..model.serial import load

FAMILIES: dict[str, tuple[Callable[..., Model], str]] = {  # name: maker, what its numbers are
    "chain": (zoo.chain, "N"),
    "carousel": (zoo.carousel, "N"),
    "binary": (zoo.binary_tree, "N"),
    "random": (lambda n, seed=0: zoo.random_tree(n, seed), "N[:SEED]"),
    "star": (zoo.star, "CHAINS:LENGTH"),
}
MOST = 10**6  # bodies of a tree that is made here
MACHINES: dict[str, Callable[[], Model]] = {"pipelayer": zoo.pipelayer}
FILES: dict[str, Callable[[Path, argparse.Namespace], Model]] = {
    ".json": lambda path, _: load(path),
    ".urdf": lambda path, options: load_urdf(
        path, options.floating_base, mimic=options.mimic, check_inertia=options.check_inertia),
    ".sdf": lambda path, _: load_sdf(path),
    ".xml": lambda path, options: load_mjcf(path, armature=options.armature),
}
REFUSED = (".xacro",)
# of commands that know trees alone: joints that mimic others are coordinates of their own
PLAIN = argparse.Namespace(floating_base=False, mimic="free", check_inertia=False, armature="keep")
HELP = (f"{', '.join(f'{name}:{numbers}' for name, (_, numbers) in FAMILIES.items())}, {', '.join(MACHINES)}, "
        f"or a file ({', '.join(FILES)})")


def add_model_arguments(parser: argparse.ArgumentParser) -> None:
    """Options that say how a robot file is read, for commands that know constraints."""
    group = parser.add_argument_group("robot files")
    group.add_argument("--floating-base", action="store_true", help="URDF: the root link moves freely")
    group.add_argument("--mimic", choices=("gear", "free", "fix", "error"), default="gear",
                       help="URDF: joints that mimic others are coupled, made free, held or refused; default gear")
    group.add_argument("--check-inertia", action="store_true", help="URDF: refuse inertias that no rigid body has")
    group.add_argument("--armature", choices=("keep", "drop"), default="keep",
                       help="MJCF: rotor inertia is kept or left out; default keep")


def model_named(text: str, options: argparse.Namespace = PLAIN) -> Model:
    """The model that a word on the command line stands for.

    Examples
    --------
    >>> from mbkern.cli.models import model_named
    >>> model_named("chain:5").n_bodies
    5
    """
    if text in MACHINES:
        return MACHINES[text]()
    family, *sizes = text.split(":")
    if family in FAMILIES and sizes:
        make, numbers = FAMILIES[family]
        try:
            given = [int(size) for size in sizes]
            if max(given[0], prod(given) if family == "star" else 0) > MOST:
                raise ModelError(f"model {text!r}: expected at most {MOST} bodies")
            return make(*given)
        except (TypeError, ValueError) as error:
            if isinstance(error, ModelError):
                raise
            raise ModelError(f"model {text!r}: expected {family}:{numbers} with whole numbers") from None
    suffix = Path(text).suffix.lower()
    if suffix in FILES:
        if not Path(text).is_file():
            raise ModelError(f"model {text!r}: there is no such file")
        return FILES[suffix](Path(text), options)
    if suffix in REFUSED and Path(text).is_file():
        return load_urdf(text)  # says what to do with such a file
    names = [*(f"{name}:{'4:5' if name == 'star' else '20'}" for name in FAMILIES), *MACHINES]
    raise ModelError(f"model {text!r}: expected {HELP}.{near(text, names)}")
