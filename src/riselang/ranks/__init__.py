"""Programs on many machines: which rank computes what, and what ranks send to each other.

`planner` evaluates a program on views of distributed buffers, and returns a `plan`: kernels to
run, and operands to gather for them. `execution` carries out a plan on the ranks of a communicator,
or on ranks that one process emulates.
"""
