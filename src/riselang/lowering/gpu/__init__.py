"""Lowers parallel loops to GPU kernels.

`outline_gpu_kernels.py` is the pass: allocations and sequential loops around kernels stay on the
host, and all other code becomes kernels. `mapping.py` maps iterations to blocks and threads,
`blocks.py` distributes the code of a block over its threads, `barriers.py` inserts barriers, and
`kernel_memory.py` assigns temporaries to memory spaces: `privatization.py` finds those that each
thread has alone, `bank_conflicts.py` pads those in shared memory, and `pipelining.py` fills them
ahead of time.
"""
