"""Where things are: all that an integration needs and remembers.

plan   int64: the ODE, the method, what to write, counters, and where all other arrays are
num    float64: times, tolerances, step sizes
work   float64: vectors of the N unknowns, one after another

Compiled code knows an integration by the address of its plan: a call from Python pays for every array it passes, and a
`Stepper` calls for every step.

A run is made of legs, one after another, and may be of one. Between two legs the forces may jump: `f` is evaluated anew
where a leg begins, and no step goes beyond its end.
"""

# ---- plan ----
RHS, USER, STATUS = 0, 1, 2  # addresses: f, its user pointer, a double that f sets nonzero when it fails (0: none)
METHOD, STAGES = 3, 4
N, SPLIT = 5, 6  # unknowns; how many of them are q (the first ones)
OUTPUT, SAVE_EVERY = 7, 8
DENSE = 9  # vectors to store for each step: 0 none
SLOPES = 10  # whether f at the ends of the steps is needed (for dense output)
N_STEPS = 11  # of this leg, for a method with fixed steps
N_EVENTS = 12
NFEV, ACCEPTED, REJECTED, ITERATIONS = 13, 14, 15, 16
ROWS, NEXT_EVAL, DENSE_ROWS, EVENT_ROWS = 17, 18, 19, 20  # what has been written
FRESH = 21  # whether the vector K1 is f(t, y)
STARTED = 22  # Gauss: whether the stages of the step before are known; dopri5: whether the step may grow
CODE = 23  # status of f where it failed
WORST = 24  # unknown with the largest error (step size collapse), or number of the event that failed
NEWTON, FACTORED = 25, 26  # Gauss: whether Newton iteration is in use, and has a matrix
Y_BAD = 27  # place in work of the state where f or an event function failed, at T_BAD
LEG_ACCEPTED = 28  # steps taken when this leg began
DONE, GOAL = 29, 30  # steps of a `Stepper` that chooses its own; how many there are to be in the end
# addresses of arrays, and how many numbers or rows they have room for
AT_NUM, AT_WORK = 31, 32
AT_TIMES, N_TIMES = 33, 34  # times of the output
AT_OUT_T, AT_OUT_Y, OUT_ROOM = 35, 36, 37
AT_DENSE_T, AT_DENSE_R, DENSE_ROOM = 38, 39, 40
AT_EVENTS, AT_THETA = 41, 42
AT_EVENT_INDEX, AT_EVENT_T, AT_EVENT_Y, EVENT_ROOM = 43, 44, 45, 46
AT_MATRIX, MATRIX_SIZE, AT_PIVOTS = 47, 48, 49  # Newton's
# addresses of functions, each compiled when a run needs it: see `.steps`, `.look`, `.tangent`
STEP, LOOK, LOOK_FIRST, TANGENTS, FOLLOW = 50, 51, 52, 53, 54
FIRST_EVAL, WRITTEN = 55, 56  # what the last step has written: times from number FIRST_EVAL on; a row (-1: none)
AT_TANGENT = 57  # plan of the tangents that a run carries along, see :mod:`.tangent`
JACOBIAN, DESK = 58, 59  # addresses: of df/dy as a C function, and what it gets (0: by differences)
VARIATION = 60  # of tangents: address of df/dy times columns
FRAME = 61  # address of the frame that knows momenta, for events of a run with the state (q, u); else 0
# of models with constraints, addresses: what sets the state after a step, what shows its true momenta (0: nothing)
SETTLE, REVEAL = 62, 63
N_QUATERNIONS = 64
QUATERNIONS = 65  # places of the quaternions in y from here on

RK4, DOPRI5, GAUSS = 0, 1, 2
NOTHING, STEPS, TIMES = 0, 1, 2  # OUTPUT

# ---- num ----
T, T0, T_END = 0, 1, 2  # now, and where the run begins and ends
H = 3  # the next step, with its sign
H_LAST = 4  # the last accepted step
MAX_STEP, RTOL = 5, 6
ERROR_OLD = 7  # of the last accepted step, for the PI control
FIRST_ERROR = 1e-4  # its value before there is any, and the least that counts
T_BAD = 8  # when f or an event function failed
LEG_BEGIN, LEG_END = 9, 10
STEP_SIZE = 11  # of a `Stepper`, with its sign
T_NEW = 12  # end of the last step
THETA = 13  # part of it that counts: 1, or less where an event has ended the run
NUM = 14

# ---- work: number of the vector ----
Y, K1, Y_NEW = 0, 1, 2
K2, K3, K4, K5, K6, K7 = 3, 4, 5, 6, 7, 8  # Gauss: stage slopes K2, K3, K4
TEMP, LOST = 9, 10  # LOST: what rounding has cut off y so far (Gauss)
DENSE_AT = 11  # 5 vectors
ATOL = 16
SETTLED = 17  # the state as it is shown to others, where that is another one
VECTORS = 18

# ---- events: one row of int64 each ----
ADDRESS, DIRECTION, LEFT, SIDE = 0, 1, 2, 3  # LEFT: crossings left before it ends the run (< 0: never); SIDE: sign of g
EVENT = 4

# ---- what a chunk returns ----
MORE, FINISHED, EVENT_STOP, FAILED_RHS, FAILED_STEP, FAILED_STAGES, FAILED_EVENT, NEED_MATRIX = 0, 1, 2, 3, 4, 5, 6, 7
FAILED_TIME = 8  # t + h is t
BAD_START = 9  # the state to begin with is none (or the forces to hold); nothing has been done
FAILED_CONTROL = 10  # for Python alone: a controller gave no forces
