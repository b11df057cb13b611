"""Running StableHLO modules in XLA, by JAX."""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib import import_module
from typing import Any

os.environ.setdefault("JAX_PLATFORMS", "cpu")
import numpy as np

jax: Any = import_module("jax")
jax.config.update("jax_enable_x64", True)


def run_stablehlo(text: str, arguments: Sequence[Any]) -> list[Any]:
    """Return the results of the function `main`."""
    client_module: Any = import_module("jaxlib._jax")
    backend: Any = import_module("jax.extend.backend").get_backend("cpu")
    devices = client_module.DeviceList(tuple(backend.local_devices()[:1]))
    loaded = backend.compile_and_load(text, devices, client_module.CompileOptions())
    arrays = [np.asarray(each) for each in jax.tree.leaves(list(arguments))]
    buffers = [jax.device_put(each, devices[0]) for each in arrays]
    results = loaded.execute_sharded(buffers)
    return [each[0] for each in results.disassemble_into_single_device_arrays()]
