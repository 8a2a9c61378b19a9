"""The functions of an exported library, each described once: the header and the machine code follow from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from ..model.model import Model
from ..operations import Argument, Operation

DOUBLE, WHOLE, INT, TEXT, VOID = "double", "int64_t", "int", "const char *", "void"
READS, WRITES, CODES = "const double *", "double *", "int64_t *"


@dataclass(frozen=True)
class Parameter:
    """An argument of a C function.

    Attributes
    ----------
    kind, name : str
    size : str
        Of an array: how many numbers it has, in C, "7" or "count * 7"; "" where that is not known.
    """

    kind: str
    name: str
    size: str = ""

    def __str__(self) -> str:
        return f"{self.kind}{'' if self.kind.endswith('*') else ' '}{self.name}"


WORK = Parameter(WRITES, "work", "@WORK@")  # its size is known when all is put together


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

    def checked(self, prefix: str) -> str:
        """The same behind a look at the sizes of arrays, as far as the compiler knows them; "" where there are none.

        Examples
        --------
        >>> from mbkern.export.signatures import WRITES, VOID, Function, Parameter
        >>> print(Function("neutral", VOID, [Parameter(WRITES, "q", "7")], "").checked("arm"))
        static inline void arm_neutral_checked_(double *q, size_t q_bytes) {
            arm_room_(q_bytes, 7, "arm_neutral", "q");
            arm_neutral(q);
        }
        #define arm_neutral(q) \\
            arm_neutral_checked_(q, ARM_BYTES_(q))
        """
        arrays = [parameter for parameter in self.parameters if parameter.size]
        if not arrays:
            return ""
        name, names = f"{prefix}_{self.name}", [parameter.name for parameter in self.parameters]
        given = ", ".join([*map(str, self.parameters), *[f"size_t {array.name}_bytes" for array in arrays]])
        looks = "".join(f'    {prefix}_room_({array.name}_bytes, {array.size}, "{name}", "{array.name}");\n'
                        for array in arrays)
        passed = ", ".join([*names, *[f"{prefix.upper()}_BYTES_({array.name})" for array in arrays]])
        return (f"static inline {self.result} {name}_checked_({given}) {{\n{looks}"
                f"    {'' if self.result == VOID else 'return '}{name}({', '.join(names)});\n}}\n"
                f"#define {name}({', '.join(names)}) \\\n    {name}_checked_({passed})")


def shape_text(argument: Argument, model: Model, rows: str = "") -> str:
    """Its shape in words: "7", "3 x 6", "k x 7"; of a batch, with `rows`, "count x 7", one vector in the place of k."""
    sizes = argument.shape_for(model)
    shown = ["k" if size < 0 else str(size) for size in sizes]
    return " x ".join([rows, *[size for size in shown if size != "k"]] if rows else shown)


def describe(arguments: Sequence[Argument], model: Model, rows: str = "") -> str:
    """A line for each argument."""
    width = max(len(argument.name) for argument in arguments)
    return "\n".join(f"  {argument.name:<{width}}  {shape_text(argument, model, rows)}"
                     f"{', may be NULL' if argument.optional else ''}: {argument.about}" for argument in arguments)


def _array(kind: str, argument: Argument, model: Model, rows: str = "") -> Parameter:
    numbers = str(prod(argument.shape_for(model, 1)))
    count = rows or ("k" if "k" in argument.shape else "")
    return Parameter(kind, argument.name, f"{count} * {numbers}" if count else numbers)


def of_operation(operation: Operation, name: str, model: Model) -> Function:
    """For one state."""
    arguments = (*operation.inputs, *operation.results)
    several = [Parameter(WHOLE, "k")] if any("k" in argument.shape for argument in arguments) else []
    return Function(name, INT, [
        Parameter(DOUBLE, "t"), *several, *[_array(READS, argument, model) for argument in operation.inputs],
        *[_array(WRITES, argument, model) for argument in operation.results], WORK],
        f"{operation.about[0].upper()}{operation.about[1:]}, at time t.\n{describe(arguments, model)}")


def of_batch(operation: Operation, name: str, model: Model) -> Function:
    """For many states."""
    arguments = (*operation.inputs, *operation.results)
    return Function(f"{name}_batch", WHOLE, [
        Parameter(WHOLE, "count"), Parameter(DOUBLE, "t"),
        *[_array(READS, argument, model, "count") for argument in operation.inputs],
        *[_array(WRITES, argument, model, "count") for argument in operation.results],
        Parameter(CODES, "codes", "count"), WORK],
        f"The same for `count` states, several side by side in the registers of the processor, at one time t: each\n"
        f"array has a row for every state. Returns how many rows have no result (these are NaN, and `codes`, one a\n"
        f"state, says why), or minus a status when nothing was done.\n{describe(arguments, model, 'count')}")
