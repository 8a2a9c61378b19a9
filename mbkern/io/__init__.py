"""Machines from robot files, and back: URDF and MJCF."""

from .mjcf import load_mjcf
from .urdf import load_urdf
from .urdf_write import to_urdf

__all__ = ["load_mjcf", "load_urdf", "to_urdf"]
