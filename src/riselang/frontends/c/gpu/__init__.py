"""C functions on a GPU: loops with independent iterations become kernels.

In: regions (`model/scop.py`). Out: `GpuFunction`, which is called like other C functions. Read
`gpu_function.py` first, then `kernel_builder.py`.
"""
