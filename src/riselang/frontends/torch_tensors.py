"""Tensors on the CPU as NumPy arrays, and arrays as tensors, without copies if possible."""

from __future__ import annotations

from typing import Any

import numpy as np

from riselang.native.mlir.element_dtypes import dtype_of
from riselang.runtime.arrays import Array
from riselang.support.errors import UserError


def to_array(torch: Any, tensor: Any) -> Array:
    """Return the elements of a tensor as an array; they are copied if they are not dense."""
    if tensor.device.type != "cpu":
        raise UserError(f"expected a tensor on the CPU, but found one on {tensor.device}")
    tensor = tensor.detach().resolve_conj().resolve_neg().contiguous()
    if tensor.dtype == torch.bfloat16:
        return tensor.view(torch.int16).numpy().view(dtype_of("bf16"))
    return tensor.numpy()


def to_tensor(torch: Any, array: Array) -> Any:
    """Return a tensor with the elements of an array."""
    if array.dtype == dtype_of("bf16"):
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)
