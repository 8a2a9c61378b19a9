"""The simulator in embedding.c, compiled by the machine's own C compiler."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

from mbkern import embed

SOURCE = Path(__file__).with_name("embedding.c")
DOUBLES = ctypes.c_void_p  # arrays go in by their address
# no contraction to fma: the arithmetic of the C loop is then that of NumPy, bit by bit
FLAGS = ("-O2", "-ffp-contract=off", "-std=gnu99", "-Wall", "-Wextra", "-Wno-unused-function", "-Werror")


def compiler():
    """Path of a C compiler, or None."""
    return shutil.which("gcc") or shutil.which("cc") or shutil.which("clang")


@cache
def library():
    """The compiled library, its functions declared."""
    folder = Path(tempfile.mkdtemp(prefix="mbkern-c-"))
    try:
        (folder / "mbkern.h").write_text(embed.header())
        target = folder / "embedding.so"
        command = [compiler(), *FLAGS, "-shared", "-fPIC", f"-I{folder}", str(SOURCE), "-o", str(target)]
        subprocess.run(command, check=True, capture_output=True, text=True)
        lib = ctypes.CDLL(str(target))
    finally:
        shutil.rmtree(folder)  # a loaded library needs no file any more
    f, user, number, count = ctypes.c_void_p, ctypes.c_void_p, ctypes.c_double, ctypes.c_long
    lib.nq.argtypes, lib.nq.restype = [user], count
    lib.nv.argtypes, lib.nv.restype = [user], count
    lib.status.argtypes, lib.status.restype = [user], ctypes.c_int
    lib.evaluate.argtypes, lib.evaluate.restype = [f, number, DOUBLES, DOUBLES, user], None
    lib.evaluate_tau.argtypes, lib.evaluate_tau.restype = [f, number, DOUBLES, DOUBLES, DOUBLES, user], None
    lib.rk4.argtypes, lib.rk4.restype = [f, user, number, number, count, DOUBLES, DOUBLES], ctypes.c_int
    lib.euler_like_cvode.argtypes = [f, user, number, number, DOUBLES, DOUBLES]
    lib.euler_like_cvode.restype = ctypes.c_int
    lib.jacobian_like_cvode.argtypes = [f, user, f, user, number, DOUBLES, DOUBLES, DOUBLES]
    lib.jacobian_like_cvode.restype = ctypes.c_int
    return lib
