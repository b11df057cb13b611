"""The dialect, passes and target that riselang provides to `xdsl-opt` and `xdsl-gui`."""

from __future__ import annotations

from xdsl.ir import Dialect
from xdsl.universe import Universe
from xdsl.utils.target import Target

from riselang.passes import PASSES


def _load_dialect() -> Dialect:
    from riselang.dialects.rise.dialect import Rise

    return Rise


def _load_native_target() -> type[Target]:
    from riselang.dialects.native_form import NativeTarget

    return NativeTarget


RISE_UNIVERSE = Universe(
    all_dialects={"rise": _load_dialect},
    all_passes={name: spec.load for name, spec in PASSES.items()},
    all_targets={"native": _load_native_target},
)
