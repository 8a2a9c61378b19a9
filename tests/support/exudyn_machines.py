"""IFToMM benchmarks A02 and A04 in Exudyn: all bodies are free, all joints constraints on positions."""

import exudyn as exu
import numpy as np
from exudyn import utilities as item


def solved(mbs, t, steps, dense=True):
    """Run an assembled system of Exudyn to time t."""
    settings = exu.SimulationSettings()
    settings.timeIntegration.numberOfSteps, settings.timeIntegration.endTime = steps, t
    settings.timeIntegration.generalizedAlpha.spectralRadius = 0.9
    settings.solutionSettings.writeSolutionToFile = False
    settings.timeIntegration.verboseMode = 0
    if not dense:
        settings.linearSolverType = exu.LinearSolverType.EigenSparse
    mbs.SolveDynamic(settings)


def four_bars(n, t, steps):
    """Where the end of the first crank of A02 is at time t."""
    mbs = exu.SystemContainer().AddSystem()
    ground = mbs.AddObject(item.ObjectGround(referencePosition=[0, 0, 0]))

    def bar(position, velocity):
        node = mbs.AddNode(item.NodeRigidBody2D(referenceCoordinates=position, initialVelocities=velocity))
        body = mbs.AddObject(item.RigidBody2D(physicsMass=1.0, physicsInertia=1.0 / 12.0, nodeNumber=node))
        middle = mbs.AddMarker(item.MarkerBodyPosition(bodyNumber=body, localPosition=[0, 0, 0]))
        mbs.AddLoad(item.Force(markerNumber=middle, loadVector=[0, -9.81, 0]))
        return body

    def pin(*ends):
        markers = [mbs.AddMarker(item.MarkerBodyPosition(bodyNumber=body, localPosition=place)) for body, place in ends]
        mbs.AddObject(item.RevoluteJoint2D(markerNumbers=markers))

    left, right = [-0.5, 0, 0], [0.5, 0, 0]
    cranks = [bar([i, 0.5, np.pi / 2], [0.5, 0, -1.0]) for i in range(n + 1)]
    couplers = [bar([i + 0.5, 1.0, 0.0], [1.0, 0, 0]) for i in range(n)]
    for i in range(n + 1):
        pin((ground, [i, 0, 0]), (cranks[i], left))
    for i in range(n):
        pin((cranks[i], right), (couplers[i], left))
        pin((couplers[i], right), (cranks[i + 1], right))
    mbs.Assemble()
    solved(mbs, t, steps, dense=n < 5)
    return np.array(mbs.GetObjectOutputBody(cranks[0], exu.OutputVariableType.Position, right))


def bricard(t, steps):
    """Where the middle of the third rod of A04 is at time t; of the last hinge one row is left out, it is redundant."""
    mbs = exu.SystemContainer().AddSystem()
    corners = np.array([(0, 0, 0), (1, 0, 0), (1, 1, 0), (1, 1, 1), (0, 1, 1), (0, 0, 1)], float)
    axes = np.eye(3)[[1, 2, 0, 1, 2, 0]].tolist()
    ground, rods = mbs.AddObject(item.ObjectGround()), []
    for k in range(5):
        along = corners[k + 1] - corners[k]
        inertia = (np.eye(3) - np.outer(along, along)) / 12.0 + 1e-9 * np.eye(3)
        rods.append(mbs.CreateRigidBody(
            inertia=item.RigidBodyInertia(mass=1.0, inertiaTensor=inertia, com=[0, 0, 0]),
            referencePosition=((corners[k] + corners[k + 1]) / 2).tolist(), gravity=[0, -9.81, 0]))
    chain = [ground, *rods, ground]
    for k in range(5):
        mbs.CreateRevoluteJoint(bodyNumbers=chain[k:k + 2], position=corners[k].tolist(), axis=axes[k],
                                useGlobalFrame=True)
    mbs.CreateGenericJoint(bodyNumbers=chain[5:], position=corners[5].tolist(), constrainedAxes=[1, 1, 1, 0, 1, 0],
                           useGlobalFrame=True)
    mbs.Assemble()
    solved(mbs, t, steps)
    return np.array(mbs.GetObjectOutputBody(rods[2], exu.OutputVariableType.Position, [0, 0, 0]))
