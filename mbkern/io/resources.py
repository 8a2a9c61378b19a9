"""Where the meshes of a robot file are: package:// and file:// addresses, and names beside the file.

Nothing is opened or fetched: an address that leads nowhere stays as it is, and is drawn as a box.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import unquote

from ..errors import ModelError
from ..lazy import cached_property
from ..model.checks import show

SCHEMES = ("package://", "model://")


class Resources:
    """The folders in which the files of one robot are looked for.

    Parameters
    ----------
    file : path or None
        The robot file; None for a text.
    package_dirs : paths
        Folders that hold packages, or are packages; they come first.
    """

    def __init__(self, file: Path | None, package_dirs: Iterable[str | os.PathLike[str]] = ()) -> None:
        self.file = file
        try:
            given = (package_dirs,) if isinstance(package_dirs, str | os.PathLike) else tuple(package_dirs)
            self.package_dirs = [Path(folder) for folder in given]
        except Exception:  # of any kind: the value itself is asked
            raise ModelError(f"package_dirs: expected folders, a list of paths, got {show(package_dirs)}") from None
        self._packages: dict[str, list[Path]] = {}

    @cached_property
    def folders(self) -> list[Path]:
        """Where packages may lie: as asked for, as ROS says, then above the robot file."""
        ros = [Path(word) for word in os.environ.get("ROS_PACKAGE_PATH", "").split(os.pathsep) if word]
        ament = [Path(word) / "share" for word in os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep) if word]
        above = list(self.file.resolve().parents) if self.file is not None else []
        return [*self.package_dirs, *ros, *ament, *above]

    def path(self, address: str) -> str:
        """The file that an address in the robot file means; the address itself if there is none."""
        for scheme in SCHEMES:
            if address.startswith(scheme):
                package, _, rest = unquote(address[len(scheme) :]).lstrip("/").partition("/")
                files = (folder / rest for folder in self._homes(package))
                return next((str(file) for file in files if file.is_file()), address)
        if address.startswith("file://"):
            return unquote(address[len("file://") :])
        if "://" in address or os.path.isabs(address):
            return address
        around = [] if self.file is None else [self.file.resolve().parent]
        found = (folder / address for folder in (*around, *self.package_dirs))
        return next((str(file) for file in found if file.is_file()), address)

    def _homes(self, package: str) -> list[Path]:
        if package not in self._packages:
            inside = [folder / package for folder in self.folders if (folder / package).is_dir()]
            itself = [folder for folder in self.folders if folder.name == package]
            self._packages[package] = [*inside, *itself]
        return self._packages[package]
