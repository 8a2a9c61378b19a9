"""Models outside Python: a C library of one machine, an FMU, functions for CasADi.

=====================================  ==================================================================
`library(system, "arm")`               `arm.h`, `arm.o`, `libarm.so`: C, C++, and all that calls C
`fmu(system, "arm.fmu")`               an FMU (FMI 2.0, 3.0): Simulink, Dymola, OpenModelica, FMPy, ...
`casadi(system)`                       a CasADi function with its exact Jacobian
=====================================  ==================================================================

The machine code is that of the kernels themselves: results have the bits of `System.rhs` and its like.
"""

import mbkern.integrate  # noqa: F401  # a package before its parts, see `mbkern.lazy`

from .fmu import fmu
from .library import Library, library
from .with_casadi import casadi

__all__ = ["Library", "casadi", "fmu", "library"]
