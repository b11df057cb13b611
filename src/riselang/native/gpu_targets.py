"""The GPU architectures that kernels are compiled for, and which of them this machine has."""

from __future__ import annotations

from dataclasses import dataclass

from riselang.native import cuda
from riselang.support.config import GPU_TARGET
from riselang.support.errors import UserError


@dataclass(frozen=True)
class GpuTarget:
    """An architecture of NVIDIA GPUs."""

    chip: str
    """The architecture, as LLVM and NVIDIA name it."""
    ptx_version: str
    """The version of PTX that has its instructions, as a feature of LLVM."""
    shared_bytes: int
    """The maximum bytes of shared memory of a block."""
    tensor_unit: str = ""
    """The fastest instruction of its tensor cores that kernels use: `mma` or `wgmma`."""
    multiprocessors: int = 108
    """The number of multiprocessors of its data center GPU."""

    @property
    def converts_small_floats(self) -> bool:
        """Whether instructions convert f32 to floats of 8 bits."""
        return int(self.chip[3:].rstrip("a")) >= 89

    @property
    def rounds_to_bf16(self) -> bool:
        """Whether an instruction converts f32 to bf16: of all GPUs whose tensor cores are used."""
        return bool(self.tensor_unit)


TARGETS = (
    GpuTarget("sm_70", "+ptx70", 96 << 10),
    GpuTarget("sm_75", "+ptx70", 64 << 10),
    GpuTarget("sm_80", "+ptx71", 163 << 10, "mma"),
    GpuTarget("sm_86", "+ptx71", 99 << 10, "mma"),
    GpuTarget("sm_89", "+ptx81", 99 << 10, "mma"),
    GpuTarget("sm_90", "+ptx80", 227 << 10, "mma"),
    GpuTarget("sm_90a", "+ptx80", 227 << 10, "wgmma", 132),
)
"""The architectures in order, each with the instructions of those before it."""
OLDEST = TARGETS[0]


def gpu_target() -> GpuTarget:
    """Return the target that the setting selects, else the GPU of this machine.

    Without a GPU, the oldest architecture: the driver of every later GPU runs its code.
    """
    name = GPU_TARGET.value()
    if name:
        return _target_named(name)
    capability = cuda.compute_capability()
    return OLDEST if capability is None else target_of_capability(*capability)


def _target_named(name: str) -> GpuTarget:
    match = next((target for target in TARGETS if target.chip == name), None)
    if match is None:
        names = ", ".join(target.chip for target in TARGETS)
        raise UserError(f"{GPU_TARGET.variable} must be one of {names}, but is {name!r}")
    return match


def target_of_capability(major: int, minor: int) -> GpuTarget:
    """Return the latest target whose code a GPU of a compute capability runs.

    The instructions of `sm_90a` exist only on GPUs of capability 9.0.
    """
    if (major, minor) == (9, 0):
        return TARGETS[-1]
    general = [target for target in TARGETS if target.chip[3:].isdecimal()]
    fitting = [target for target in general if int(target.chip[3:]) <= 10 * major + minor]
    return fitting[-1] if fitting else OLDEST
