"""Memory of compiled code: where things are in it, frames for calls from Python and C, buffers of batches.

It lies below `embed`, `integrate` and `batch`, which all evaluate a system in such memory:

`places`   where things are that depend on the model, for Python
`binding`  a model bound to a method: block, sizes, addresses, and the pool of frames for calls from Python
`frame`    what `user` of a C function points at
`lanes`    buffers of compiled code on several states side by side
"""
