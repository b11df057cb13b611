"""Model files: an archive with the module, the bound arrays, and their metadata."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from riselang.frontends.stablehlo.model.body import arrays_from_bytes, arrays_to_bytes
from riselang.frontends.stablehlo.model.origin import ModelOrigin
from riselang.frontends.stablehlo.model.stored_arrays import dtype_name
from riselang.runtime.arrays import Array
from riselang.support.config import Options
from riselang.support.errors import UserError
from riselang.support.io import decode_text, write_file

FORMAT = "riselang model 1"


@dataclass(frozen=True)
class SavedModel:
    """The contents of a model file."""

    origin: ModelOrigin
    options: Options
    bound: Mapping[str, Array]
    """The bound arguments, by name."""


def save_model(model: SavedModel, path: str | Path) -> None:
    """Write a file that `load_saved_model` reads."""
    origin = model.origin
    names = sorted(model.bound)
    arrays = [model.bound[name] for name in names]
    facts = {
        "format": FORMAT,
        "function": origin.function,
        "types": origin.types,
        "options": asdict(model.options),
        "file": Path(origin.file).name,
        "fallback": origin.fallback,
        "reader": origin.reader,
        "bound": {name: dtype_name(array) for name, array in zip(names, arrays, strict=True)},
    }
    module = origin.content
    is_text = isinstance(module, str)
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("model.json", json.dumps(facts))
        archive.writestr("module.mlir" if is_text else "module.mlirbc", module)
        archive.writestr("arrays.npz", arrays_to_bytes(arrays))
    write_file(path, content.getvalue())


def load_saved_model(path: str | Path) -> SavedModel:
    """Read a file that `save_model` wrote."""
    try:
        with zipfile.ZipFile(path) as archive:
            facts = json.loads(archive.read("model.json"))
            is_text = "module.mlir" in archive.namelist()
            data = archive.read("module.mlir" if is_text else "module.mlirbc")
            if facts["format"] != FORMAT:
                raise UserError(f"{path} is a model of another version of riselang")
            bound = arrays_from_bytes(archive.read("arrays.npz"), list(facts["bound"].values()))
            options = Options(**facts["options"])
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}") from None
    except (zipfile.BadZipFile, KeyError, ValueError, TypeError) as error:
        raise UserError(f"{path} is not a saved model: {error}") from None
    content = decode_text(data, str(path)) if is_text else data
    types = None if facts["types"] is None else tuple(facts["types"])
    origin = ModelOrigin(
        content, facts["file"], facts["function"], types, facts.get("fallback"),
        facts.get("reader"), options.float,
    )  # fmt: skip
    return SavedModel(origin, options, dict(zip(facts["bound"], bound, strict=True)))
