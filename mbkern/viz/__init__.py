"""Pictures: a model drawn, a solution or a vibration animated or put on an interactive page, the tree as a graph.

`draw`, `animate`, `animate_mode` and `plot_tree` need matplotlib (``pip install mbkern[viz]``); `viewer` needs nothing
beside mbkern.
"""

from .mode import animate_mode
from .picture import animate, draw
from .topology import plot_tree
from .viewer import Viewer, viewer

__all__ = ["Viewer", "animate", "animate_mode", "draw", "plot_tree", "viewer"]
