"""Operations that the kernel "emh-ldl" executes, as part of the printed EMH formula.

    python bench/flops.py
"""

from __future__ import annotations

from common import markdown

import mbkern as mb

JOINTS = (mb.revolute("z"), mb.prismatic("z"), mb.cylindrical("z"), mb.universal("x", "y"), mb.ball(),
          mb.euler_ball("zyx"), mb.planar("z"), mb.free())


def counts(model: mb.Model) -> tuple[int, int]:
    """Executed operations of the kernel, and the formula."""
    return mb.flops.count(model, "emh-ldl").total, mb.flops.table1(model)["EMH"]


if __name__ == "__main__":
    rows = []
    for joint in JOINTS:
        executed, printed = {}, {}
        for n in (2, 20, 21):
            executed[n], printed[n] = counts(mb.zoo.chain(n, joint=joint))
        rows.append([joint.kind, joint.nv, f"{executed[2] / printed[2]:.2f}", f"{executed[20] / printed[20]:.2f}",
                     executed[21] - executed[20], printed[21] - printed[20]])
    print(markdown(["joint", "freedoms", "N = 2", "N = 20", "operations a body", "EMH formula a body"], rows))
    executed, printed = counts(mb.zoo.pipelayer())
    print(f"\nThe pipelayer: {executed / printed:.2f}.")
