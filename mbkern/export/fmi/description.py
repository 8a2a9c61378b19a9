"""modelDescription.xml, for FMI 2.0 and 3.0."""

from __future__ import annotations

from xml.sax.saxutils import quoteattr

from ... import __version__
from .variables import Interface, Variable

_TRUE, _FALSE = "true", "false"


def _tag(tag: str, /, **attributes: object) -> str:
    given = " ".join(f"{key}={quoteattr(str(value))}" for key, value in attributes.items() if value is not None)
    return f"<{tag} {given}/>" if given else f"<{tag}/>"


def _number(x: float | None) -> str | None:
    return None if x is None else repr(float(x))


def description(version: str, identifier: str, name: str, token: str, about: Interface, directions: bool,
                tolerance: float, steps: bool = False) -> str:
    """The XML; `steps`: whether the FMU wants to know of each step of the importer.

    Examples
    --------
    >>> from mbkern.export.fmi.description import description
    >>> from mbkern.export.fmi.variables import Interface, Variable
    >>> empty = Interface([Variable("time", "s", "independent", "time")], [], False, False, [])
    >>> description("3.0", "arm", "arm", "{1}", empty, False, 1e-8).splitlines()[1][:47]
    '<fmiModelDescription fmiVersion="3.0" modelName'
    """
    top = dict(modelName=name or identifier, generationTool=f"mbkern {__version__}", variableNamingConvention="flat")
    if version == "3.0":
        return _three(identifier, top, token, about, directions, tolerance, steps)
    return _two(identifier, top, token, about, directions, tolerance)


def _head(root: dict[str, object]) -> str:
    given = " ".join(f"{key}={quoteattr(str(value))}" for key, value in root.items())
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<fmiModelDescription {given}>'


def _three(identifier: str, top: dict[str, str], token: str, about: Interface, directions: bool, tolerance: float,
           steps: bool) -> str:
    same = dict(modelIdentifier=identifier, canGetAndSetFMUState=_TRUE, canSerializeFMUState=_TRUE,
                providesDirectionalDerivatives=_TRUE if directions else _FALSE)
    lines = [_head({"fmiVersion": "3.0", **top, "instantiationToken": token}),
             "  " + _tag("ModelExchange", **same, needsCompletedIntegratorStep=_TRUE if steps else None),
             "  " + _tag("CoSimulation", **same, canHandleVariableCommunicationStepSize=_TRUE,
                         canReturnEarlyAfterIntermediateUpdate=_FALSE),
             '  <LogCategories>\n    <Category name="logStatus"/>\n  </LogCategories>',
             "  " + _tag("DefaultExperiment", startTime="0.0", stopTime="1.0", tolerance=repr(tolerance)),
             "  <ModelVariables>"]
    for reference, variable in enumerate(about.variables):
        lines.append("    " + _tag(
            "Float64", name=variable.name, valueReference=reference, description=variable.about,
            causality=variable.causality, variability=_variability(variable), initial=_initial(variable),
            start=_number(variable.start), derivative=variable.state if variable.state >= 0 else None))
    lines += ["  </ModelVariables>", "  <ModelStructure>"]
    for tag, role in (("Output", "output"), ("ContinuousStateDerivative", "derivative")):
        lines += ["    " + _tag(tag, valueReference=k) for k in about.of(role)]
    lines += ["    " + _tag("InitialUnknown", valueReference=k) for k in (*about.of("output"), *about.of("derivative"))]
    lines += ["    " + _tag("EventIndicator", valueReference=k) for k in about.of("event")]
    return "\n".join([*lines, "  </ModelStructure>", "</fmiModelDescription>", ""])


def _two(identifier: str, top: dict[str, str], token: str, about: Interface, directions: bool, tolerance: float) -> str:
    same = dict(modelIdentifier=identifier, canNotUseMemoryManagementFunctions=_TRUE, canGetAndSetFMUstate=_TRUE,
                canSerializeFMUstate=_TRUE, providesDirectionalDerivative=_TRUE if directions else _FALSE)
    lines = [_head({"fmiVersion": "2.0", **top, "guid": token, "numberOfEventIndicators": len(about.of("event"))}),
             "  " + _tag("ModelExchange", **same),
             "  " + _tag("CoSimulation", **same, canHandleVariableCommunicationStepSize=_TRUE),
             '  <LogCategories>\n    <Category name="logStatus"/>\n  </LogCategories>',
             "  " + _tag("DefaultExperiment", startTime="0.0", stopTime="1.0", tolerance=repr(tolerance)),
             "  <ModelVariables>"]
    for reference, variable in enumerate(about.variables):
        attributes = _tag("ScalarVariable", name=variable.name, valueReference=reference, description=variable.about,
                          causality=variable.causality, variability=_variability(variable), initial=_initial(variable))
        real = _tag("Real", start=_number(variable.start),
                    derivative=variable.state + 1 if variable.state >= 0 else None)
        lines.append(f"    {attributes[:-2]}>{real}</ScalarVariable>")
    lines += ["  </ModelVariables>", "  <ModelStructure>"]
    unknown = [*about.of("output"), *about.of("derivative")]
    for tag, references in (("Outputs", about.of("output")), ("Derivatives", about.of("derivative")),
                            ("InitialUnknowns", sorted(unknown))):
        if references:
            lines += [f"    <{tag}>", *["      " + _tag("Unknown", index=k + 1) for k in references], f"    </{tag}>"]
    return "\n".join([*lines, "  </ModelStructure>", "</fmiModelDescription>", ""])


def _variability(variable: Variable) -> str:
    return "tunable" if variable.role == "parameter" else "continuous"


def _initial(variable: Variable) -> str | None:
    return {"state": "exact", "parameter": "exact", "derivative": "calculated", "output": "calculated",
            "event": "calculated"}.get(variable.role)
