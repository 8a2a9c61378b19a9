"""Pictures: a model drawn, a solution animated or put on an interactive page, the tree as a graph.

`draw`, `animate` and `plot_tree` need matplotlib (``pip install mbkern[viz]``); `viewer` needs nothing beside mbkern.
"""

from .picture import animate, draw
from .topology import plot_tree
from .viewer import Viewer, viewer

__all__ = ["Viewer", "animate", "draw", "plot_tree", "viewer"]
