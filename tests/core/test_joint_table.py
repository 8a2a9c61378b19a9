"""Kinds of joints are known in few places: a new kind of joint must not send its author through the package."""

import re
from pathlib import Path

import mbkern

HERE = Path(mbkern.__file__).parent
NODE_KINDS = re.compile(r"\b(?:DRIVEN_)?(?:REVOLUTE|PRISMATIC|SCREW|BALL|FREE)\b")
MAY_KNOW = {
    "core/constants.py": "defines them",
    "core/joints.py": "the contract of a node, on which all sweeps are written",
    "core/extended.py": "the hot path: one straight piece of code a kind",
    "model/frames.py": "where frames lie so that the hot path is short",
    "model/joint.py": "the description of each element names its kind of node",
}
ELEMENTS = re.compile(r"isinstance\([^()]*, (?:[\w.]+ \| )*(?:Step|Ball|Free|Twist)\b")
DOFS_AS_KINDS = re.compile(r"\b(?:count|dofs|dofs\([^()]*\)|L\.DOFS\]|\+ DOFS\)) ?(?:==|!=|<|>|<=|>=) ?[36]\b")
MAY_COUNT = {"core/joints.py": "the contract itself", "costs.py": "what joints of so many dofs cost"}
MAY_ASK = {"io/mjcf.py": "a reader that makes these elements itself"}


def files_with(pattern, ignore):
    """Files of the package whose code (not its comments and documentation) has the pattern."""
    found = set()
    for path in HERE.rglob("*.py"):
        name = path.relative_to(HERE).as_posix()
        code = re.sub(r'"""(?:.|\n)*?"""|#.*', "", path.read_text())
        if name not in ignore and pattern.search(code):
            found.add(name)
    return found


def test_kinds_of_nodes():
    assert files_with(NODE_KINDS, {"io/mjcf.py"}) <= set(MAY_KNOW)  # mjcf: constants of MuJoCo


def test_numbers_of_dofs_do_not_stand_for_kinds():
    """Three dofs need not be a ball: who wants to know asks for the quaternion, or whether a node moves with it."""
    assert files_with(DOFS_AS_KINDS, MAY_COUNT) == set()


def test_elements_of_joints():
    assert files_with(ELEMENTS, MAY_ASK) == set()
