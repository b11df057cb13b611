"""Export models of this folder from PyTorch: module texts, inputs and expected results.

    pip install 'riselang[torch]'
    python examples/models/export_torch.py

The weights are constants in the module, which is why these models are small; the format of
arguments and results is that of `export.py`.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy as np

torch: Any = importlib.import_module("torch")
importer: Any = importlib.import_module("torch_mlir.fx")
HERE = Path(__file__).parent
SETS = 3


def examples() -> dict[str, tuple[Any, tuple[int, ...]]]:
    """Models, and the shapes of their inputs."""
    nn = torch.nn
    torch.manual_seed(0)
    network = nn.Sequential(
        nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
        nn.Linear(64, 10), nn.Softmax(-1),
    )  # fmt: skip
    encoder = nn.TransformerEncoderLayer(16, 4, 32, batch_first=True)
    return {
        "torch_cnn": (network.eval(), (2, 1, 10, 10)),
        "torch_encoder": (encoder.eval(), (2, 5, 16)),
    }


def write(name: str, model: Any, shape: tuple[int, ...]) -> None:
    random = np.random.default_rng(len(name))
    inputs = [random.random(shape, np.float32) for _ in range(SETS)]
    with torch.no_grad():
        module = importer.export_and_import(
            model, torch.from_numpy(inputs[0]), output_type="stablehlo"
        )
        arrays: dict[str, Any] = {}
        for number, x in enumerate(inputs):
            arrays[f"set{number}_arg0"] = x
            arrays[f"set{number}_result0"] = model(torch.from_numpy(x)).numpy()
    (HERE / f"{name}.mlir").write_text(str(module))
    np.savez_compressed(HERE / f"{name}.npz", allow_pickle=False, **arrays)
    print(f"wrote {name}.mlir and {name}.npz")


if __name__ == "__main__":
    for each, (model, shape) in examples().items():
        write(each, model, shape)
