"""Operations that the kernel "emh-ldl" executes, as part of the printed EMH formula.

    python bench/flops.py

Chains of every joint of the zoo, the pipelayer, and random trees over all joints, whose joints have constant and
driven steps inside them: the formula charges nothing for those.
"""

from __future__ import annotations

from common import markdown

import mbkern as mb

JOINTS = (mb.revolute("z"), mb.prismatic("z"), mb.cylindrical("z"), mb.universal("x", "y"), mb.ball(),
          mb.euler_ball("zyx"), mb.planar("z"), mb.free())
SEEDS = range(200)


def counts(model: mb.Model) -> tuple[int, int]:
    """Executed operations of the kernel, and the formula."""
    return mb.flops.count(model, "emh-ldl").total, mb.flops.table1(model)["EMH"]


def random_trees(n: int) -> list[float]:
    """Executed / formula of random trees of n bodies."""
    found = [counts(mb.zoo.random_tree(n, seed=seed)) for seed in SEEDS]
    return [executed / formula for executed, formula in found]


if __name__ == "__main__":
    rows = []
    for joint in JOINTS:
        executed, printed = {}, {}
        for n in (2, 20):
            executed[n], printed[n] = counts(mb.zoo.chain(n, joint=joint))
        rows.append([joint.kind, joint.nv, f"{executed[2] / printed[2]:.2f}", f"{executed[20] / printed[20]:.2f}",
                     round(executed[20] / 20), round(printed[20] / 20)])
    print(markdown(["joint", "dofs", "N = 2", "N = 20", "operations per body, N = 20", "EMH formula per body, N = 20"],
                   rows))
    executed, printed = counts(mb.zoo.pipelayer())
    print(f"\nThe pipelayer: {executed / printed:.2f}.\n")
    rows = []
    for n in (2, 3, 4, 8, 20):
        ratios = random_trees(n)
        rows.append([n, f"{sum(ratios) / len(ratios):.2f}", f"{max(ratios):.2f}",
                     f"{sum(x >= 1.0 for x in ratios)} of {len(ratios)}"])
    print(markdown(["random trees, N", "mean", "largest", "above 1"], rows))
