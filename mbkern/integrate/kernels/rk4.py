"""The classical Runge-Kutta method of order 4 (W. Kutta 1901; Hairer, Norsett & Wanner I, table II.1.2).

    k1 = f(t, y),  k2 = f(t + h/2, y + h/2 k1),  k3 = f(t + h/2, y + h/2 k2),  k4 = f(t + h, y + h k3)
    y_new = y + h/6 (k1 + 2 k2 + 2 k3 + k4)
"""

from ...core.jit import checked
from ...core.number import get, put
from .common import at, evaluate
from .plan import K1, K2, K3, K4, N, TEMP, Y, Y_NEW


@checked
def rk4_step(plan, num, t, h, work):
    """Y_NEW from Y and its slope K1; False when f failed."""
    n = plan[N]
    y, y_new, stage = at(plan, Y), at(plan, Y_NEW), at(plan, TEMP)
    k1, k2 = at(plan, K1), at(plan, K2)
    k3, k4 = at(plan, K3), at(plan, K4)
    half = 0.5 * h
    for i in range(n):
        put(work, stage + i, get(work, y + i) + half * get(work, k1 + i))
    if not evaluate(plan, num, t + half, work, stage, k2):
        return False
    for i in range(n):
        put(work, stage + i, get(work, y + i) + half * get(work, k2 + i))
    if not evaluate(plan, num, t + half, work, stage, k3):
        return False
    for i in range(n):
        put(work, stage + i, get(work, y + i) + h * get(work, k3 + i))
    if not evaluate(plan, num, t + h, work, stage, k4):
        return False
    sixth = h / 6.0
    for i in range(n):
        middle = get(work, k2 + i) + get(work, k3 + i)
        put(work, y_new + i, get(work, y + i) + sixth * (get(work, k1 + i) + 2.0 * middle + get(work, k4 + i)))
    return True
