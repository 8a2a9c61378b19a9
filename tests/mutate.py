"""Single changes in the sources that the tests must notice.

    python tests/mutate.py --number 60 --seed 1                  a sample over all files of the table below
    python tests/mutate.py --files 'core/extended*.py' --number 40
    python tests/mutate.py --line core/joints.py:85              all changes of one line
    python tests/mutate.py ... --table out.md                    write what came out as a table

A change is a sign, a dropped term, an index or constant, two swapped arguments, a comparison, a condition. The sources
are copied to a temporary folder, the change is made there, and the tests that claim the file run until one fails. What
they do not notice is a *survivor*: it gets a test, or a reason in `REASONS` why no test could tell the difference.
A change that makes the tests run out of time counts as noticed.

The core is tested first as ordinary Python (tests/core/test_plain_kernels.py), so most changes are noticed within
seconds; only what survives that is compiled.
"""

from __future__ import annotations

import argparse
import ast
import fnmatch
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

ROOT = Path(__file__).resolve().parent.parent

# Which tests claim which file, quick ones first. The first pattern that fits counts.
_PLAIN = "tests/core/test_plain_kernels.py"
_PLAIN_QUASI = "tests/core/test_plain_formulations.py"
_PLAIN_TREES = "tests/core/test_plain_tree_formulations.py"
CLAIMS: list[tuple[str, list[str]]] = [
    ("core/layout.py", []),  # offsets: any consistent choice is right
    ("core/jit.py", ["tests/core/test_cache.py"]),
    ("core/numba_private.py", ["tests/core/test_compilers.py", "tests/core/test_cache.py"]),
    ("core/compiler/*.py", ["tests/core/compiler/test_language.py", "tests/core/test_compilers.py"]),
    ("core/quasi_sweeps.py", ["tests/core/test_plain_tree_sweeps.py", _PLAIN_TREES, "tests/analytic"]),
    ("core/quasi_tree.py", [_PLAIN_TREES, "tests/analytic"]),
    ("core/quasi*.py", [_PLAIN_QUASI, _PLAIN_TREES, "tests/analytic"]),
    ("core/dense.py", [_PLAIN_QUASI, "tests/analytic"]),
    ("core/appell.py", [_PLAIN, "tests/analytic/test_appell.py", "tests/test_accuracy.py"]),
    ("core/lanes.py", ["tests/core/test_lanes.py", "tests/batch/test_rhs_batch.py",
                       "tests/batch/test_simulate_batch.py"]),
    ("core/rows.py", ["tests/batch/test_rhs_batch.py", "tests/batch/test_slots.py"]),
    ("core/atomics.py", ["tests/batch/test_slots.py"]),
    ("core/cabi.py", ["tests/embed/test_embed_bits.py", "tests/embed/test_embed_errors.py"]),
    ("core/entry.py", ["tests/embed/test_embed_bits.py"]),
    ("workspace/builtin.py", ["tests/workspace/test_builtin.py", "tests/test_bad_input.py"]),
    ("core/checks.py", [_PLAIN, "tests/test_bad_input.py", "tests/batch/test_rhs_batch.py"]),
    ("core/drives.py", [_PLAIN, "tests/model/test_drives.py"]),
    ("core/constraint_calls.py", ["tests/constraints/test_user_rows.py"]),
    ("core/constrained_calls.py", ["tests/constraints/test_motion.py"]),
    ("core/constrain*.py", ["tests/constraints/test_unequal_masses.py", "tests/constraints/test_rows.py",
                            "tests/constraints/test_every_kind.py", "tests/fuzz/test_fuzz_constraints.py"]),
    ("core/rotor*.py", [_PLAIN, "tests/test_armature.py"]),
    ("core/number.py", [_PLAIN, "tests/core/test_numbers.py"]),
    ("core/*.py", [_PLAIN, "tests/fuzz", "tests/test_dense.py", "tests/test_bad_input.py", "tests/test_formulations.py",
                   "tests/test_armature.py"]),
    ("integrate/kernels/lane_plan.py", []),  # offsets likewise
    ("integrate/kernels/lane_*.py", ["tests/integrate/test_plain_lanes.py", "tests/batch/test_simulate_batch.py"]),
    ("integrate/kernels/*.py", ["tests/integrate/test_integrate_kernels.py", "tests/integrate/test_integrate_order.py",
                                "tests/integrate/test_integrate_runs.py",
                                "tests/integrate/test_integrate_physics.py", "tests/batch/test_simulate_batch.py"]),
    *((f"model/{name}.py", [_PLAIN, "tests/model", "tests/fuzz", "tests/test_dense.py"])
      for name in ("ancestry", "axes", "elements", "lowering", "placing")),
    ("model/frames.py", [_PLAIN, "tests/model", "tests/fuzz", "tests/test_dense.py", "tests/batch/test_vary.py"]),
    ("analytic/*.py", ["tests/analytic"]),
    ("io/*.py", ["tests/io"]),
]
FOLDERS = ("core", "core/compiler", "integrate/kernels", "model", "analytic", "io", "workspace")

# Survivors that no test can notice, by file and the words of the line: the reason.
REASONS: dict[tuple[str, str], str] = {
    ("analytic/frame.py", "> 1e-15 * np.abs(M)"): "any bound between rounding and coupling tells the two apart",
    ("analytic/frame.py", "C.AT_F: 2 * m + r"): "room: at most 2 m numbers are used where constraints are independent",
    ("analytic/ignorable.py", "dL/dq = {rate"): "words of a message",
    ("analytic/structure.py", "> 1e-12"): "no angle is the bound itself",
    ("analytic/faults.py", "np.nan_to_num("): "finite speeds to try a function at; which ones does not matter",
    ("analytic/trajectory.py", "way * times < way * segment.t_end"): "the next segment writes the same time again",
    ("integrate/kernels/lane_steps.py", "lane[STEP, k] = h * 0.1"): "any part will do",
    ("integrate/kernels/lane_steps.py", "who[GROWN, k] > 3"): "how often changes may grow before it gives up: any few",
    ("integrate/kernels/lane_steps.py", "if who[STARTED, k] == 0:"): "where an iteration begins; its end is the same",
    ("integrate/kernels/lane_steps.py", "left = 1"): "whether, not how many",
    ("integrate/kernels/lane_run.py", "wanted += stale"): "whether, not how many",
    ("core/quasi_ignored.py", "ROUNDING = 2.0**-43"): "any bound between rounding and a force tells the two apart",
    ("core/quasi_ignored.py", "QUOTIENT_STEP = 2.0**-17"): "any short step",
    ("core/dense.py", "sign, smallest = 1.0, 1.0"): "the first pivot is 1, in units of its row",
    ("core/quasi_layout.py", "BEGINS = 2.0"): "any number that is no sign",
    ("core/quasi_linear.py", "for _ in range(2 if r > 0 else 0)"): "a third time changes no digit",
    ("core/quasi_sweeps.py", "driven = whole(block, N_DRIVES) > 0"): "without drives there is nothing to evaluate",
    ("core/quasi_sweeps.py", "if m != 0.0 or J[0] + J[3]"): "the momentum of nothing is zero: the look saves work",
    ("core/quasi_tree.py", "I_QUATERNION) >= 0:"): "a free joint has three coordinates before its quaternion",
    ("core/quasi_rows.py", "return first, (1.0, 0.0, 0.0), 1"): "of one number there are no other weights",
    ("core/quasi_ignored.py", "abs(x) > ROUNDING *"): "nothing is the bound itself",
    ("core/quasi_ignored.py", "abs(force) > ROUNDING *"): "nothing is the bound itself",
    ("core/quasi_ignored.py", "if at < 0:"): "a free joint has three coordinates before its quaternion",
    ("core/constraint_rows.py", "row + DRIVE_OF) >= 0:"): "a length without a drive has rates 0: the look saves work",
    ("core/lanes.py", "stack_words(10)"): "room for a word more",
    ("core/lanes.py", "integers_at(arguments, 10)"): "room for a word more, and results that nobody looks at",
}

def _zeros() -> set[str]:
    """Names of offsets that are 0, themselves or by another name: to add them or not is the same."""
    values: dict[str, ast.expr] = {}
    for path in [*ROOT.glob("mbkern/core/*.py"), *ROOT.glob("mbkern/integrate/kernels/*.py")]:
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.Assign):
                target, value = node.targets[0], node.value
                pairs = zip(target.elts, value.elts, strict=True) if isinstance(target, ast.Tuple) and isinstance(
                    value, ast.Tuple) else [(target, value)]
                values |= {t.id: v for t, v in pairs if isinstance(t, ast.Name)}
    zeros = {name for name, value in values.items() if isinstance(value, ast.Constant) and value.value == 0}
    return zeros | {name for name, value in values.items() if isinstance(value, ast.Name) and value.id in zeros}


ZEROS = _zeros()
SWAPPED = {"sub", "cross", "matmul", "mul", "tmul", "shift", "axpy", "fma"}
COMPARISONS = {ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "=="}


@dataclass(frozen=True)
class Change:
    """Replace the characters begin:end of a file."""

    file: str
    line: int
    begin: int
    end: int
    new: str
    what: str


class _Finder(ast.NodeVisitor):
    """All changes of one file."""

    def __init__(self, file: str, source: str) -> None:
        self.file, self.source, self.changes = file, source, list[Change]()
        self._starts = [0]
        for line in source.splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line.encode()))
        self._bytes = source.encode()

    def _span(self, node: ast.AST) -> tuple[int, int]:
        return (self._starts[node.lineno - 1] + node.col_offset,  # type: ignore[attr-defined]
                self._starts[node.end_lineno - 1] + node.end_col_offset)  # type: ignore[attr-defined]

    def _text(self, node: ast.AST) -> str:
        begin, end = self._span(node)
        return self._bytes[begin:end].decode()

    def _add(self, node: ast.AST, new: str, what: str) -> None:
        begin, end = self._span(node)
        self.changes.append(Change(self.file, node.lineno, begin, end, new, what))  # type: ignore[attr-defined]

    def visit_Expr(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Constant):  # a docstring
            self.generic_visit(node)

    def visit_Raise(self, node: ast.Raise) -> None:
        """Words of messages are not tested letter by letter."""

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Nor these."""

    def visit_Import(self, node: ast.Import) -> None: ...

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None: ...

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        for default in [*node.args.defaults, *node.args.kw_defaults]:
            if default is not None:
                self.visit(default)
        for statement in node.body:
            self.visit(statement)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        is_text = isinstance(node.left, ast.Constant | ast.JoinedStr | ast.List)
        is_zero = isinstance(node.right, ast.Name) and node.right.id in ZEROS
        if isinstance(node.op, ast.Add | ast.Sub) and not is_text and not is_zero:
            left, right = self._text(node.left), self._text(node.right)
            sign = "-" if isinstance(node.op, ast.Add) else "+"
            self._add(node, f"({left} {sign} ({right}))", f"{'+' if sign == '-' else '-'} becomes {sign}")
            self._add(node, f"({left})", f"without {right}")
        elif isinstance(node.op, ast.Div):
            self._add(node, f"({self._text(node.left)} * ({self._text(node.right)}))", "/ becomes *")
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        if isinstance(node.op, ast.USub) and not isinstance(node.operand, ast.Constant):
            self._add(node, f"({self._text(node.operand)})", "without the minus")
        elif isinstance(node.op, ast.Not):
            self._add(node, f"({self._text(node.operand)})", "without not")
        self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> None:
        if len(node.ops) == 1 and type(node.ops[0]) in COMPARISONS:
            new = COMPARISONS[type(node.ops[0])]
            self._add(node, f"{self._text(node.left)} {new} {self._text(node.comparators[0])}", f"becomes {new}")
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        word = " or " if isinstance(node.op, ast.And) else " and "
        parts = [f"({self._text(value)})" for value in node.values]
        self._add(node, f"({word.join(parts)})", f"becomes {word.strip()}")
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        value = node.value
        if isinstance(value, bool) or not isinstance(value, int | float):
            return
        if isinstance(value, int):
            self._add(node, str(value + 1), f"{value} becomes {value + 1}")
        elif value == 0.0:
            self._add(node, "1.0", "0.0 becomes 1.0")
        else:
            new = value * (1e3 if abs(value) < 1e-3 else 1.25)
            self._add(node, repr(new), f"{value!r} becomes {new!r}")

    def visit_Call(self, node: ast.Call) -> None:
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if name in SWAPPED and len(node.args) >= 2 and not (name == "fma" or name == "axpy"):
            first, second = node.args[0], node.args[1]
            rest = [self._text(a) for a in node.args[2:]]
            self._add(node, f"{name}({', '.join([self._text(second), self._text(first), *rest])})", "arguments swapped")
        if name == "add" and len(node.args) == 2:
            self._add(node, self._text(node.args[0]), f"without {self._text(node.args[1])}")
        if name in ("fma", "axpy") and len(node.args) == 3:
            self._add(node, f"({self._text(node.args[2])})", "without the product")
        self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        if isinstance(node.op, ast.Add | ast.Sub):
            sign = "-=" if isinstance(node.op, ast.Add) else "+="
            self._add(node, f"{self._text(node.target)} {sign} {self._text(node.value)}", f"becomes {sign}")
        self.generic_visit(node)


def changes_of(file: str) -> list[Change]:
    """All changes of a file below mbkern/."""
    source = (ROOT / "mbkern" / file).read_text()
    finder = _Finder(file, source)
    finder.visit(ast.parse(source))
    return finder.changes


def files(patterns: list[str]) -> Iterator[str]:
    """The files that are changed, those that fit one of the patterns if there are any."""
    for folder in FOLDERS:
        for path in sorted((ROOT / "mbkern" / folder).glob("*.py")):
            name = path.relative_to(ROOT / "mbkern").as_posix()
            if claims(name) and (not patterns or any(fnmatch.fnmatch(name, pattern) for pattern in patterns)):
                yield name


def claims(file: str) -> list[str]:
    """The tests that claim a file, as far as they exist."""
    for pattern, tests in CLAIMS:
        if fnmatch.fnmatch(file, pattern):
            return [test for test in tests if (ROOT / test).exists()]
    return []


def sample(patterns: list[str], number: int, seed: int) -> list[Change]:
    """Changes at random, as many from small files as from large ones as far as they go."""
    rng = random.Random(seed)
    piles = [changes_of(file) for file in files(patterns)]
    for pile in piles:
        rng.shuffle(pile)
    rng.shuffle(piles)
    chosen: list[Change] = []
    while len(chosen) < number and any(piles):
        chosen += [pile.pop() for pile in piles if pile]
    return chosen[:number]


def copied(place: Path) -> Path:
    """A copy of the package and its tests that may be changed."""
    for name in ("mbkern", "tests", "pyproject.toml", "README.md", "notebooks", "bench"):
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, place / name, ignore=shutil.ignore_patterns("__pycache__", "*.nb?"))
        elif source.exists():
            shutil.copy(source, place / name)
    return place


def noticed_by(change: Change | None, tests: list[str], place: Path, limit: float) -> str:
    """The test file that fails, "" if none does."""
    file = place / "mbkern" / change.file if change else None
    if change and file:
        original = file.read_bytes()
        file.write_bytes(original[:change.begin] + change.new.encode() + original[change.end:])
    try:
        for test in tests:
            command = [sys.executable, "-m", "pytest", "-n", "0", "-x", "-q", "-p", "no:cacheprovider", test]
            environment = {**os.environ, "PYTHONPATH": str(place), "PYTHONDONTWRITEBYTECODE": "1"}
            environment.pop("NUMBA_CACHE_DIR", None)
            try:
                done = subprocess.run(command, cwd=place, env=environment, capture_output=True, timeout=limit)
            except subprocess.TimeoutExpired:
                return f"{test} (time)"
            if done.returncode not in (0, 5):
                return test
        return ""
    finally:
        if change and file:
            file.write_bytes(original)


def reason(change: Change) -> str:
    """Why no test can notice a change, "" if there is none on record."""
    line = (ROOT / "mbkern" / change.file).read_text().splitlines()[change.line - 1]
    return next((why for (file, words), why in REASONS.items() if file == change.file and words in line), "")


def run(chosen: list[Change], jobs: int, limit: float, tests: list[str]) -> list[tuple[Change, str]]:
    """What noticed each change; `tests`: these instead of those that claim the file."""
    places: SimpleQueue[Path] = SimpleQueue()
    with tempfile.TemporaryDirectory() as folder:
        for k in range(jobs):
            (Path(folder) / str(k)).mkdir()
            places.put(copied(Path(folder) / str(k)))

        def one(change: Change) -> tuple[Change, str]:
            place, begin = places.get(), time.monotonic()
            try:
                by = noticed_by(change, tests or claims(change.file), place, limit)
            finally:
                places.put(place)
            verdict = f"noticed by {by}" if by else "SURVIVED"
            seconds = time.monotonic() - begin
            print(f"{verdict:60} {change.file}:{change.line} {change.what}   ({seconds:.0f} s)", flush=True)
            return change, by

        with ThreadPoolExecutor(jobs) as pool:
            return list(pool.map(one, chosen))


def table(results: list[tuple[Change, str]]) -> str:
    """Markdown: changes and survivors of each file, then the survivors."""
    lines = ["| file | changes | noticed | survivors |", "|---|---|---|---|"]
    for file in sorted({change.file for change, _ in results}):
        mine = [by for change, by in results if change.file == file]
        lines.append(f"| {file} | {len(mine)} | {sum(map(bool, mine))} | {mine.count('')} |")
    total = [by for _, by in results]
    lines.append(f"| **all** | {len(total)} | {sum(map(bool, total))} | {total.count('')} |")
    for change, by in results:
        if not by:
            lines.append(f"\n- `{change.file}:{change.line}` {change.what}: {reason(change) or 'no test yet'}")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--number", type=int, default=60, help="how many changes")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--files", nargs="*", default=[], help="patterns below mbkern/")
    parser.add_argument("--line", help="FILE:LINE, all changes of this line")
    parser.add_argument("--tests", nargs="*", default=[], help="run these instead of those that claim a file")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--limit", type=float, default=600.0, help="seconds that a file of tests may take")
    parser.add_argument("--list", action="store_true", help="only print the changes")
    parser.add_argument("--table", help="file for the table")
    options = parser.parse_args()
    if options.line:
        file, _, line = options.line.rpartition(":")
        chosen = [change for change in changes_of(file) if change.line == int(line)]
    else:
        chosen = sample(options.files, options.number, options.seed)
    if options.list:
        for change in chosen:
            print(f"{change.file}:{change.line} {change.what}")
        return 0
    results = run(chosen, options.jobs, options.limit, options.tests)
    print(table(results))
    if options.table:
        Path(options.table).write_text(table(results) + "\n")
    return int(any(not by and not reason(change) for change, by in results))


if __name__ == "__main__":
    sys.exit(main())
