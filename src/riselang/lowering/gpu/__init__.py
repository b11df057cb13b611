"""Parallel loops as kernels of a GPU.

`outline_gpu_kernels.py` is the pass: it leaves on the host what only allocates and repeats, and
makes kernels of all else. `parts.py` says which part of a GPU runs which iterations, `blocks.py`
what the threads of a block do together, `memory.py` where temporaries lie.
"""
