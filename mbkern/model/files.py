"""A model as text and back: plain dicts, JSON, URDF."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mbkern import lazy

if TYPE_CHECKING:
    from os import PathLike

    from mbkern.model.model import Model


class Files:
    """The part of `Model` that reads and writes files."""

    def to_dict(self) -> dict[str, Any]:
        """The model as plain dicts, lists, numbers and strings, ready for JSON.

        Examples
        --------
        >>> import mbkern as mb
        >>> mb.zoo.pipelayer().to_dict()["bodies"][3]["mass"]
        800.0
        """
        serial = lazy.module("model.serial")

        return serial.to_dict(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Model:
        """The model that `to_dict` wrote; checked like any other input.

        Examples
        --------
        >>> import mbkern as mb
        >>> model = mb.zoo.pipelayer()
        >>> mb.Model.from_dict(model.to_dict()) == model
        True
        """
        serial = lazy.module("model.serial")

        return serial.from_dict(data)

    def to_json(self) -> str:
        """The model as JSON text; every number is reproduced exactly.

        Examples
        --------
        >>> import mbkern as mb
        >>> model = mb.zoo.pipelayer()
        >>> mb.Model.from_json(model.to_json()) == model
        True
        """
        serial = lazy.module("model.serial")

        return serial.to_json(self)

    @classmethod
    def from_json(cls, text: str) -> Model:
        """The model that `to_json` wrote; checked like any other input.

        Examples
        --------
        >>> import mbkern as mb
        >>> mb.Model.from_json(mb.zoo.chain(2).to_json()).nv
        2
        """
        serial = lazy.module("model.serial")

        return serial.from_json(text)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the model to a JSON file; `mb.load` reads it back.

        Examples
        --------
        >>> import mbkern as mb, pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder) / "crane.json"
        ...     mb.zoo.pipelayer().save(path)
        ...     mb.load(path) == mb.zoo.pipelayer()
        True
        """
        serial = lazy.module("model.serial")

        serial.save(self, path)

    def to_urdf(self) -> str:
        """The model as the text of a URDF file, where that format can express it; see `mbkern.io.to_urdf`.

        Examples
        --------
        >>> import mbkern as mb
        >>> mb.load_urdf(mb.zoo.pipelayer().to_urdf()).coordinate_names
        ('z', 'alpha', 'beta', 'theta', 'epsilon', 'y')
        """
        to_urdf = lazy.module("io").to_urdf

        return to_urdf(self)
