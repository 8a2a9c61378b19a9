"""XML as a tree whose elements know their line; nothing is ever expanded or fetched.

`xml.etree` forgets line numbers and expands entities. Here expat is used directly: a document type declaration, which
is where entities are declared, is refused before anything in it takes effect.
"""

from __future__ import annotations

import math
import os
from collections.abc import Container, Iterator
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import NoReturn
from xml.parsers import expat

from ..errors import MissingFileError, ModelError
from ..model import checks

#: Robot files nest some ten levels deep; far deeper is an attack or garbage.
DEEPEST = 200
#: Longer than any path, so it can only be XML (or garbage).
LONGEST_PATH = 4096


@dataclass(slots=True)
class Element:
    """One element: its tag, attributes, children, and where it stands."""

    tag: str
    attributes: dict[str, str]
    line: int
    source: str
    children: list[Element] = field(default_factory=list)
    content: str = ""  # the text between its tags

    @property
    def what(self) -> str:
        """Name of the element in messages, such as ``<joint name="elbow"> (line 12)``."""
        name = self.attributes.get("name")
        return f"<{self.tag}{'' if name is None else f' name={checks.show(name)}'}> (line {self.line})"

    def error(self, message: str) -> ModelError:
        """A `ModelError` that names this element and its line."""
        return ModelError(f"{self.source}{self.what}: {message}")

    def all(self, tag: str) -> Iterator[Element]:
        """Children of this tag."""
        return (child for child in self.children if child.tag == tag)

    def one(self, tag: str) -> Element | None:
        """The first child of this tag; None without one."""
        return next(self.all(tag), None)

    def walk(self, tags: Container[str] | None = None) -> Iterator[Element]:
        """This element and all below it, in the order of the file; with `tags`, only along elements of these tags."""
        stack = [self]
        while stack:
            element = stack.pop()
            if tags is None or element.tag in tags:
                yield element
                stack.extend(reversed(element.children))

    def text(self, name: str, default: str | None = None) -> str:
        """An attribute; an error if it is missing or empty and there is no default."""
        value = self.attributes.get(name, default)
        if value is None:
            raise self.error(f"attribute {name!r} is missing")
        if not value.strip():
            raise self.error(f"attribute {name!r} is empty")
        return value

    def number(self, name: str, default: float | None = None) -> float:
        """A finite number."""
        if default is not None and name not in self.attributes:
            return default
        return self._float(self.text(name).strip(), name, self.text(name))

    def numbers(self, name: str, count: int, default: tuple[float, ...] | None = None) -> tuple[float, ...]:
        """`count` finite numbers separated by blanks."""
        if default is not None and name not in self.attributes:
            return default
        text = self.text(name)
        words = text.split()
        if len(words) != count:
            raise self.error(f"attribute {name!r}: expected {count} numbers, got {checks.show(text)}")
        return tuple(self._float(word, name, text) for word in words)

    def _float(self, word: str, name: str, text: str) -> float:
        try:
            value = float(word) if "_" not in word else math.nan  # Python would read 1_0 as ten
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise self.error(f"attribute {name!r}: expected a finite number, got {checks.show(text)}")
        return value


def read(path_or_xml: str | bytes | PathLike[str], what: str) -> tuple[bytes, str]:
    """The document, and the words that name its file in messages ("robot.urdf: "; empty for a text)."""
    if isinstance(path_or_xml, bytes):
        return path_or_xml, ""
    if isinstance(path_or_xml, str):
        opens = path_or_xml.lstrip("\ufeff \t\r\n").startswith("<")
        if opens or "\n" in path_or_xml or len(path_or_xml) > LONGEST_PATH:
            return path_or_xml.encode("utf-8", "surrogatepass"), ""
    elif not isinstance(path_or_xml, PathLike):
        raise ModelError(f"{what}: expected a path or XML text, got {checks.show(path_or_xml)}")
    path = Path(path_or_xml)
    if not os.fspath(path_or_xml):
        raise ModelError(f"{what}: expected a path or XML text, got an empty one")
    try:
        return path.read_bytes(), f"{path}: "
    except FileNotFoundError:
        raise MissingFileError(f"{what}: no file {os.fspath(path)!r}") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise ModelError(f"{what}: cannot read {os.fspath(path)!r}: {reason}") from None


def parse(document: bytes, source: str) -> Element:
    """The root element of a document; a `ModelError` with the line if it is not well-formed or declares entities."""
    parser = expat.ParserCreate()
    parser.buffer_text = True
    stack: list[Element] = []
    roots: list[Element] = []

    def start(tag: str, attributes: dict[str, str]) -> None:
        element = Element(tag, attributes, parser.CurrentLineNumber, source)
        if len(stack) >= DEEPEST:
            raise element.error(f"elements are nested more than {DEEPEST} deep")
        (stack[-1].children if stack else roots).append(element)
        stack.append(element)

    def end(_: str) -> None:
        stack.pop()

    def data(text: str) -> None:
        stack[-1].content += text

    def refuse(*_: object) -> NoReturn:
        raise ModelError(
            f"{source}line {parser.CurrentLineNumber}: a document type declaration (<!DOCTYPE ...>, entities) "
            "is not allowed in robot files; remove it"
        )

    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = data
    parser.StartDoctypeDeclHandler = refuse
    parser.EntityDeclHandler = refuse
    parser.ExternalEntityRefHandler = refuse
    try:
        parser.Parse(document, True)
    except expat.ExpatError as error:
        raise ModelError(
            f"{source}line {error.lineno}, column {error.offset}: not well-formed XML: {expat.ErrorString(error.code)}"
        ) from None
    except (LookupError, ValueError) as error:
        if isinstance(error, ModelError):
            raise
        raise ModelError(f"{source}line {parser.CurrentLineNumber}: not readable as XML: {error}") from None
    return roots[0]
