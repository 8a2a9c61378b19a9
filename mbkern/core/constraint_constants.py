"""Where the constraints of a model are in its block and in the workspace, in numbers. Explained in
:mod:`.constraint_layout`; nothing here is compiled: Python imports it plainly.
"""

# ---- head of the section of the block, at AT_CONSTRAINTS of the header ----
N_CONSTRAINTS, N_ROWS = 0, 1
A_SIZE, Z_SIZE, L_SIZE = 2, 3, 4  # numbers of all coefficients, of their half solutions, of the factor of G
AT_OBJECTS, AT_TYPES = 5, 6  # places in the block: rows of constraints, kinds of scalar rows
USER_SIZE = 7  # numbers of the workspace for rows that a user's function fills; 0: there are none
# where the parts of the workspace begin: numbers, because the sum of what is before would be made again in every loop
W_DOFS, W_NODES, W_FRAMES, W_ROWS, W_COEFFICIENTS, W_ADOT, W_Z, W_SCALED_Z = 8, 9, 10, 11, 12, 13, 14, 15
W_GRAM, W_FACTOR, W_SWEEP = 16, 17, 18
# 1 in frames of machines whose rows depend on each other on closed loops alone: they are solved with more softness
LOCKS = 19
UNEQUAL = 20  # 1: masses are so far apart that softness would hide the heavy ones behind the light ones
HEAD = 21

# ---- row of a constraint ----
FORM = 0  # one of these
GEOMETRIC, GEAR, USER = 0, 1, 2
NODE_A, PLACE_A, NODE_B, PLACE_B = 1, 2, 14, 15  # nodes (-1: the world); the frames A and B in them: 9 + 3
FIRST_ROW, N_OWN_ROWS, PUBLIC = 27, 28, 29  # its scalar rows: first and how many; where they are in results
LENGTH, TUBE, DRIVE_OF = 30, 31, 32  # a length that its rows use, or -1 and the drive that gives it; a second length
A_LIST, N_A, AT_COEFFICIENTS = 33, 34, 35  # entries of its coefficients; where its coefficients begin among all
DRIVEN_LIST, N_DRIVEN = 36, 37  # driven nodes between its two bodies
Z_LIST, N_Z, AT_Z = 38, 39, 40  # the same of its half solutions
PAIR_LIST, N_PAIRS = 41, 42  # constraints up to itself that it meets in G
COLUMN_LIST, N_COLUMNS, AT_L = 43, 44, 45  # scalar columns of the factor before its own; where its rows of it begin
BODY_A, BODY_B = 46, 47  # numbers of its bodies, -1 for the world
# of a user's rows: address of the function (zero in a model's own block); the drive whose value is the time
CALL, CLOCK = 48, 49
CONSTRAINT = 50

# ---- kinds of scalar rows: (kind, number of an axis, of another one, the constraint that it belongs to) ----
ALONG, PERPENDICULAR, DISTANCE, BLADE, CONTACT, SLIP, LINEAR, GIVEN = 0, 1, 2, 3, 4, 5, 6, 7
OWNER = 3
ROW_TYPE = 4

# ---- entries of lists ----
# of coefficients: dof, +1 (towards A) or -1 (towards B), its node; of gears: place in q, coefficients, how many
E_DOF, E_SIDE, E_NODE, E_QI, E_POLYNOMIAL, E_DEGREE = 0, 1, 2, 3, 4, 5
A_ENTRY = 6
DRIVEN_ENTRY = 2  # node, side
Z_ENTRY = 2  # dof, number among the coefficients (-1: none)
# a constraint, place of its columns in the rows of the factor, and pairs of numbers of entries for the same dof
P_OTHER, P_COLUMN, P_COMMON, P_COUNT = 0, 1, 2, 3
PAIR = 4

# ---- workspace ----
# of a node, world axes: origin, its velocity, angular velocity, twist of its prescribed motion
N_ORIGIN, N_VELOCITY, N_OMEGA, N_TWIST = 0, 3, 6, 9
NODE_PLACE = 15
# of a constraint, world axes: axes and origin of A, of B; angular velocity and velocity of A, of B
F_AXES_A, F_X_A, F_AXES_B, F_X_B = 0, 9, 12, 21
F_OMEGA_A, F_V_A, F_OMEGA_B, F_V_B = 24, 27, 30, 33
FRAMES = 36
# of a scalar row: force direction, point, moment, and their rates; value, b, db/dt; right side, sigma, pivot; a vector
# of rows while G is factored, and in its place what is left of a u + b; the sum of the sizes of what is added in
# a u + b, and in its place by how much the row can be satisfied (negative: it cannot)
R_N, R_X, R_MOMENT, R_ND, R_XD, R_MOMENT_RATE = 0, 3, 6, 9, 12, 15
R_G, R_B, R_BD, R_SIDE, R_SIGMA, R_PIVOT, R_DENSE, R_MARGIN = 18, 19, 20, 21, 22, 23, 24, 25
R_LEFT = R_DENSE
SCALAR_ROW = 26
# of a dof: y, force or velocity of a sweep, forces of a second and a third one beside it
D_Y, D_PHI, D_SECOND, D_THIRD = 0, 1, 7, 13
DOF_SWEEP = 19
