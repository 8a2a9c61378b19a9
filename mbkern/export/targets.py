"""Processors that machine code can be made for, and how a program finds out whether it runs on one."""

from __future__ import annotations

import platform
from collections.abc import Iterable
from dataclasses import dataclass

from llvmlite import binding

from ..errors import ExportError
from ..model.checks import show
from ..operations import with_nearest

# ---- what x86 processors can do: name in LLVM -> (leaf of CPUID, register, bit) --------------------------------------
# Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2A, CPUID
EBX, ECX = 1, 2
EXTENDED = 0x80000001
FEATURES: dict[str, tuple[int, int, int]] = {
    **{name: (1, ECX, bit) for name, bit in (
        ("sse3", 0), ("pclmul", 1), ("ssse3", 9), ("fma", 12), ("cx16", 13), ("sse4.1", 19), ("sse4.2", 20),
        ("movbe", 22), ("popcnt", 23), ("aes", 25), ("avx", 28), ("f16c", 29), ("rdrnd", 30))},
    **{name: (7, EBX, bit) for name, bit in (
        ("bmi", 3), ("avx2", 5), ("bmi2", 8), ("avx512f", 16), ("avx512dq", 17), ("adx", 19), ("avx512ifma", 21),
        ("avx512cd", 28), ("sha", 29), ("avx512bw", 30), ("avx512vl", 31))},
    **{name: (7, ECX, bit) for name, bit in (
        ("avx512vbmi", 1), ("avx512vbmi2", 6), ("gfni", 8), ("vaes", 9), ("vpclmulqdq", 10), ("avx512vnni", 11),
        ("avx512bitalg", 12), ("avx512vpopcntdq", 14))},
    **{name: (EXTENDED, ECX, bit) for name, bit in (("sahf", 0), ("lzcnt", 5))},
}
OSXSAVE = (1, ECX, 27)  # the system saves wide registers; which ones, XGETBV says
SAVED_AVX, SAVED_AVX512 = 0x06, 0xE6
# levels of the x86-64 psABI, each on top of the one before
_V2 = ("cx16", "popcnt", "sahf", "sse3", "sse4.1", "sse4.2", "ssse3")
_V3 = (*_V2, "avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe")
_V4 = (*_V3, "avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl")
LEVELS: dict[str, tuple[str, ...]] = {"x86-64": (), "x86-64-v2": _V2, "x86-64-v3": _V3, "x86-64-v4": _V4}
TARGETS = ("native", *LEVELS, "aarch64")
EFFORT = 3  # of LLVM's code generator, 0 to 3: bits are the same, time and size are not


@dataclass(frozen=True)
class Target:
    """A processor and system to make machine code for.

    Attributes
    ----------
    name : str
        As the user has called it.
    triple, cpu, features : str
        For LLVM.
    required : tuple of str
        Features that a program asks the processor for before it runs the code; none on processors other than x86.
    here : bool
        Whether it is the kind of machine that this process runs on, so that its linker can be used.
    """

    name: str
    triple: str
    cpu: str
    features: str
    required: tuple[str, ...]
    here: bool

    @property
    def is_x86(self) -> bool:
        return self.triple.startswith("x86_64")

    @property
    def suffix(self) -> str:
        """Of a shared library."""
        return ".dll" if "windows" in self.triple else ".dylib" if "apple" in self.triple else ".so"

    def machine(self) -> binding.TargetMachine:
        """LLVM's code generator for it."""
        binding.initialize_all_targets()
        binding.initialize_all_asmprinters()
        binding.initialize_native_asmparser()  # for the instructions that ask an x86 processor what it can do
        return binding.Target.from_triple(self.triple).create_target_machine(
            cpu=self.cpu, features=self.features, opt=EFFORT, reloc="pic", codemodel="default")

    def saved_registers(self) -> int:
        """Bits of XCR0 that the system must have set; 0 when none matters."""
        if any(name.startswith("avx512") for name in self.required):
            return SAVED_AVX512
        return SAVED_AVX if {"avx", "avx2", "fma", "f16c"} & {*self.required} else 0


def masks(names: Iterable[str]) -> dict[tuple[int, int], int]:
    """(leaf, register) -> bits that must be set there.

    Examples
    --------
    >>> from mbkern.export.targets import masks
    >>> masks(["fma", "sse3"])
    {(1, 2): 4097}
    """
    found: dict[tuple[int, int], int] = {}
    for leaf, register, bit in (FEATURES[name] for name in names):
        found[leaf, register] = found.get((leaf, register), 0) | 1 << bit
    return found


def target_named(name: object) -> Target:
    """The target of that name, or an error that lists them.

    Examples
    --------
    >>> from mbkern.export.targets import target_named
    >>> target_named("aarch64").required
    ()
    """
    if not isinstance(name, str) or name not in TARGETS:
        raise ExportError(f"target: expected one of {', '.join(TARGETS)}, got {show(name)}"
                          f"{with_nearest(name, TARGETS)}")
    host = binding.get_process_triple()
    machine = platform.machine().lower()
    on_x86, on_arm = machine in ("x86_64", "amd64"), machine in ("aarch64", "arm64")
    if name == "native":
        has = binding.get_host_cpu_features()
        required = tuple(feature for feature in FEATURES if has.get(feature, False)) if on_x86 else ()
        return Target(name, host, binding.get_host_cpu_name(), has.flatten(), required, True)
    if name == "aarch64":
        system = host.split("-", 1)[1] if on_x86 else "unknown-linux-gnu"
        return Target(name, host if on_arm else f"aarch64-{system}", "generic", "", (), on_arm)
    if not on_x86:
        raise ExportError(f"target: code for {name!r} can be made on x86-64 machines only, this one is {machine!r}; "
                          "\"native\" and \"aarch64\" work everywhere")
    return Target(name, host, name, "", LEVELS[name], True)
