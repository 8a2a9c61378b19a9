"""Calling an exported library from the tests: by ctypes in this process, and as programs without Python."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from contextlib import contextmanager
from pathlib import Path

import numba
import numpy as np
import pytest

import mbkern as mb
from mbkern.export import targets

PROGRAMS = Path(__file__).parent.parent / "export" / "programs"


@contextmanager
def quickly():
    """Machine code made in a tenth of the time: the same bits, but larger and slower. For tests of bits alone."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(targets, "EFFORT", 0)
        yield


@numba.njit
def wave(t):
    """A drive that allocates nothing: x, its rate, its acceleration."""
    return 0.2 * np.sin(1.5 * t), 0.3 * np.cos(1.5 * t), -0.45 * np.sin(1.5 * t)


def machine(function_drive=True):
    """Every kind of joint, rotors on one and on three dofs, springs, dampers, drives, a frame, a weld."""
    b = mb.ModelBuilder(name="every kind")
    b.add_body("base", joint=mb.free(), mass=3.0, com=(0.1, 0, 0.05), inertia=(0.3, 0.2, 0.4))
    b.add_body("arm", "base", mb.revolute("y"), 1.0, (0.3, 0, 0.1), (0.02, 0.05, 0.04), (0.1, 0.2, 0), armature=0.1,
               damping=0.2)
    b.add_body("plate", "arm", mb.weld(), 0.4, (0.1, 0, 0), (0.01, 0.01, 0.01), (0.2, 0, 0))
    b.add_body("wrist", "arm", mb.ball(), 0.7, (0, 0.1, 0.1), (0.02, 0.03, 0.02), (0.6, 0, 0), armature=[0.1, 0.2, 0.3])
    b.add_body("slide", "base", [mb.rotate("x", mb.harmonic(0.3, 2.0)), mb.translate("z")], 0.5, (0, 0, 0.1),
               (0.01, 0.02, 0.01), stiffness=40.0, damping=0.5)
    b.add_body("nut", "slide", mb.screw("x", 0.05), 0.3, (0, 0.05, 0.1), (0.01, 0.01, 0.02), (0, 0.1, 0))
    if function_drive:
        b.add_body("fan", "nut", [mb.rotate("z", mb.drive(wave)), mb.rotate("y")], 0.2, (0.1, 0, 0),
                   (0.002, 0.003, 0.003), (0, 0, 0.2))
    b.add_frame("tip", "wrist", (0.2, 0.1, 0))
    return b.build()


def loaded(library):
    """The shared library in this process."""
    made = ctypes.CDLL(str(library.library))
    for name in ("model_name", "version", "build", "coordinate_name", "speed_name", "body_name", "status_text",
                 "parameter_name", "frame_name"):
        if hasattr(made, f"{library.prefix}_{name}"):
            getattr(made, f"{library.prefix}_{name}").restype = ctypes.c_char_p
    return made


def pointer(array):
    return None if array is None else array.ctypes.data_as(ctypes.c_void_p)


class Caller:
    """Functions of a library with arrays as arguments; a workspace full of NaN in every call, unless one is given."""

    def __init__(self, library):
        self.made, self.prefix, self.size = loaded(library), library.prefix, library.work_size
        self.folder = library.header.parent

    def __call__(self, name, *given, work=None, result=ctypes.c_int):
        function = getattr(self.made, f"{self.prefix}_{name}")
        function.restype = result
        work = np.full(self.size, np.nan) if work is None else work
        guarded = np.full(self.size + 2, 7.0)  # nothing is written beside the workspace
        guarded[1:-1] = work
        passed = [ctypes.c_double(x) if isinstance(x, float) else ctypes.c_int64(x) if isinstance(x, int)
                  else pointer(x) for x in given]
        code = function(*passed, ctypes.c_void_p(guarded[1:].ctypes.data))
        assert guarded[0] == guarded[-1] == 7.0
        work[:] = guarded[1:-1]
        return code


def built(compiler, source, library, program, *options):
    """A program of a source file and the object file of a library."""
    shutil.copy(PROGRAMS / source, program.parent)
    command = [compiler, str(program.parent / source), *options, "-o", str(program)]
    subprocess.run(command, check=True, capture_output=True, text=True, timeout=300, cwd=library.object.parent)
    return program


def run(program):
    """What a program prints; it runs without Python's variables, and with no library of Python."""
    needs = subprocess.run(["ldd", str(program)], capture_output=True, text=True, timeout=300, check=False).stdout
    assert "python" not in needs and "numba" not in needs and "llvm" not in needs.lower()
    done = subprocess.run([str(program)], capture_output=True, text=True, timeout=300, check=False,
                          env={"PATH": "/usr/bin:/bin"})
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()
