"""The rooms of the package: nobody reaches into the private parts of others, names of places have one meaning."""

import ast
import importlib
import inspect
import re
from pathlib import Path

import mbkern

HERE = Path(mbkern.__file__).parent
# of named tuples and of ctypes, documented by Python
PUBLIC = {"_asdict", "_fields", "_replace", "_type_"}


def parsed(folder):
    return {path: ast.parse(path.read_text(encoding="utf-8")) for path in sorted((HERE / folder).rglob("*.py"))}


def own_names(tree):
    """Names of functions and attributes that a file makes itself."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.target.id


def test_private_names_stay_in_their_folder():
    """What begins with an underscore is used in the folder where it is made, and nowhere else."""
    with_numba = "numba_private.py", "backend.py", "entry.py"
    trees = {path: tree for path, tree in parsed(".").items() if path.name not in with_numba}
    made = {}
    for path, tree in trees.items():
        made.setdefault(path.parent, set()).update(own_names(tree))
    made[HERE] -= {name for path, tree in trees.items() if path.parent == HERE and path.name.startswith("system")
                   for name in own_names(tree)}  # those of a System belong to its own files alone
    found = [f"{path.relative_to(HERE)}:{node.lineno} {ast.unparse(node)}"
             for path, tree in trees.items() for node in ast.walk(tree)
             if isinstance(node, ast.Attribute) and re.match("_[a-z]", node.attr) and node.attr not in PUBLIC
             and not (isinstance(node.value, ast.Name) and node.value.id in ("self", "cls"))
             and node.attr not in made[path.parent] and node.attr not in set(own_names(tree))]
    assert found == []


def constants(tree):
    """(name, value) of the numbers that a module gives names in capitals."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            target, value = node.targets[0], node.value
            pairs = zip(target.elts, value.elts, strict=True) if (
                isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple)) else [(target, value)]
            yield from ((name.id, ast.unparse(number)) for name, number in pairs
                        if isinstance(name, ast.Name) and name.id.isupper() and not name.id.startswith("_"))


def test_names_of_places_have_one_value_in_the_core():
    """Blocks and workspaces are read by offsets: a name that is another number elsewhere reads something else."""
    found = {}
    for path, tree in parsed("core").items():
        if path.name.startswith("numba_"):  # two ways to the same names
            continue
        for name, value in constants(tree):
            found.setdefault(name, {}).setdefault(value, []).append(path.name)
    assert len(found) > 300
    assert {name: places for name, places in found.items() if len(places) > 1} == {}


def test_the_model_knows_nothing_of_those_who_use_it():
    """`model` is below `inputs`, `system` and all that is built on them."""
    above = "(?:inputs|system|integrate|batch|embed|methods)"
    imports = re.compile(rf"^(?:from \.\.{above}\b|from \.\. import .*\b{above}\b)", re.MULTILINE)
    assert [path.name for path in (HERE / "model").glob("*.py") if imports.search(path.read_text())] == []


def test_private_parts_of_numba_are_in_one_file():
    """Of `numba.core` and its like nobody else imports anything but events of the compiler, which Numba documents."""
    private = re.compile(r"^\s*(?:from|import) numba\.(?!extending\b)|^\s*from numba import .*\b(?:_\w+|core)\b",
                         re.MULTILINE)
    found = {path.relative_to(HERE).as_posix(): private.findall(path.read_text()) for path in HERE.rglob("*.py")}
    assert {name for name, lines in found.items() if lines} == {"core/numba_internals.py", "core/numba_public.py"}
    public = HERE / "core" / "numba_public.py"
    assert "from numba.core import event\n" in public.read_text() and len(found["core/numba_public.py"]) == 1


def public_functions():
    """(name, function) of all functions and methods that users call by the names of `mbkern`."""
    things = [(name, getattr(mbkern, name)) for name in mbkern.__all__]
    things += [(f"{room}.{name}", getattr(module, name)) for room, module in things if inspect.ismodule(module)
               for name in getattr(module, "__all__", ())]
    for name, thing in things:
        if inspect.isclass(thing):
            for member, f in inspect.getmembers(thing):
                if member == "__init__" or not member.startswith("_"):
                    yield f"{name}.{member}", f.fget if isinstance(f, property) else f
        else:
            yield name, thing


# types of other packages that need not be installed, files of any shape, and what is made by functions of mbkern alone
MAY_SAY_ANY = re.compile(r"(?:to_dict|from_dict|add_plain|Solution\.__init__|Case\.__init__|ctypes|ctypes_tau"
                         r"|casadi|cffi_pointers|JaxFunctions\.\w+|TorchFunctions\.\w+|ensemble\.run|SelectionMap\.plot"
                         r"|selection_figure|sweeps\.check|viz\.viewer|BatchSolution\.viewer)$")


def test_public_signatures_are_typed():
    """A type that says "anything" tells neither reader nor editor what belongs there."""
    found, seen = [], 0
    for name, function in public_functions():
        if not inspect.isfunction(function) or not function.__module__.startswith("mbkern") or MAY_SAY_ANY.search(name):
            continue
        signature, seen = inspect.signature(function), seen + 1
        kinds = {p.name: p.annotation for p in signature.parameters.values() if not p.name.startswith(("_", "self"))}
        kinds["return"] = signature.return_annotation
        found += [f"{name}: {part}" for part, kind in kinds.items()
                  if kind is inspect.Parameter.empty or re.fullmatch(r"Any|tuple\[Any, Any\]", str(kind))]
    assert seen > 200 and found == []


def test_lists_of_test_files_name_files():
    """Of the quick set, and of the order in which tests are shared out."""
    tests = Path(__file__).parent
    named = [*importlib.import_module("longest_first").LONGEST]
    named += [f"tests/{name}" for name in re.findall(r'"([\w/]+\.py)"', (tests / "conftest.py").read_text())]
    assert len(named) > 40
    assert not [name for name in named if not (tests.parent / name.partition("::")[0]).exists()]
