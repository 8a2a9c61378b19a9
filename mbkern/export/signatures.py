"""The functions of an exported library, each described once: the header and the machine code follow from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..model.model import Model
from ..operations import Argument, Operation

DOUBLE, WHOLE, INT, TEXT, VOID = "double", "int64_t", "int", "const char *", "void"
READS, WRITES, CODES = "const double *", "double *", "int64_t *"


@dataclass(frozen=True)
class Parameter:
    """An argument of a C function."""

    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind}{'' if self.kind.endswith('*') else ' '}{self.name}"


@dataclass(frozen=True)
class Function:
    """A C function.

    Attributes
    ----------
    name : str
        Without the prefix of the library.
    result : str
    parameters : sequence of Parameter
    about : str
        What it does, for the comment above it.
    """

    name: str
    result: str
    parameters: Sequence[Parameter]
    about: str

    def declaration(self, prefix: str) -> str:
        """In C.

        Examples
        --------
        >>> from mbkern.export.signatures import Function
        >>> Function("nq", "int64_t", (), "").declaration("arm")
        'int64_t arm_nq(void);'
        """
        arguments = ", ".join(map(str, self.parameters)) or "void"
        return f"{self.result}{'' if self.result.endswith('*') else ' '}{prefix}_{self.name}({arguments});"


def shape_text(argument: Argument, model: Model) -> str:
    """Its shape in words: "7", "3 x 6", "k x 7"."""
    sizes = argument.shape_for(model)
    return " x ".join("k" if size < 0 else str(size) for size in sizes)


def describe(arguments: Sequence[Argument], model: Model, rows: str = "") -> str:
    """A line for each argument."""
    width = max(len(argument.name) for argument in arguments)
    return "\n".join(f"  {argument.name:<{width}}  {rows}{shape_text(argument, model)}"
                     f"{', may be NULL' if argument.optional else ''}: {argument.about}" for argument in arguments)


def of_operation(operation: Operation, name: str, model: Model) -> Function:
    """For one state."""
    arguments = (*operation.inputs, *operation.results)
    several = [Parameter(WHOLE, "k")] if any("k" in argument.shape for argument in arguments) else []
    return Function(name, INT, [
        Parameter(DOUBLE, "t"), *several, *[Parameter(READS, argument.name) for argument in operation.inputs],
        *[Parameter(WRITES, argument.name) for argument in operation.results], Parameter(WRITES, "work")],
        f"{operation.about[0].upper()}{operation.about[1:]}, at time t.\n{describe(arguments, model)}")


def of_batch(operation: Operation, name: str, model: Model) -> Function:
    """For many states."""
    arguments = (*operation.inputs, *operation.results)
    return Function(f"{name}_batch", WHOLE, [
        Parameter(WHOLE, "count"), Parameter(DOUBLE, "t"),
        *[Parameter(READS, argument.name) for argument in operation.inputs],
        *[Parameter(WRITES, argument.name) for argument in operation.results],
        Parameter(CODES, "codes"), Parameter(WRITES, "work")],
        f"The same for `count` states, several side by side in the registers of the processor, at one time t: each\n"
        f"array has a row for every state. Returns how many rows have no result (these are NaN, and `codes`, one a\n"
        f"state, says why), or minus a status when nothing was done.\n{describe(arguments, model, 'count x ')}")
