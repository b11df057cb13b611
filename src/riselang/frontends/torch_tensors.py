"""Tensors on the CPU as NumPy arrays, and arrays as tensors, without copies if possible."""

from __future__ import annotations

from typing import Any

import numpy as np

from riselang.runtime.arrays import Array
from riselang.support.element_types import ML_DTYPES, dtype_by_name
from riselang.support.errors import UserError


def to_array(torch: Any, tensor: Any) -> Array:
    """Return the elements of a tensor as an array; they are copied if they are not dense."""
    if tensor.device.type != "cpu":
        raise UserError(f"expected a tensor on the CPU, but found one on {tensor.device}")
    tensor = tensor.detach().resolve_conj().resolve_neg().contiguous()
    name = str(tensor.dtype).removeprefix("torch.")
    if name in ML_DTYPES:
        dtype = dtype_by_name(name)
        integers = torch.uint8 if dtype.itemsize == 1 else torch.int16
        return tensor.view(integers).numpy().view(dtype)
    return tensor.numpy()


def to_tensor(torch: Any, array: Array) -> Any:
    """Return a tensor with the elements of an array."""
    if array.dtype.name in ML_DTYPES:
        integers = np.uint8 if array.dtype.itemsize == 1 else np.int16
        return torch.from_numpy(array.view(integers)).view(getattr(torch, array.dtype.name))
    return torch.from_numpy(array)
