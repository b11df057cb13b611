"""A callable model: a program with constants, and arguments that may be bound."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from riselang.frontends.stablehlo.elements import TensorType
from riselang.frontends.stablehlo.model.argument_names import array_leaves, bind_names
from riselang.frontends.stablehlo.model.batching import DEFAULT_DELAY, BatchedModel, make_batched
from riselang.frontends.stablehlo.model.body import BoundProgram, ModelBody
from riselang.native.mlir.element_dtypes import dtype_of
from riselang.pipelines import GPU
from riselang.runtime.array_calls import PreparedCall
from riselang.runtime.array_libraries import array_converter, convert_results
from riselang.runtime.arrays import Array, as_array, check_layout, exact_scalar
from riselang.support.config import Options
from riselang.support.errors import RiseError, UserError
from riselang.support.html import code, details
from riselang.support.lazy import cached_property
from riselang.support.tracebacks import shorten_traceback

if TYPE_CHECKING:
    from riselang.api.compiled import Compiled
    from riselang.api.lowered import Lowered
    from riselang.api.traced import Traced
    from riselang.frontends.stablehlo.model.gpu_calls import GpuCalls


@dataclass(frozen=True)
class Model:
    """A program imported from another framework, with its constants and bound arguments.

    It is called with arrays, or lists and dictionaries of them, and returns new ones, or fills
    those passed as `out=`. `trace` and `lower` give the stages of its program, whose last
    parameters are the constants.
    """

    body: ModelBody
    bound: Mapping[str, Array] = field(default_factory=dict[str, Array])
    """The bound arguments, by name."""

    @property
    def options(self) -> Options:
        return self.body.options

    @property
    def __name__(self) -> str:
        return self.body.signature.name

    @property
    def names(self) -> tuple[str, ...]:
        """The arguments that a call must pass."""
        names = self.body.signature.argument_names
        return tuple(name for name in names if name not in self.bound)

    @property
    def inputs(self) -> Mapping[str, TensorType]:
        """The types of those arguments."""
        signature = self.body.signature
        types = dict(zip(signature.argument_names, signature.arguments, strict=True))
        return {name: types[name] for name in self.names}

    @property
    def dtypes(self) -> Mapping[str, np.dtype[Any]]:
        """The dtypes of the arrays that a call must pass."""
        return {name: dtype_of(type.element.name) for name, type in self.inputs.items()}

    def bind(self, *values: Any, **named: Any) -> Model:
        """Bind some arguments: the first ones, or those passed by name.

        The arrays are copied, so later changes to them have no effect.
        """
        given = self._bind_names(values, named)
        copies = {name: self.to_array(name, value).copy() for name, value in given.items()}
        return replace(self, bound={**self.bound, **copies})

    def _bind_names(self, values: Sequence[Any], named: Mapping[str, Any]) -> dict[str, Any]:
        return bind_names(self.__name__, self.names, array_leaves(values), named)

    def __call__(self, *arguments: Any, out: Any = None, **named: Any) -> Any:
        """Compute the results for these arrays, as new arrays or in `out`."""
        if out is None and not named:
            gpu_calls = vars(self).get("_gpu_calls")
            if gpu_calls is not None:
                result = gpu_calls.quick(arguments, None)
                if result is not None:
                    return result
        try:
            prepared: PreparedCall | None = vars(self).get("_prepared_call")
            if prepared is not None and not named:
                result = prepared.native(arguments, out)
                if result is not None:
                    return result
            result = self._checked_call(arguments, out, named)
        except RiseError as error:
            raise shorten_traceback(error) from error.__cause__
        # Used after the first successful call.
        _ = self._prepared_call
        return result

    @cached_property
    def _prepared_call(self) -> PreparedCall | None:
        """The call for arrays of the right types."""
        signature = self.body.signature
        if self.body.backend != "compile" or self.options.loops == GPU:
            return None
        program = self._bound_program
        if program is not None:
            return program.program.prepare_call_with(program.inputs)
        bound = [self.bound.get(name) for name in signature.argument_names]
        return self.body.bind_arrays([*bound, *self.body.constants])

    @cached_property
    def _bound_program(self) -> BoundProgram | None:
        """The program specialized to the bound arguments, if anything is computed from them."""
        return self.body.bound_program(self.bound)

    def _checked_call(self, arguments: Sequence[Any], out: Any, named: Mapping[str, Any]) -> Any:
        given = self.check_arguments(arguments, named)
        if out is None and self.options.loops == GPU and self.body.backend == "compile":
            return self._gpu_calls(given)
        arrays = [self.to_array(name, given[name]) for name in self.names]
        if out is not None:
            if self.body.backend != "compile":
                raise UserError("out= is for compiled models; the interpreter makes new arrays")
            self._run_into(arrays, out)
            return out
        result = self._run(arrays)
        convert = array_converter(list(given.values()))
        return result if convert is None else convert_results(result, convert)

    def check_arguments(self, arguments: Sequence[Any], named: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments by name; raise an error if one is missing."""
        given = self._bind_names(arguments, named)
        missing = [name for name in self.names if name not in given]
        if missing:
            raise UserError(f"{self.__name__} is called without {', '.join(missing)}")
        return given

    @cached_property
    def _gpu_calls(self) -> GpuCalls:
        from riselang.frontends.stablehlo.model.gpu_calls import GpuCalls

        return GpuCalls(self.body, self.bound, self.names, self.to_array)

    def _run(self, arguments: Sequence[Any]) -> Any:
        program = self._bound_program
        if program is None:
            return self.body.run(self._all_arrays(arguments))
        return program.program.run(program.fill(arguments))

    def _run_into(self, arguments: Sequence[Any], out: Any) -> None:
        program = self._bound_program
        if program is None:
            self.body.run_into(self._all_arrays(arguments), out)
        else:
            program.program.run_into(program.fill(arguments), out)

    def _all_arrays(self, arguments: Sequence[Any]) -> list[Array]:
        """Return everything that the program takes: arguments, then constants."""
        given = {**self.bound, **dict(zip(self.names, arguments, strict=True))}
        arrays = [given[name] for name in self.body.signature.argument_names]
        return [*arrays, *self.body.constants]

    def to_array(self, name: str, value: Any) -> Array:
        type = self.inputs[name]
        dtype = dtype_of(type.element.name)
        if not type.shape and not isinstance(value, np.ndarray) and not hasattr(value, "shape"):
            exact = exact_scalar(value, dtype)
            if exact is None:
                raise UserError(
                    f"argument {name}: expected a number of type {type.element.name}, "
                    f"but found {value!r}"
                )
            return exact
        array = as_array(value, name)
        if array.dtype != dtype:
            raise UserError(f"argument {name}: expected dtype {dtype}, but found {array.dtype}")
        if array.shape != type.shape:
            raise UserError(
                f"argument {name}: expected shape {type.shape}, but found {array.shape}"
            )
        check_layout(array, name, written=False)
        return array

    def batched(self, maximum: int | None = None, delay: float = DEFAULT_DELAY) -> BatchedModel:
        """Return a model that computes the requests of several threads together.

        The first dimension of all arguments and results is the batch. A request passes a row of
        each argument, and waits up to `delay` seconds for others, until there are `maximum`.
        """
        arguments = {name: (self.dtypes[name], type.shape) for name, type in self.inputs.items()}
        return make_batched(self, arguments, maximum, delay)

    def trace(self) -> Traced:
        """Return the program as a term."""
        return self.body.kernel.trace()

    def lower(self) -> Lowered:
        """Lower the program: print any of its stages, or compile it."""
        return self.body.kernel.lower()

    def as_text(self, stage: str = "notation") -> str:
        """Print the program at a stage: notation, rise, imperative, affine, llvm or asm.

        In notation it is printed as it was read, unless an explicit strategy rewrites it.
        """
        return self.body.as_text(stage)

    def report(self) -> str:
        """Report how each op is compiled: as patterns, or with `fallback="linalg"` by MLIR."""
        return self.body.report()

    def compile(self) -> Compiled:
        """Compile the program to machine code, which takes constants after its arguments."""
        return self.body.compiled

    def save(self, path: str | Path) -> None:
        """Write a file with the module and the bound arguments, which `rl.load_model` reads."""
        from riselang.frontends.stablehlo.model.model_archive import SavedModel, save_model

        save_model(SavedModel(self.body.origin, self.options, self.bound), path)

    def __repr__(self) -> str:
        shown = ", ".join(f"{name} : {_format_type(type)}" for name, type in self.inputs.items())
        return f"<model {self.__name__}({shown})>"

    def _repr_html_(self) -> str:
        return code(repr(self)) + details("notation", code(self.as_text("notation")))


def _format_type(type: TensorType) -> str:
    from riselang.dialects.rise.type_printer import format_type
    from riselang.frontends.stablehlo.tensors import array_type

    return format_type(array_type(type.element, type.shape))
