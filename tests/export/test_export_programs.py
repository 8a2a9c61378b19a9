"""Programs in C, C++ and Rust with an exported arm, in processes without Python; sanitizers, CMake, size, targets."""

import ast
import re
import shutil
import subprocess
from pathlib import Path

import hostile
import numpy as np
import pytest
from exported import PROGRAMS, Caller, built, run

import mbkern as mb
from mbkern.cli import main
from mbkern.export.targets import FEATURES, LEVELS, target_named

needs_c = pytest.mark.skipif(not shutil.which("cc"), reason="no C compiler on the path")
STRICT = ("-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic")


@pytest.fixture(scope="module")
def arm():
    model = mb.zoo.chain(4)
    return model, mb.System(model)


@pytest.fixture(scope="module")
def made(arm, tmp_path_factory):
    return mb.export.library(arm[1], tmp_path_factory.mktemp("arm") / "arm", ("rhs", "energy", "rk4", "dopri5"))


def begin(model):
    return model.neutral(), 0.1 * np.arange(1.0, model.nv + 1)


@needs_c
@pytest.mark.parametrize("options", [(), ("-DARM_CHECKED",), ("-g", "-fsanitize=address,undefined",
                                                             "-fno-sanitize-recover=all")])
def test_c(arm, made, tmp_path, options):
    model, system = arm
    q, p = begin(model)
    folder = made.object.parent
    shown = run(built("cc", "arm.c", made, tmp_path / "program", str(made.object), f"-I{folder}", "-lm", *STRICT,
                      *options))
    qdot, pdot = system.rhs(q, p, tau=np.full(4, 0.5))
    expected = [f"{name} {a.hex()} {b.hex()}" for name, a, b in zip(
        model.speed_names, qdot.tolist(), pdot.tolist(), strict=True)]
    stepper = system.stepper("rk4", step=1e-3)
    stepper.reset(q, p)
    q, p = stepper.step(1000)
    expected += [f"{name} {a.hex()} {b.hex()}" for name, a, b in zip(
        model.coordinate_names, q.tolist(), p.tolist(), strict=True)]
    expected.append(f"H {float(system.energy(q, p).hamiltonian).hex()}")
    assert [normal(line) for line in shown[:-1]] == [normal(line) for line in expected]
    assert shown[-1].startswith("1 q is not finite") and shown[-1].endswith(" 1")


def normal(line):
    """Hexadecimal numbers in one form: C and Python write the same number differently."""
    return [float.fromhex(word) if re.fullmatch(r"-?0x.*", word) else word for word in line.split()]


@needs_c
def test_sizes_of_arrays_are_checked_where_they_are_known(made, tmp_path):
    text = (PROGRAMS / "arm.c").read_text().replace("work[ARM_WORK_SIZE]", "work[ARM_WORK_SIZE - 1]")
    (tmp_path / "short.c").write_text(text)
    command = ["cc", "-c", "short.c", f"-I{made.header.parent}", "-o", "short.o"]
    assert subprocess.run(command, cwd=tmp_path, capture_output=True, check=False).returncode == 0
    assert subprocess.run([*command, "-DARM_CHECKED"], cwd=tmp_path, capture_output=True, check=False).returncode != 0


SHORT = """
#include <stdlib.h>
#include "arm.h"
int main(void) {
    double q[4] = {0}, p[4] = {0}, qdot[4], pdot[4], *work = malloc(WORK * sizeof(double));
    return arm_rhs(0.0, q, p + SKIPPED, NULL, qdot, pdot, work);
}
"""


@needs_c
@pytest.mark.parametrize("options, said", [
    (["-DWORK=ARM_WORK_SIZE", "-DSKIPPED=0"], ""),
    (["-DWORK=ARM_WORK_SIZE", "-DSKIPPED=1"], "arm_rhs: p has room for 3 numbers, 4 are needed"),
    (["-DWORK=10", "-DSKIPPED=0", "-O1"], "arm_rhs: work has room for 10 numbers, @ are needed"),
])
def test_debug_builds_look_at_sizes(made, tmp_path, options, said):
    (tmp_path / "short.c").write_text(SHORT)
    subprocess.run(["cc", *STRICT, "-DARM_CHECKED", *options, "short.c", f"-I{made.header.parent}", str(made.object),
                    "-lm", "-o", "short"], cwd=tmp_path, check=True, capture_output=True)
    done = subprocess.run([str(tmp_path / "short")], capture_output=True, text=True, check=False)
    assert done.stderr.strip() == said.replace("@", str(made.work_size))
    assert (done.returncode == 0) == (not said)


@pytest.mark.skipif(not shutil.which("c++"), reason="no C++ compiler on the path")
def test_cpp_on_two_threads(arm, made, tmp_path):
    model, system = arm
    shown = run(built("c++", "arm.cpp", made, tmp_path / "program", str(made.object), f"-I{made.object.parent}", "-lm",
                      "-pthread", "-std=c++11", "-Wall", "-Wextra", "-Werror"))
    numbers = [[float.fromhex(word) for word in line.split()] for line in shown[:-1]]
    for k, t_end in enumerate((1.0, 2.0)):
        solution = system.simulate(*begin(model), (0.0, t_end), rtol=1e-8, atol=1e-10)
        assert np.array_equal(np.array(numbers)[4 * k:4 * k + 4].T, [solution.q[-1], solution.p[-1]])
    assert shown[-1] == made.build


@pytest.mark.skipif(not shutil.which("rustc") or not shutil.which("cc"), reason="no Rust compiler on the path")
def test_rust(arm, made, tmp_path):
    model, system = arm
    program = built("rustc", "arm.rs", made, tmp_path / "program", "-C", f"link-arg={made.object}", "-C",
                    "link-arg=-lm")
    shown = run(program)
    assert shown[0] == "chain4 0"
    bits = np.array([[int(word, 16) for word in line.split()] for line in shown[1:]], np.uint64).view(float)
    assert np.array_equal(bits.T, system.rhs(*begin(model)))


@pytest.mark.skipif(not shutil.which("cmake") or not shutil.which("cc"), reason="no CMake on the path")
def test_cmake(made, tmp_path):
    shutil.copy(PROGRAMS / "arm.c", tmp_path / "arm.c")
    (tmp_path / "CMakeLists.txt").write_text(
        f"cmake_minimum_required(VERSION 3.13)\nproject(example C)\ninclude({made.cmake.as_posix()})\n"
        "add_executable(program arm.c)\ntarget_link_libraries(program arm)\n")
    for command in (["cmake", "-S", ".", "-B", "build", "-DCMAKE_BUILD_TYPE=Debug"],
                    ["cmake", "--build", "build", "--verbose"]):
        said = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, timeout=300, text=True).stdout
    assert "-DARM_CHECKED" in said
    assert run(tmp_path / "build" / "program")[-1].startswith("1 q is not finite")


# ---- targets ---------------------------------------------------------------------------------------------------------

@needs_c
@pytest.mark.parametrize("target", ["x86-64", "x86-64-v2", "x86-64-v3"])
def test_other_processors_give_the_same_bits(arm, tmp_path, target):
    model, system = arm
    made = mb.export.library(system, tmp_path / "arm", target=target)
    assert made.library.stat().st_size < 200_000  # of the right-hand side alone
    q, p = begin(model)
    qdot, pdot = np.empty(4), np.empty(4)
    assert Caller(made)("rhs", 0.0, q, p, None, qdot, pdot) == 0
    assert np.array_equal((qdot, pdot), system.rhs(q, p))


def test_size_of_the_right_hand_side_alone(arm, tmp_path):
    assert mb.export.library(arm[1], tmp_path / "arm").object.stat().st_size < 200_000
    made = mb.export.library(mb.System(mb.zoo.pipelayer()), tmp_path / "any")  # any tree, not of hinges alone
    assert made.object.stat().st_size < 200_000


def test_aarch64_is_left_to_link(arm, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", "")
    with pytest.warns(mb.errors.ExportWarning, match=r"cc -shared -o \S+libarm.so \S+arm.o -lm"):
        made = mb.export.library(arm[1], tmp_path / "arm", target="aarch64")
    assert made.library is None
    assert made.object.read_bytes()[:4] == b"\x7fELF" and made.object.read_bytes()[18] == 0xB7  # EM_AARCH64


CROSS = shutil.which("aarch64-linux-gnu-gcc"), shutil.which("qemu-aarch64") or shutil.which("qemu-aarch64-static")


@pytest.mark.skipif(not all(CROSS), reason="no compiler and emulator for aarch64 on the path")
def test_aarch64_gives_the_same_bits(arm, tmp_path):
    """The example in C, a thousand steps of RK4, on an emulated processor."""
    model, system = arm
    made = mb.export.library(system, tmp_path / "arm", ("rhs", "energy", "rk4"), target="aarch64")
    program = built(CROSS[0], "arm.c", made, tmp_path / "program", str(made.object), f"-I{tmp_path}", "-lm", "-static")
    shown = subprocess.run([CROSS[1], program], capture_output=True, text=True, check=True, timeout=300).stdout
    stepper = system.stepper("rk4", step=1e-3)
    stepper.reset(*begin(model))
    expected = np.array(stepper.step(1000)).T
    lines = [normal(line)[1:] for line in shown.splitlines()]
    assert np.array_equal(lines[model.nv:2 * model.nv], expected)


def test_no_compiler(arm, tmp_path, monkeypatch):
    monkeypatch.setenv("CC", "no-such-compiler")
    with pytest.warns(mb.errors.ExportWarning, match="no C compiler found") as caught:
        made = mb.export.library(arm[1], tmp_path / "arm")
    assert made.library is None and made.command in str(caught[0].message)
    assert made.object.is_file() and made.header.is_file()


@needs_c
def test_a_processor_that_lacks_something_is_told(arm, tmp_path, monkeypatch):
    """The bit of CPUID for one more feature is one that no processor has (leaf 7, ECX, bit 15)."""
    monkeypatch.setitem(FEATURES, "fma", (7, 2, 15))
    made = mb.export.library(arm[1], tmp_path / "arm", ("rhs", "rk4"), target="x86-64-v3", batch=True)
    call, (q, p) = Caller(made), begin(arm[0])
    qdot, pdot = np.empty(4), np.empty(4)
    assert call.made.arm_ready() == 32 and b"processor" in call.made.arm_status_text(32)
    assert call("rhs", 0.0, q, p, None, qdot, pdot) == 32 and call("rk4", 0.0, 1e-3, 1, q, p, None, None) == 32
    assert "fma" in LEVELS["x86-64-v3"]


OLD = shutil.which("qemu-x86_64") or shutil.which("qemu-x86_64-static")


@pytest.mark.skipif(not OLD or "fma" not in target_named("native").required, reason="no emulator of x86-64 on the path")
def test_an_old_processor_is_told(made, tmp_path):
    """Code for this processor on an emulated one of 2008: a status, not an illegal instruction."""
    program = built("cc", "arm.c", made, tmp_path / "program", str(made.object), f"-I{made.object.parent}", "-lm",
                    "-static")
    done = subprocess.run([OLD, "-cpu", "Nehalem", program], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 32 and done.stderr.endswith("this processor lacks what the library was compiled for\n")


def test_kernels_import_the_core_alone():
    """The stamp of cached code is over the core and the folder of a kernel: code from elsewhere would go stale."""
    for path in (Path(mb.__file__).parent / "export" / "kernels").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.level:
                assert node.level == 3 and node.module.startswith("core."), f"{path.name}: {node.module}"


# ---- bad input -------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("arguments, words", [
    (dict(operations=("rsh",)), "operations: expected some of rhs, .* got 'rsh'; the nearest is 'rhs'"),
    (dict(operations=()), "at least one"),
    (dict(target="x86-64-v9"), "target: expected one of native, .* got 'x86-64-v9'; the nearest"),
    (dict(parameters=("body1.weight",)), "parameters: .* got 'body1.weight'"),
    (dict(parameters=("body1.position",)), "positions of joints cannot"),
    (dict(parameters=("body1.armature",)), "positive armature"),
])
def test_bad_arguments(arm, tmp_path, arguments, words):
    with pytest.raises(mb.errors.ExportError, match=words):
        mb.export.library(arm[1], tmp_path / "arm", **arguments)


@pytest.mark.parametrize("name", ["my arm", "2arm", "arm.so", "int"])
def test_names_that_are_none_in_c(arm, tmp_path, name):
    with pytest.raises(mb.errors.ExportError, match="prefix of C functions"):
        mb.export.library(arm[1], f"{tmp_path}/{name}")


def test_folder_that_is_not_there(arm, tmp_path):
    with pytest.raises(mb.errors.FileError, match="cannot write"):
        mb.export.library(arm[1], tmp_path / "no" / "arm")


def test_drives_that_cannot_leave_python_are_named(tmp_path):
    import numba

    @numba.njit
    def table(t):
        return np.interp(t, np.arange(3.0), np.arange(3.0)), 1.0, 0.0

    b = mb.ModelBuilder()
    b.add_body("cam", joint=[mb.rotate("z", mb.drive(table)), mb.rotate("y")], mass=1.0, com=(0.1, 0, 0))
    with pytest.raises(mb.errors.ExportError, match=r"drive 'table' of body 'cam': its code calls .*NRT"):
        mb.export.library(mb.System(b.build()), tmp_path / "cam")


def test_command_line(tmp_path, capsys):
    assert main(["export", "chain:4", "--out", str(tmp_path / "arm"), "--operations", "rhs,energy"]) == 0
    shown = capsys.readouterr().out
    assert "arm.h" in shown and "arm.o" in shown and "workspace: " in shown
    assert "arm_energy" in (tmp_path / "arm.h").read_text()
    assert main(["export", "chain:4", "--out", str(tmp_path / "arm"), "--operations", "rsh"]) == 2
    assert "the nearest is 'rhs'" in capsys.readouterr().err
    for options, words in (("--out a.fmu --operations rhs", "--operations: for libraries"),
                           ("--out a.fmu --batch", "--batch: for libraries"), ("--out a --version 2.0", "for FMUs")):
        assert main(["export", "chain:4", *options.split()]) == 2
        assert words in capsys.readouterr().err


@pytest.mark.parametrize("name", ["library", "fmu", "casadi"])
def test_places_that_are_none(name):
    """They were errors of pathlib, or came after all had been compiled."""
    system = mb.System(mb.zoo.chain(2))
    for bad in (5, float("nan"), hostile.Stranger(), hostile.Raising(), hostile.endless(), ["a"], b"a", {},
                "/nonexistent/a/arm.fmu", "a\0b/arm.fmu"):
        with pytest.raises(mb.errors.FileError, match=r"cannot write|expected the name of a file"):
            getattr(mb.export, name)(system, bad)
