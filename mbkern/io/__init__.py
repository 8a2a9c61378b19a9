"""Machines from robot files, and back: URDF, MJCF and SDF."""

from .mjcf import load_mjcf
from .sdf import load_sdf
from .urdf import load_urdf
from .urdf_write import to_urdf

__all__ = ["load_mjcf", "load_sdf", "load_urdf", "to_urdf"]
