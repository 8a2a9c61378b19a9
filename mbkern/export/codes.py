"""What an exported function may return: the codes of the kernels, and those of the library around them."""

from __future__ import annotations

from ..explain import CODES

CPU_UNSUPPORTED, NOT_INITIALIZED, STEP_TOO_SMALL, NULL_POINTER, BAD_PARAMETER = 32, 33, 34, 35, 36

#: number -> (name, meaning)
STATUS: dict[int, tuple[str, str]] = {
    **{code: (name, meaning) for code, (name, meaning) in enumerate(CODES) if name != "STALE"},
    CPU_UNSUPPORTED: ("CPU_UNSUPPORTED", "this processor lacks what the library was compiled for"),
    NOT_INITIALIZED: ("NOT_INITIALIZED", "the workspace holds no parameters yet: call the function `init` first"),
    STEP_TOO_SMALL: ("STEP_TOO_SMALL", "the step would have to be smaller than float64 resolves: a singularity, a jump "
                                       "of the forces, or tolerances that are too small"),
    NULL_POINTER: ("NULL_POINTER", "an argument that is needed is a null pointer"),
    BAD_PARAMETER: ("BAD_PARAMETER", "there is no such parameter, or its value is none: not finite, or negative"),
}
