"""Where things are in the model block and in the workspace, in numbers: kinds, places in a row, lengths of rows.

:mod:`.layout` explains them, and reads and writes tuples there. Nothing here is compiled: Python imports it plainly.
"""

# kinds of nodes
REVOLUTE, PRISMATIC, SCREW, BALL, FREE, DRIVEN_REVOLUTE, DRIVEN_PRISMATIC, DRIVEN_SCREW = 0, 1, 2, 3, 4, 5, 6, 7
GROUND = -1
# kinds of drives
HARMONIC, POLYNOMIAL, SPLINE, FUNCTION = 0, 1, 2, 3

# ---- header ----
# STAMP: of the sources that wrote the block. It stays in place 0 for ever: code of other sources looks for it there.
STAMP, N_NODES, N_BODIES, NQ, NV, N_DRIVES, N_QUATERNIONS, HAS_PASSIVE = 0, 1, 2, 3, 4, 5, 6, 7
AT_BODIES, AT_COORDINATES, AT_DRIVES = 8, 9, 10  # where these rows begin; node rows begin after the header
SIZE = 11  # of the whole block
GRAVITY = 13  # 3, in world axes
GROUND_MOMENT = 16  # 3, first moment (mass times centre of mass) of the bodies welded to the ground
# of a frame for C callers (zero in a model's own block): code of its last call, numbers in the frame, where loads begin
STATUS, FRAME_SIZE, AT_LOADS = 12, 19, 20
HAS_TAU, TAU_CALL, TAU_DATA = 21, 22, 23  # whether forces act; address of the function that gives them, and its data
HAS_WRENCH, WRENCH_CALL, WRENCH_DATA = 24, 25, 26
ODE_CALL = 27  # address of the right-hand side that the frame was made for
MASS_SIZE = 28  # numbers of the mass matrix along the paths to the root (DAH)
MULTIPLIERS_SIZE = 29  # numbers of the matrix of the multipliers (HZU)
PLAN = 30  # of a frame for calls from C: address of its plan (:mod:`.native`)
RHS_CALL = 30  # of a frame for C callers: address of the method's right-hand side (:mod:`.operations`)
HAS_ROTORS = 31  # whether any dof has armature
ROTORS_SIZE = 32  # numbers of the workspace that ball and free nodes with armature need
ROTOR_CALLS = 33  # 3, addresses of the functions of :mod:`.rotor_calls` (zero in a model's own block)
ONLY_HINGES = 36  # whether all nodes are hinges, see CASE, whose margins need no second look (AT_DOUBTS)
LAST_TIME = 37  # of a frame for C callers: t of its last call
# of a frame: the largest loss of its calls so far (C callers); from where on a loss is reported (0: never)
LOSS, LOSS_LIMIT = 38, 39
# of a frame for C callers whose state is (q, u) and who has functions of p: address of the operation "momenta"
MOMENTA_CALL = 39
AT_CONSTRAINTS = 40  # where the section of the constraints begins; 0: there are none (:mod:`.constraint_layout`)
# of a frame for C callers: addresses of the operations that give true momenta, and that close loops (0: they stay open)
GAUGE_CALL, CLOSE_CALL = 41, 42
ENGINE_CALLS = 43  # 3, addresses of the functions of :mod:`.constrained_engine` (zero in a model's own block)
# of a block that was prepared for HZU: where the bases of joints begin (0: nowhere, all are computed in every call)
AT_BASES = 46
# where the section of pivots that may be rounding begins: their number, then pairs of a child and such a node
# (:mod:`.bare`; 0: there is none)
AT_DOUBTS = 47
HEADER = 48

# ---- node row of the block ----
KIND, PARENT, QI, VI = 0, 1, 2, 3  # QI: place in q (driven: number of the drive); VI: place in p
PLACE_G, PLACE_RHO = 4, 13  # the node's frame in its parent's at zero amount: 9 + 3
MASS, MOMENT, INERTIA = 16, 17, 20  # of all bodies fixed in this frame: 1 + 3 + 6, about the frame's origin
SUBTREE_MASS = 26
DEPTH = 27  # dofs on the way to the root, its own not counted
# PLACE_G = Gz(turn) Gx(tilt) Gz(spin), cosine and sine of each (:mod:`.turns`); frames are turned about their own z
# axis so that the last child of a node needs no spin
TURN, TILT, SPIN = 28, 30, 32
# no child, a revolute node on another node, no rotor: needs no sums (-1: a frame that has no bodies of its own); no
# child otherwise; a last child joined BESIDE
IS_LEAF, IS_END, IS_LAST = 34, 35, 36
ROUTE = 37  # how the node is joined to its parent, one of these:
# IN_LINE: a last child without spin; SQUARE: such a one without offset, its tilt a quarter turn, on a frame that has no
# bodies of its own; BESIDE: all others
ON_GROUND, IN_LINE, SQUARE, BESIDE = 0, 1, 2, 3
ROTOR, ROTOR_INERTIA = 38, 39  # whether a dof has armature; the armature of a node with one dof
# all these in one number for hinges, that is revolute nodes without rotor: in line with offsets along two axes only or
# beside, a leaf or not; on the ground
CASE = 40
CHAINED, CHAINED_LEAF, BRANCH, BRANCH_LEAF, ROOT, OTHER = 0, 1, 2, 3, 4, 5
ALONG_X, ALONG_Z = 41, 42  # the offset of a chained node: along x of its parent, and along its own axis
HOME = 43  # where on its axis the frame would be by the description of the joint
DOFS, QUATERNION = 44, 45  # number of dofs (0: driven); place of its quaternion in q (-1: none)
PITCH = 46  # of a screw: how far it moves along its axis for a turn by one radian; 0 for all other kinds
# what rounding may have left of a pivot, as a part of the node's inertia; 0 where nothing was subtracted or rounded
TOLERANCE = 47
NODE = 48

# ---- body row of the block ----
BODY_NODE, FIRST_NODE, N_JOINT_NODES, BODY_PARENT, BODY_V, BODY_DOFS = 0, 1, 2, 3, 4, 5
BODY_G, BODY_RHO = 6, 15  # the body's frame in that of its node (ground: the world): 9 + 3
BODY_MASS, BODY_MOMENT, BODY_INERTIA = 18, 19, 22  # in body axes, about the body origin
# the multipliers of a body's joint (HZU): a row of their matrix holds first those of the parent and of the smaller
# siblings, then the body's own; SIBLING is the next smaller sibling (-1: none, or on the ground)
SIBLING, ELDERS, MULTIPLIER_ROWS = 28, 29, 30  # ELDERS: numbers in a row before the body's own
# M = L L^T about the centre of mass: 1/sqrt(m) (0 where M is singular), the centre, l10 l20 l21 1/sqrt(d), and the
# roots sqrt(m), sqrt(d) themselves
ROOT_MASS, CENTRE, ROOT_INERTIA, ROOTS = 31, 32, 35, 41
N_ROTORS = 45  # dofs of its joint that have armature
BODY = 46

# ---- bases of a body's joint (:mod:`.multipliers`), where A is constant in the body's frame ----
IS_CONSTANT, BASIS_Q, BASIS_R, BASIS_MARGINS, BASIS_Z = 0, 1, 37, 73, 79
BASIS = 115

# ---- coordinate row of the block, one per speed: force -stiffness (q - rest) - damping u ----
STIFFNESS, DAMPING, REST, SPRING_QI = 0, 1, 2, 3
# the dof before it on the way to the root (-1: none), how many there are, where its row of the mass matrix begins
BEFORE, N_BEFORE, MASS_ROW = 4, 5, 6
# inertia of its rotor, and which multiplier of its body is that of the rotor (HZU; -1: none)
ARMATURE, MULTIPLIER = 7, 8
# a *run* are dofs numbered one after the other of which each is the only one that the one before it carries: the first
# and the last one of its own run; and whose memory it uses in recursions that pass something on from dof to dof, that
# of the last one that it carries
RUN_FIRST, RUN_LAST, SHARED_PLACE = 9, 10, 11
COORDINATE = 12

# ---- drive row of the block: kind, and six numbers that the kind explains ----
DRIVE_KIND, DRIVE_DATA = 0, 1
DRIVE = 7

# ---- node row of the workspace ----
W_P, W_Q, W_R = 0, 6, 15  # M*, the articulated inertia: 6 + 9 + 6
W_PHI = 21  # phi: 6
W_G = 27  # the frame in its parent: 9 + 3
W_ELIM = 39  # what the elimination of the joint leaves for the forward sweep: 9
W_TURN = 46  # cosine and sine of the turn about z of a node with one dof or none, which need less of W_ELIM
W_V = 48  # velocity: 6
W_MOMENT = 54  # first moment of the subtree: 3
W_GRAVITY = 57  # gravity in the axes of the frame: 3
WORK = 60
# of accelerations: the drift wr in place of first moment and gravity, w in place of the articulated inertia: 6 each
W_DRIFT, W_W = W_MOMENT, W_P

DRIVE_VALUES = 4  # x, dx/dt, d2x/dt2, margin (positive when t is within the drive's range and all is finite)

# ---- scratch of an operation (:mod:`.inverse_mass`) ----
# row of a dof, all in world axes: its twist e, K = C^T M* e / D, 1/D, the way from the dof before it to its own node
DOF_E, DOF_K, DOF_D, DOF_WAY = 0, 6, 12, 13
# whether e has a linear part; of the first dof of a run, the last columns that reached the run
DOF_MOVES, DOF_MARK = 16, 17
DOF_ROW = 18
DOF_F = DOF_K  # of the mass matrix (:mod:`.mass_matrix`): F in the place of K
# row of a dof in two columns: phi or v of those that use its memory, and its own y
LEFT_V, LEFT_Y, RIGHT_V, RIGHT_Y = 0, 6, 7, 13
PAIR_ROW = 14
ALIGNMENT = 8  # numbers of a cache line
