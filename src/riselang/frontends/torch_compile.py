"""The backend "riselang" of torch.compile: graphs of PyTorch, forward and backward, as models.

PyTorch's AOTAutograd makes the graphs: of aten ops, without mutation, one for the results and one
for the gradients. A graph that cannot be compiled is run by PyTorch, with a warning that says why.
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from riselang.api.options import ModelOptions, check_names
from riselang.frontends.stablehlo.model.model_reader import read_model
from riselang.frontends.torch import failure_reason
from riselang.frontends.torch_decompositions import decompositions
from riselang.frontends.torch_tensors import to_array, to_tensor
from riselang.native.mlir.torch_modules import (
    TORCH_PASSES,
    convert_to_stablehlo,
    import_torch_graph,
)
from riselang.support.errors import LimitationError, RiseError, UserError
from riselang.support.forking import hold_forks

BACKEND = "torch.compile"
Graph: TypeAlias = Any
"""A `torch.fx.GraphModule`."""
Runner: TypeAlias = Callable[..., Sequence[Any]]

VIEWS = frozenset(
    f"aten::{name}"
    for name in ("alias", "detach", "expand", "permute", "squeeze", "t", "unsqueeze", "view")
)
"""The ops whose results share the memory of their first operand."""


def compile_graph(
    graph: Graph, examples: Sequence[Any], *, mode: Any = None, options: Any = None
) -> Callable[..., Any]:
    """Compile a graph of Dynamo for inputs like these: PyTorch calls it as the backend "riselang".

    `options` are those of `rl.from_torch`, and `eager`: what becomes of a graph that cannot be
    compiled, which PyTorch runs if it is True, the default, and which is an error otherwise.
    """
    del mode
    chosen: dict[str, Any] = dict(options or {})
    run_eagerly: Any = chosen.pop("eager", True)
    check_names(BACKEND, chosen, ModelOptions)
    if not isinstance(run_eagerly, bool):
        raise UserError(f"{BACKEND}: the option eager is True or False, but found {run_eagerly!r}")
    compiler = _Compiler(chosen, run_eagerly)
    common = importlib.import_module("torch._dynamo.backends.common")
    partition = importlib.import_module("functorch.compile").min_cut_rematerialization_partition
    backend = common.aot_autograd(
        fw_compiler=compiler,
        bw_compiler=compiler,
        decompositions=decompositions(),
        partition_fn=partition,
    )
    attention = importlib.import_module("torch.nn.attention")
    with attention.sdpa_kernel(attention.SDPBackend.MATH):
        return backend(graph, examples)


@dataclass(frozen=True)
class _Compiler:
    """Compiles one graph of aten ops at a time."""

    options: Mapping[str, Any]
    is_eager_allowed: bool

    def __call__(self, graph: Graph, examples: Sequence[Any]) -> Runner:
        torch = importlib.import_module("torch")
        if any(isinstance(_value(node), torch.SymInt) for node in _inputs(graph)):
            runner = _EachShape(graph, self)
        else:
            runner = self.compile(graph)
        return importlib.import_module("functorch.compile").make_boxed_func(runner)

    def compile(self, graph: Graph) -> Runner:
        """Compile a graph whose shapes are known, or let PyTorch run it."""
        try:
            with hold_forks():
                return _compile_graph(graph, self.options)
        except RiseError as error:
            if not self.is_eager_allowed:
                raise
            warnings.warn(f"{error.message}; PyTorch runs this graph", stacklevel=2)
            return graph.forward


@dataclass
class _EachShape:
    """A graph with dynamic dimensions, compiled for the sizes of each call."""

    graph: Graph
    compiler: _Compiler

    def __post_init__(self) -> None:
        self._runners: dict[tuple[Any, ...], Runner] = {}

    def __call__(self, *values: Any) -> Sequence[Any]:
        key = tuple(each if isinstance(each, int) else tuple(each.shape) for each in values)
        if key not in self._runners:
            make_fx = importlib.import_module("torch.fx.experimental.proxy_tensor").make_fx
            self._runners[key] = self.compiler.compile(
                make_fx(self.graph, tracing_mode="fake")(*values)
            )
        return self._runners[key](*values)


def _compile_graph(graph: Graph, options: Mapping[str, Any]) -> Runner:
    torch = importlib.import_module("torch")
    inputs = _inputs(graph)
    (output,) = (node for node in graph.graph.nodes if node.op == "output")
    results: list[Any] = list(output.args[0])
    nodes = list(dict.fromkeys(each for each in results if isinstance(each, torch.fx.Node)))
    _check_devices([*inputs, *nodes])
    drawn = _random_nodes(torch, graph)
    views = {node: steps for node in nodes if (steps := _view_steps(node)) is not None}
    computed = [node for node in nodes if node not in views]
    if not computed:
        return graph.forward
    model = _read_graph(graph, computed, drawn, options)

    def run(*values: Any) -> list[Any]:
        arguments = dict(zip(inputs, values, strict=True))
        with torch.no_grad():
            given = [each for each in values if _is_tensor(each)]
            given += [node.target(*node.args, **node.kwargs) for node in drawn]
            found = model(*(to_array(torch, each) for each in given))
            arrays = found if isinstance(found, tuple) else (found,)
            tensors = {
                node: _with_strides(torch, to_tensor(torch, np.asarray(array)), _value(node))
                for node, array in zip(computed, arrays, strict=True)
            }
            for node, (source, *steps) in views.items():
                value = arguments[source]
                for step in steps:
                    value = step.target(value, *step.args[1:], **step.kwargs)
                tensors[node] = value
        return [tensors.get(each, each) for each in results]

    return run


def _read_graph(
    graph: Graph, computed: Sequence[Any], drawn: Sequence[Any], options: Mapping[str, Any]
) -> Any:
    """Return the model of some nodes of a graph, which takes its tensors and those drawn."""
    torch_fx: Any = importlib.import_module("torch.fx")
    copies: dict[Any, Any] = {}
    copy = torch_fx.GraphModule(graph, torch_fx.Graph())
    copy.graph.graph_copy(graph.graph, copies)
    copy.graph.output(tuple(copies[node] for node in computed))
    first = next(node for node in copy.graph.nodes if node.op != "placeholder")
    for node in drawn:
        with copy.graph.inserting_before(first):
            taken = copy.graph.placeholder(f"{node.name}_drawn")
        taken.meta = dict(node.meta)
        copies[node].replace_all_uses_with(taken)
    for node in drawn:
        copy.graph.erase_node(copies[node])
    copy.graph.eliminate_dead_code()
    for node in _inputs(copy):
        if not _is_tensor(_value(node)):
            copy.graph.erase_node(node)
    copy.recompile()
    try:
        module = import_torch_graph(copy)
    except Exception as error:  # from torch-mlir: any type
        raise LimitationError(
            f"{BACKEND}: torch-mlir cannot import a graph: {failure_reason(error)}"
        ) from error
    text = convert_to_stablehlo(module, TORCH_PASSES, BACKEND)
    model: Any = read_model(text, name="<torch>", **options)
    model.compile()
    return model


def _inputs(graph: Graph) -> list[Any]:
    return [node for node in graph.graph.nodes if node.op == "placeholder"]


def _value(node: Any) -> Any:
    """What stands for the value of a node: a tensor without data, or a number."""
    return node.meta.get("val")


def _is_tensor(value: Any) -> bool:
    return hasattr(value, "shape")


def _check_devices(nodes: Sequence[Any]) -> None:
    for node in nodes:
        if _is_tensor(value := _value(node)) and value.device.type != "cpu":
            raise LimitationError(
                f"{BACKEND}: the backend riselang takes tensors on the CPU, but found one on "
                f"{value.device}"
            )


def _random_nodes(torch: Any, graph: Graph) -> list[Any]:
    """The ops that draw random numbers, which PyTorch runs before the others."""
    nodes = [
        node
        for node in graph.graph.nodes
        if torch.Tag.nondeterministic_seeded in getattr(node.target, "tags", ())
    ]
    for node in nodes:
        if node.all_input_nodes:
            raise LimitationError(f"{BACKEND}: {node.target} draws random numbers for given values")
    return nodes


def _view_steps(node: Any) -> list[Any] | None:
    """An input and the views of it that lead to a node, or None if the node is computed.

    PyTorch makes them, since they share the memory of the input.
    """
    steps = [node]
    while steps[0].op == "call_function" and _is_view(steps[0].target):
        steps.insert(0, steps[0].args[0])
    return steps if steps[0].op == "placeholder" else None


def _is_view(target: Any) -> bool:
    schema = getattr(target, "_schema", None)
    return schema is not None and schema.name in VIEWS


def _with_strides(torch: Any, tensor: Any, expected: Any) -> Any:
    """Return a tensor with the strides that PyTorch expects."""
    if tensor.stride() == expected.stride() or expected.is_contiguous():
        return tensor
    strided = torch.empty_strided(expected.shape, expected.stride(), dtype=tensor.dtype)
    return strided.copy_(tensor)
