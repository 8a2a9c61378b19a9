"""In which order the constraints are eliminated from G = a Mass^-1 a^T, and what fills in: minimum degree.

Two constraints meet in G where they have dofs in common on the way to the root. To eliminate one couples all that it
still meets; the one that meets the fewest is next. Many small loops beside or behind each other then cost O(N).
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence


def meetings(dofs: Sequence[Sequence[int]]) -> list[set[int]]:
    """For each constraint the others that have a dof in common with it."""
    users: dict[int, list[int]] = {}
    for c, own in enumerate(dofs):
        for j in own:
            users.setdefault(j, []).append(c)
    meets: list[set[int]] = [set() for _ in dofs]
    for group in {tuple(group) for group in users.values()}:
        for c in group:
            meets[c].update(group)
    for c, others in enumerate(meets):
        others.discard(c)
    return meets


def order(meets: Sequence[set[int]], sizes: Sequence[int]) -> tuple[list[int], list[list[int]]]:
    """Numbers of the constraints in the order of elimination, and for each constraint what is eliminated before it and
    couples with it, fill included, in that order.

    Examples
    --------
    >>> from mbkern.model.constraint_order import order
    >>> order([{1, 2, 3}, {0}, {0}, {0}], [1, 1, 1, 1])  # the one that meets all comes last
    ([1, 2, 0, 3], [[1, 2], [], [], [0]])
    """
    left = [set(others) for others in meets]
    rows: list[list[int]] = [[] for _ in meets]
    done: list[bool] = [False] * len(left)

    def degree(c: int) -> int:
        return sum(sizes[d] for d in left[c])

    queue = [(degree(c), c) for c in range(len(left))]
    heapq.heapify(queue)
    sequence: list[int] = []
    while queue:
        count, c = heapq.heappop(queue)
        if done[c] or count != degree(c):
            continue
        done[c] = True
        sequence.append(c)
        for d in left[c]:
            rows[d].append(c)
            left[d].update(left[c])
            left[d].discard(c)
            left[d].discard(d)
        for d in left[c]:
            heapq.heappush(queue, (degree(d), d))
    return sequence, rows
