"""Lowers parallel loops to GPU kernels.

`outline_gpu_kernels.py` is the pass: allocations and sequential loops around kernels stay on the
host, and all other code becomes kernels. `mapping.py` maps iterations to blocks and threads,
`blocks.py` distributes the code of a block over its threads, and `kernel_memory.py` assigns
temporaries to memory spaces.
"""
