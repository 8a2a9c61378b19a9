"""The frame of a formulation: where the compiled code of :mod:`.quasi` finds all it needs and leaves what it makes.

One array of float64 numbers: header | tables | block and workspace of the tree | matrices. Symbols: see :mod:`.quasi`.
"""

from .jit import exact
from .number import array_at, whole

# codes beside those of `checks`
SINGULAR_S, SINGULAR_MASS, SINGULAR_TREE, CROSSED_S, FORCE_ACTS, CONSTRAINT_ACTS, LAGRANGIAN_ACTS = range(20, 27)
DENSE_S = -1  # no code to report: S is not triangular
LAGRANGE, MAGGI, KANE, VOLTERRA = 0, 1, 2, 3

# ---- header ----
QUASI_STATUS, QUASI_SIZE, METHOD = 0, 1, 2  # STATUS: code of the last call
NQ, NV, NU, R, S = 3, 4, 5, 6, 7  # numbers of q, speeds, quasi-velocities, constraints, ignorable speeds
SELF = 8  # address of the frame
HAS_WORK = 9  # whether the last number of the state is the integral of Q^T v
# addresses of functions void (double t, const double *q, const double *v, double *out, void *frame), 0 for none
MASS_CALL, BIAS_CALL, CONSTRAINT_CALL, QUASI_CALL, FORCE_CALL, RATES_CALL = 10, 11, 12, 13, 14, 15
CONSTRAINT_RATE_CALL, QUASI_RATE_CALL = 16, 17  # functions that find a, b or Y, Z in place and fill the rates, or 0
RHEONOMIC = 18  # whether prescribed motion adds N to the momenta
OWN_DYNAMICS = 19  # whether M and h are functions of the user
SELECTED = 20  # whether the quasi-velocities are speeds
BY_NAME = 21  # whether the quasi-velocities are those of AT_ROWS
N_SINGLE = 22  # how many rows of Y have a single number
DIAGONAL = 23  # whether M_II is diagonal in every configuration: slides across each other, linear speeds of free joints
TRIANGULAR = 24  # whether S is triangular (`quasi_triangular`); IN_PLACE: and ignorable speeds come first
IN_PLACE = 2
RAILS = 25  # of a tree, see `quasi_sweeps`
THRESHOLD, RCOND = 26, 27  # smallest 1/cond of S that is accepted; that of the last call
WATCHED, SIGN = 28, 29  # sign of det S that a run must keep, 0: no matter, BEGINS: not known yet; that of the last call
BEGINS = 2.0
NOW_TRIANGULAR = 30  # whether S was triangular in this evaluation
ACTED_ON, ACTED_BY, ACTED = 31, 32, 33  # what acts along an ignored coordinate: which one, which constraint, how much

# ---- where tables and matrices begin ----
AT_BLOCK, AT_TREE, AT_AXES = 34, 35, 36  # of a tree: its block, workspace and rails, see `quasi_sweeps`
AT_SPEEDS = 37  # the chosen speeds, then the dependent ones
AT_ORDER = 38  # speeds, ignorable ones first
AT_PLACES = 39  # of each speed its place among those that are not ignorable
AT_IGNORABLE, AT_MOMENTA, AT_ZERO = 40, 41, 42  # rows of IGNORABLE numbers; G; whether a row of M W vanishes
AT_ROWS = 43  # quasi-velocities by name (`quasi_tree`): rows like those of the ignorable speeds; Y is zero elsewhere
AT_PATTERN = 44  # rows of Y with a single number: (row, speed) of each; then other rows, other speeds
AT_M, AT_N, AT_H, AT_Q, AT_V = 45, 46, 47, 48, 49
AT_A, AT_Y = 50, 51  # a, b, rate_a; Y, Z, rate_Y
AT_B, AT_C, AT_W, AT_P, AT_GAMMA = 52, 53, 54, 55, 56
AT_REST = 57  # m zeros
AT_X, AT_E, AT_F = 58, 59, 60  # three workspaces
SOLVE_CALL = 61  # of a large tree: a function that solves M y = x for 1 + r right sides; 0: M is formed
AT_LINEAR = 62  # and what belongs to it, see `quasi_linear`
QUASI_HEADER = 63

# ---- a row of the table of ignorable speeds ----
# the momentum is that of one speed, or, of a free joint, of its three linear speeds along an axis of the frame before
# the joint: QUATERNION is its place in q, else -1
# BODY of a quasi-velocity: of which this is the angular velocity along the AXIS of the body, else -1
I_FIRST, I_QUATERNION, I_AXIS, I_BODY = 0, 1, 2, 3
IGNORABLE = 4


@exact
def part(frame, place, n):
    """n numbers of the frame from the place on that the header gives."""
    return array_at(whole(frame, SELF) + 8 * whole(frame, place), n)  # a slice would take long to compile


@exact
def state_sizes(frame):
    """Numbers of q, and of what follows it in the state."""
    speeds = whole(frame, NV) if whole(frame, METHOD) <= MAGGI else whole(frame, NU)
    return whole(frame, NQ), speeds + whole(frame, HAS_WORK)
