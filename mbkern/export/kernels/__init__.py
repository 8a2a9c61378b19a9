"""What an exported library needs beside the kernels of the operations: batches, derivatives, parameters, as C functions
on addresses. The cache of machine code knows the sources of this folder and of the core: nothing else is imported here.

Nothing here allocates; all memory comes from the caller.
"""
