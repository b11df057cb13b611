"""A model that is in the cache is loaded and called without the compiler."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper
from xdsl.dialects.builtin import DYNAMIC_INDEX

from riselang.dialects.rise.types import SOURCE_SCALARS
from riselang.support.element_types import DTYPE_NAMES, DYNAMIC_LENGTH

RUN = """
import sys
import numpy as np
import riselang as rl

model = rl.from_onnx(sys.argv[1])
found = model(np.ones((2, 3), np.float32))
assert np.array_equal(found, np.full((2, 4), 3, np.float32)), found
compiler = {
    "xdsl.ir", "onnx", "llvmlite", "torch_mlir", "numpy.ma",
    "riselang.dialects", "riselang.term", "riselang.rewrite",
}
print(" ".join(sorted(compiler & {*sys.modules})) or "none")
"""


@pytest.mark.rotating(6)
def test_a_cached_model_imports_no_compiler(tmp_path: Path) -> None:
    weight = numpy_helper.from_array(np.ones((3, 4), np.float32), "w")
    inputs, outputs = (
        helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape)
        for name, shape in (("x", (2, 3)), ("y", (2, 4)))
    )
    node = helper.make_node("MatMul", ["x", "w"], ["y"])
    graph = helper.make_graph([node], "product", [inputs], [outputs], [weight])
    path = tmp_path / "model.onnx"
    path.write_bytes(helper.make_model(graph).SerializeToString())
    environment = {**os.environ, "RISE_CACHE": "1", "RISE_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-c", RUN, str(path)]
    imported = [
        subprocess.run(
            command, check=True, env=environment, capture_output=True, text=True
        ).stdout.strip()
        for _ in range(2)
    ]
    assert imported[0] != "none"
    assert imported[1] == "none"


def test_names_of_elements_are_those_of_scalar_types() -> None:
    assert DTYPE_NAMES.keys() == SOURCE_SCALARS.keys()
    assert DYNAMIC_LENGTH == DYNAMIC_INDEX
