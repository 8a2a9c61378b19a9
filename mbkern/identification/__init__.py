"""Identification of inertial parameters from recorded motion, without accelerations.

>>> import mbkern as mb
>>> mb.identification.names_of(mb.zoo.chain(1))[:3]
('body0.mass', 'body0.moment_x', 'body0.moment_y')
"""

from .parameters import inertial_parameters, names_of, with_parameters
from .record import Identification, identify

__all__ = ["Identification", "identify", "inertial_parameters", "names_of", "with_parameters"]
