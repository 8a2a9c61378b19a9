"""Machines from robot files, and back."""

from .urdf import load_urdf
from .urdf_write import to_urdf

__all__ = ["load_urdf", "to_urdf"]
