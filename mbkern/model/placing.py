"""Where nodes lie in the nodes that carry them, and bodies in their nodes, as joints describe it.

A frame (G, rho) is four rows of three numbers here, those of G and rho. Arrays of frames are (4, 3, n): bodies,
elements or nodes lie side by side along the last axis.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .. import plain
from .ancestry import Ancestry
from .elements import Elements

_vec3 = plain.load("vec3")

Frames = np.ndarray

ORIGIN = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 0.0]])


def placed(elements: Elements, tree: Ancestry, joints: Frames) -> tuple[Frames, Frames]:
    """The frames of the nodes in those of their parents, and of the bodies in those of their nodes.

    `joints`: the joint frames of the bodies in the frames of their parents.
    """
    jointed, welded = np.flatnonzero(tree.n_nodes), np.flatnonzero(tree.n_nodes == 0)
    places = np.empty((4, 3, int(tree.n_nodes.sum())), dtype=joints.dtype)
    bodies = np.tile(ORIGIN.astype(joints.dtype)[:, :, None], len(tree.parent) + 1)  # the ground has place -1
    # what is behind the first node of a joint does not depend on what is before it
    bodies[:, :, jointed] = _through(elements, jointed, bodies[:, :, jointed], places)
    for i, carrier in zip(welded.tolist(), tree.parent[welded].tolist(), strict=True):  # parents first
        X = _compose(joints[:, :, i], bodies[:, :, carrier])
        for element in range(elements.first[i], elements.first[i + 1]):
            X = _compose(elements.shift[:, :, element], X)
        bodies[:, :, i] = X
    begin = _compose(joints[:, :, jointed], bodies[:, :, tree.parent[jointed]])
    _through(elements, jointed, begin, places)
    return places, bodies[:, :, :-1]


def _through(elements: Elements, bodies: NDArray[np.int64], X: Frames, places: Frames) -> Frames:
    """From the frames X where the joints of bodies begin to those where they end; enters the places of their nodes."""
    element, stop = elements.first[bodies], elements.first[bodies + 1]
    left = np.arange(len(bodies))  # whose joint has one more element
    while left.size:
        moves = elements.moves[element[left]]
        constant, moving = left[~moves], left[moves]
        if constant.size:
            X[:, :, constant] = _compose(elements.shift[:, :, element[constant]], X[:, :, constant])
        step = element[moving]
        W, place = elements.W[:, :, step], X[:, :, moving]
        place[:3] = np.where(elements.axial[step], _product(W, place), place[:3])
        places[:, :, elements.node[step]] = place
        X[:3, :, moving], X[3, :, moving] = W.swapaxes(0, 1), 0.0
        element += 1
        left = left[element[left] < stop[left]]
    return X


def _compose(X2: Frames, X1: Frames) -> Frames:
    """The frames X2 inside the frames X1: G = G_2 G_1, rho = rho_1 + G_1^T rho_2."""
    X = _product(X2, X1)
    X[3] += X1[3]
    return X


def _product(rows: np.ndarray, X: Frames) -> np.ndarray:
    """rows G: of matrices, their products with G; of single vectors, G^T a."""
    product: np.ndarray = _vec3.dot((rows[:, 0, None], rows[:, 1, None], rows[:, 2, None]), X)
    return product
