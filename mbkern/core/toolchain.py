"""Which parts of Numba compile the core: with its private ones, or by its public interface alone.

The environment variable MBKERN_NUMBA=public chooses the latter, which also serves where a private part is missing, or
where it behaves differently: a Numba that mbkern was not tried with is tried at import (:mod:`.numba_probe`). A new
Numba then costs time, not results.
"""

import os
import warnings

import numba

VARIABLE = "MBKERN_NUMBA"
TRIED = (0, 61), (0, 68)  # the first and the last release whose private parts are known to do what they should


def _is_known():
    """Whether the Numba at hand is one of those."""
    try:
        major, minor = numba.__version__.split(".")[:2]
        return TRIED[0] <= (int(major), int(minor)) <= TRIED[1]
    except ValueError:  # a version of somebody's own
        return False


def _chosen():
    if numba.config.DISABLE_JIT:
        raise ImportError("mbkern is compiled by Numba and cannot work with NUMBA_DISABLE_JIT=1: unset that variable")
    wanted = os.environ.get(VARIABLE, "private")
    if wanted not in ("private", "public"):
        raise ImportError(f"{VARIABLE}: expected 'private' or 'public', got {wanted!r}; correct it or unset it")
    from . import numba_public

    if wanted == "public":
        return numba_public
    try:
        from . import numba_private
    except (ImportError, AttributeError) as error:
        warnings.warn(f"mbkern: Numba {numba.__version__} lacks a private part that mbkern uses ({error}); kernels are "
                      f"compiled by its public interface, more slowly. {VARIABLE}=public says that this is known",
                      RuntimeWarning, stacklevel=2)
        return numba_public
    try:
        if not _is_known():
            from . import numba_probe

            numba_probe.check()
    except Exception as error:
        warnings.warn(f"mbkern: private parts of Numba {numba.__version__} behave differently than those of "
                      f"{'.'.join(map(str, TRIED[1]))} ({type(error).__name__}: {error}); kernels are compiled by its "
                      f"public interface, more slowly. {VARIABLE}=public says that this is known", RuntimeWarning,
                      stacklevel=2)
        return numba_public
    return numba_private


parts = _chosen()
