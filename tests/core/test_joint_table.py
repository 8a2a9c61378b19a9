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
OTHER_WORDS = {"core/rows.py": "FREE is a state of a worker", "threads.py": "FREE is a state of a worker"}
ELEMENTS = re.compile(r"isinstance\([^()]*, (?:[\w.]+ \| )*(?:Step|Ball|Free|Twist)\b")
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
    others = {name for name in OTHER_WORDS if (HERE / name).exists()}
    assert files_with(NODE_KINDS, others) - {"io/mjcf.py"} <= set(MAY_KNOW)  # mjcf: constants of MuJoCo


def test_elements_of_joints():
    assert files_with(ELEMENTS, MAY_ASK) == set()
