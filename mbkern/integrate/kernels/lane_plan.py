"""Where things are in a run on lanes: each lane carries a state of its own, with its own time and step.

plan      int64: the ODE, the method, what to write, which states are still to do, where the other arrays are
num       float64: times and tolerances that all states share (places T0, T_END, H, MAX_STEP, RTOL of `.plan`)
who       int64, (rows, LANES): which state a lane carries, and its counters
lane      float64, (rows, LANES): its time, steps and errors
vectors   float64, (rows, LANES): vectors of the N unknowns one after another, joint forces, the workspace of f
scratch   float64: one state (N), its joint forces (NV), and where a user's function raised (FAULT + N)
"""

# ---- plan ----
RHS, BLOCK, OWN = 0, 1, 2  # addresses: f (see core.lanes), the block, the blocks of the lanes
METHOD, N, NQ, NV = 3, 4, 5, 6
TAU, TAU_CALL = 7, 8
OUTPUT, REDUCE_CALL = 9, 10
SLOPES = 11  # whether f at the ends of the steps is needed (for output between them)
N_STEPS = 12  # of a method with fixed steps
BUDGET = 13  # steps before a chunk returns
NEXT, END = 14, 15  # the next state to begin, and the end of the piece
DONE = 16  # states that have come to their end
FIRST = 17  # number that user functions get for the first state
AT_NUM, AT_WHO, AT_LANE, AT_VECTORS, AT_ATOL, AT_TAU, AT_SCRATCH, AT_DONE = 18, 19, 20, 21, 22, 23, 24, 25  # addresses
# addresses of functions, each compiled when a run needs it: f on all lanes, the step, the search for a first one
EVALUATE, ADVANCE, SEEK = 26, 27, 28
N_QUATERNIONS, QUATERNIONS = 29, 30  # places of the quaternions in y from here on

NO_TAU, ONE_TAU, EACH_TAU, CALL_TAU = 0, 1, 2, 3
WRITE_TIMES, REDUCE_TIMES, REDUCE_STEPS = 0, 1, 2  # OUTPUT

# ---- who ----
STATE = 0  # number of the state, -1: none
STEPS, REJECTED = 1, 2
NEW = 3  # whether the state has not yet been evaluated
FRESH = 4  # whether the vector K1 is f(t, y)
STARTED = 5  # midpoint: whether the slope of the step before is known; dopri5: whether the step may grow
NEXT_EVAL = 6
FAIL = 7  # code of the first evaluation of a step that failed
GROWN, ITERATING = 8, 9  # midpoint
SEEKING = 10  # dopri5: whether the first step is still to be found
MOVED = 11  # whether its step is accepted
WHO = 12

# ---- lane ----
TIME, STEP, WANTED, ERROR_OLD, T_NEW = 0, 1, 2, 3, 4
T_EVAL, CODES = 5, 6  # what f gets and gives
ZERO = 7
ERROR = 8
DQ, DP, SLOPE_Q, SLOPE_P, SIZE_Q, SIZE_P = 9, 10, 11, 12, 13, 14  # midpoint: changes, slopes and sizes of q and p
BEFORE = 15
D0, D1 = 16, 17  # first step
T_ASKED, T_BAD = 18, 19  # times of the last evaluation, and of the last one that failed
LANE = 20

# ---- vectors ----
Y, Y_NEW, STAGE, NEW_SLOPE, LOST = 0, 1, 2, 3, 4
K1, K2, K3, K4, K5, K6, K7 = 5, 6, 7, 8, 9, 10, 11
VECTORS = 12

# ---- the fault in scratch: of the state with the smallest number ----
FAULT_STATE, FAULT_TIME, FAULT_IN = 0, 1, 2  # number of the state plus 1 (0: none), time, function; then y
FAULT = 3
IN_TAU, IN_REDUCE = 0, 1

# ---- status of a state beside those of core.checks ----
STEP_COLLAPSED, NOT_CONVERGED, INTERRUPTED = 20, 21, 22
