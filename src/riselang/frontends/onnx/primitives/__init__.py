"""What the lowerings of ONNX ops are written in: values, and functions on them.

A function computes its result at once if NumPy can, since all its operands are known; otherwise it
adds an op to the graph, which the conversion of StableHLO turns into patterns.
"""
