"""Which local variables of a function need memory.

Most variables are names of values: assigned, then read further down in the same block. Memory is for those of which a
reader cannot know at compile time which assignment it meets. A block is the body of a branch or of a loop; its path are
the blocks around it. A read at path q is met by the last assignment before it whose path is a prefix of q, but

- where there is none, or another one lies between the two, in a block that q is not in;
- where a loop around the read, but not around that assignment, assigns the variable anywhere.

(LLVM makes values of memory again where it can; this only leaves out what is certain, nine in ten.)
"""

import ast
from dataclasses import dataclass, field


@dataclass
class _Uses:
    """Of one variable, in the order of the text: places of its assignments and of its reads, as (order, path)."""

    assigned: list = field(default_factory=list)
    read: list = field(default_factory=list)


class _Scan(ast.NodeVisitor):
    def __init__(self):
        self.uses, self.path, self.order, self.blocks, self.loops = {}, (), 0, 0, set()

    def visit_Name(self, node):
        self.order += 1
        uses = self.uses.setdefault(node.id, _Uses())
        (uses.assigned if isinstance(node.ctx, ast.Store) else uses.read).append((self.order, self.path))

    def visit_Assign(self, node):  # the value comes before the names
        self.visit(node.value)
        for target in node.targets:
            self.visit(target)

    def visit_AugAssign(self, node):
        self.visit(node.value)
        if isinstance(node.target, ast.Name):
            self.visit(ast.Name(node.target.id, ast.Load()))
        self.visit(node.target)

    def _block(self, statements, loop=False, first=()):
        self.blocks += 1
        outer, self.path = self.path, (*self.path, self.blocks)
        if loop:
            self.loops.add(self.path)
        for node in (*first, *statements):
            self.visit(node)
        self.path = outer

    def visit_If(self, node):
        self.visit(node.test)
        self._block(node.body)
        self._block(node.orelse)

    def visit_For(self, node):
        self.visit(node.iter)
        self._block(node.body, True, [node.target])
        self._block(node.orelse)

    def visit_While(self, node):
        self._block(node.body, True, [node.test])
        self._block(node.orelse)


def _is_prefix(path, of):
    return of[:len(path)] == path


def _needs_memory(uses, loops):
    for order, path in uses.read:
        before = [(at, p) for at, p in uses.assigned if at < order]
        met = [(at, p) for at, p in before if _is_prefix(p, path)]
        if not met:
            return True
        at, of = met[-1]
        if any(other > at and not _is_prefix(p, path) for other, p in before):
            return True
        around = [path[:k] for k in range(len(of) + 1, len(path) + 1) if path[:k] in loops]
        if any(_is_prefix(loop, p) for loop in around for _, p in uses.assigned):
            return True
    return False


def variables_of(tree):
    """(names of all local variables, those that need memory) of a function definition."""
    scan = _Scan()
    arguments = [*tree.args.args, *([tree.args.vararg] if tree.args.vararg else [])]
    for argument in arguments:
        scan.visit(ast.Name(argument.arg, ast.Store()))
    for statement in tree.body:
        scan.visit(statement)
    local = {name: uses for name, uses in scan.uses.items() if uses.assigned}
    return set(local), {name for name, uses in local.items() if _needs_memory(uses, scan.loops)}
