"""Where things are: all that an integration needs and remembers, in three flat arrays.

plan   int64: the ODE, the method, what to write, counters
num    float64: times, tolerances, step sizes
work   float64: vectors of the N unknowns, one after another

Few arrays, because a call from Python pays for each, and a `Stepper` calls for every step.
"""

# ---- plan ----
RHS, USER, STATUS = 0, 1, 2  # addresses: f, its user pointer, a double that f sets nonzero when it fails (0: none)
METHOD, STAGES = 3, 4
N, SPLIT = 5, 6  # unknowns; how many of them are q (the first ones)
OUTPUT, SAVE_EVERY = 7, 8
DENSE = 9  # vectors to store for each step: 0 none
SLOPES = 10  # whether f at the ends of the steps is needed (for dense output)
N_STEPS = 11  # of a method with fixed steps
N_EVENTS = 12
BUDGET = 13  # steps, tried or taken, before a chunk returns
NFEV, ACCEPTED, REJECTED, ITERATIONS = 14, 15, 16, 17
ROWS, NEXT_EVAL, DENSE_ROWS, EVENT_ROWS = 18, 19, 20, 21  # what has been written
FRESH = 22  # whether the vector K1 is f(t, y)
STARTED = 23  # Gauss: whether the stages of the step before are known; dopri5: whether the step may grow
CODE = 24  # status of f where it failed
WORST = 25  # unknown with the largest error (step size collapse), or number of the event that failed
NEWTON, FACTORED = 26, 27  # Gauss: whether Newton iteration is in use, and has a matrix
Y_BAD = 28  # place in work of the state where f or an event function failed, at T_BAD
N_QUATERNIONS = 29
QUATERNIONS = 30  # places of the quaternions in y from here on

RK4, DOPRI5, GAUSS = 0, 1, 2
NOTHING, STEPS, TIMES = 0, 1, 2  # OUTPUT

# ---- num ----
T, T0, T_END = 0, 1, 2
H = 3  # the next step, with its sign
H_LAST = 4  # the last accepted step
MAX_STEP, RTOL = 5, 6
ERROR_OLD = 7  # of the last accepted step, for the PI control
T_BAD = 8  # when f or an event function failed
NUM = 9

# ---- work: number of the vector ----
Y, K1, Y_NEW = 0, 1, 2
K2, K3, K4, K5, K6, K7 = 3, 4, 5, 6, 7, 8  # Gauss: stage slopes K2, K3, K4
TEMP, LOST = 9, 10  # LOST: what rounding has cut off y so far (Gauss)
DENSE_AT = 11  # 5 vectors
ATOL = 16
VECTORS = 17

# ---- events: one row of int64 each ----
ADDRESS, DIRECTION, LEFT, SIDE = 0, 1, 2, 3  # LEFT: crossings left before it ends the run (< 0: never); SIDE: sign of g
EVENT = 4

# ---- what a chunk returns ----
MORE, FINISHED, EVENT_STOP, FAILED_RHS, FAILED_STEP, FAILED_STAGES, FAILED_EVENT, NEED_MATRIX = 0, 1, 2, 3, 4, 5, 6, 7
FAILED_TIME = 8  # t + h is t
