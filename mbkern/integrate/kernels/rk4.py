"""The classical Runge-Kutta method of order 4 (W. Kutta 1901; Hairer, Norsett & Wanner I, table II.1.2).

    k1 = f(t, y),  k2 = f(t + h/2, y + h/2 k1),  k3 = f(t + h/2, y + h/2 k2),  k4 = f(t + h, y + h k3)
    y_new = y + h/6 (k1 + 2 k2 + 2 k3 + k4)
"""

from ...core.jit import exact
from .common import at, evaluate
from .plan import K1, K2, K3, K4, N, TEMP, Y, Y_NEW
from .stages import along, rk4_end


@exact
def rk4_step(plan, num, t, h, work):
    """Y_NEW from Y and its slope K1; False when f failed."""
    n = plan[N]
    y, y_new, stage = at(plan, Y), at(plan, Y_NEW), at(plan, TEMP)
    k1, k2 = at(plan, K1), at(plan, K2)
    k3, k4 = at(plan, K3), at(plan, K4)
    half = 0.5 * h
    along(work, n, y, half, k1, stage)
    if not evaluate(plan, num, t + half, work, stage, k2):
        return False
    along(work, n, y, half, k2, stage)
    if not evaluate(plan, num, t + half, work, stage, k3):
        return False
    along(work, n, y, h, k3, stage)
    if not evaluate(plan, num, t + h, work, stage, k4):
        return False
    rk4_end(work, n, y, h, k1, k2, k3, k4, y_new)
    return True
