"""The classical Runge-Kutta method of order 4 (W. Kutta 1901; Hairer, Norsett & Wanner I, table II.1.2).

    k1 = f(t, y),  k2 = f(t + h/2, y + h/2 k1),  k3 = f(t + h/2, y + h/2 k2),  k4 = f(t + h, y + h k3)
    y_new = y + h/6 (k1 + 2 k2 + 2 k3 + k4)
"""

from ...core.jit import checked
from .common import evaluate, vector
from .plan import K1, K2, K3, K4, N, TEMP, Y, Y_NEW


@checked
def rk4_step(plan, num, t, h, work):
    """Y_NEW from Y and its slope K1; False when f failed."""
    n = plan[N]
    y, y_new, stage = vector(plan, work, Y), vector(plan, work, Y_NEW), vector(plan, work, TEMP)
    k1, k2 = vector(plan, work, K1), vector(plan, work, K2)
    k3, k4 = vector(plan, work, K3), vector(plan, work, K4)
    half = 0.5 * h
    for i in range(n):
        stage[i] = y[i] + half * k1[i]
    if not evaluate(plan, num, t + half, stage, k2):
        return False
    for i in range(n):
        stage[i] = y[i] + half * k2[i]
    if not evaluate(plan, num, t + half, stage, k3):
        return False
    for i in range(n):
        stage[i] = y[i] + h * k3[i]
    if not evaluate(plan, num, t + h, stage, k4):
        return False
    sixth = h / 6.0
    for i in range(n):
        y_new[i] = y[i] + sixth * (k1[i] + 2.0 * (k2[i] + k3[i]) + k4[i])
    return True
