"""The errors that mbkern raises on purpose, all under one root.

``except mb.errors.MbkernError`` catches every one of them. Errors about values also derive from
``ValueError``, so code that knows nothing of mbkern still treats them as what they are.
"""

from __future__ import annotations


class MbkernError(Exception):
    """Root of every error raised on purpose.

    Examples
    --------
    >>> import mbkern as mb
    >>> try:
    ...     mb.revolute("w")
    ... except mb.errors.MbkernError as error:
    ...     print(type(error).__name__)
    ModelError
    """


class ModelError(MbkernError, ValueError):
    """The description of a machine is wrong: a joint, a drive, a body, the tree, a file."""


class MissingFileError(ModelError, FileNotFoundError):
    """There is no file of this name."""


class FileError(MbkernError, OSError):
    """A file could not be written: a full disk, a folder that is missing or may not be written to."""


class NotEnoughMemoryError(MbkernError, MemoryError):
    """A call wanted more memory than there is; nothing has changed, a smaller one may succeed."""


class ModelWarning(UserWarning):
    """Something in the description of a machine was read but has no place in the model."""


class StalledWarning(RuntimeWarning):
    """A call has been waiting for its own threads for long; it goes on waiting, ctrl-C ends it."""


class StalledError(MbkernError, TimeoutError):
    """Threads of a call have given no sign of life for very long, or no longer exist; they are not waited for."""


class SlowFunctionWarning(UserWarning):
    """A function of forces is plain Python and is called from compiled code; given once in a process."""


class AccuracyWarning(UserWarning):
    """A method has lost more digits than a result should; given once for a system, see `System.accuracy`."""


class ExportError(MbkernError, ValueError):
    """A model, an operation or a target that cannot be exported, see `mbkern.export`."""


class ExportWarning(UserWarning):
    """Something was exported, but a part is left to the user, e.g. to link it."""


class FrozenError(ModelError, AttributeError):
    """An attempt to change a finished model; build a new one instead."""


class StateError(MbkernError, ValueError):
    """A bad q, p, u, t, tau or wrench: wrong shape, not finite, or where the machine is not defined."""


class SingularInertiaError(StateError):
    """The articulated inertia of a joint is not positive definite: some motion of it moves no mass.

    Parameters
    ----------
    message : str
        What happened and what to do about it.
    body : str
        Name of the body whose joint is singular.
    joint : str
        What kind of joint it is.
    """

    def __init__(self, message: str, body: str = "", joint: str = "") -> None:
        super().__init__(message)
        self.body = body
        self.joint = joint

    def __reduce__(self) -> tuple[type[SingularInertiaError], tuple[str, str, str]]:
        return type(self), (str(self), self.body, self.joint)


class InconsistentSpeedsError(StateError):
    """Speeds that violate the constraints.

    Parameters
    ----------
    message : str
        Which constraint, by how much, and what to do.
    projected : array, optional
        The nearest speeds that satisfy them (in the norm of the kinetic energy).
    """

    def __init__(self, message: str, projected: object = None) -> None:
        super().__init__(message)
        self.projected = projected

    def __reduce__(self) -> tuple[type[InconsistentSpeedsError], tuple[str, object]]:
        return type(self), (str(self), self.projected)


class MethodError(MbkernError, ValueError):
    """An unknown method, or a method that cannot do what was asked of it."""


class IntegrationError(MbkernError, RuntimeError):
    """A simulation could not continue."""
