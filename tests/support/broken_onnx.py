"""Broken ONNX models: bytes changed, or attributes, types, shapes, inputs and order of nodes."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np

from support.random_onnx import onnx, random_model

NUMBERS = (-(2**63), -(2**31), -7, -1, 0, 1, 2, 5, 2**20, 2**31, 2**40, 2**63 - 1)
OPS = (
    "Conv", "Concat", "Trilu", "LSTM", "Einsum", "Foo", "TopK", "Reshape", "Slice", "If", "Loop",
    "Scan", "Resize", "Pad", "Gather", "ScatterND", "Attention", "QLinearConv", "SequenceAt",
    "OneHot", "Tile", "Expand", "Range", "ConstantOfShape", "DFT", "MaxUnpool", "Cast", "",
)  # fmt: skip
TEXTS = (b"", b"linear", b"SAME_UPPER", b"i,j->ji", b"\xff\xfe", b"sum")


def broken_model(seed: int) -> bytes:
    """Return the bytes of a model that is probably not valid."""
    random = Random(seed)
    proto = random_model(random.randrange(400)).proto
    if random.random() < 0.25:
        return _with_changed_bytes(proto.SerializeToString(), random)
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        if not proto.graph.node or not (proto.graph.input and proto.graph.output):
            break
        random.choice(CHANGES)(proto.graph, random)
    return proto.SerializeToString()


def _with_changed_bytes(data: bytes, random: Random) -> bytes:
    changed = bytearray(data)
    for _ in range(random.choice((1, 1, 2, 5))):
        place = random.randrange(len(changed))
        kind = random.randrange(4)
        if kind == 0:
            changed[place : place + 1] = random.randbytes(1)
        elif kind == 1:
            changed[place] ^= 1 << random.randrange(8)
        elif kind == 2:
            changed[place:place] = random.randbytes(random.randint(1, 3))
        else:
            del changed[place : place + random.randint(1, 3)]
    return bytes(changed[: random.randrange(len(changed))] if random.random() < 0.1 else changed)


def nodes_of(graph: Any) -> list[Any]:
    """All nodes, with those of the graphs in attributes."""
    inner = [each.g for node in graph.node for each in node.attribute if each.g.node]
    return [*graph.node, *(node for each in inner for node in nodes_of(each))]


def _attribute(graph: Any, random: Random) -> None:
    """Change the value or the type of an attribute, or remove it."""
    found = [(node, each) for node in nodes_of(graph) for each in node.attribute]
    if not found:
        return
    node, attribute = random.choice(found)
    kind = random.randrange(5)
    if kind == 0:
        node.attribute.remove(attribute)
        return
    name = attribute.name
    values: list[Any] = [
        random.choice(NUMBERS), 0.5, [random.choice(NUMBERS) for _ in range(random.randrange(4))],
        random.choice(TEXTS), [0.5, float("nan")], [b"a", b"Relu"],
        onnx().numpy_helper.from_array(np.zeros(2, np.float32)),
    ]  # fmt: skip
    if kind < 3:
        same = [each for each in values if isinstance(each, list) == bool(attribute.ints)]
        values = [each for each in same if not isinstance(each, bytes) or attribute.s] or values
    value = random.choice(values)
    number = {list: onnx().AttributeProto.INTS}.get(type(value)) if value == [] else None
    made = onnx().helper.make_attribute(name, value, attr_type=number)
    attribute.CopyFrom(made)


def _new_attribute(graph: Any, random: Random) -> None:
    node = random.choice(nodes_of(graph))
    name = random.choice(("axis", "axes", "perm", "mode", "to", "body", "shape", "pads", "foo"))
    made = onnx().helper.make_attribute(name, random.choice(NUMBERS))
    node.attribute.append(made)


def _inputs(graph: Any, random: Random) -> None:
    node = random.choice(nodes_of(graph))
    names = [name for each in graph.node for name in (*each.input, *each.output)]
    kind = random.randrange(4)
    if kind == 0 and node.input:
        del node.input[random.randrange(len(node.input))]
    elif kind == 1:
        node.input.append(random.choice([*names, "missing", ""]))
    elif node.input:
        node.input[random.randrange(len(node.input))] = random.choice([*names, "", "missing"])


def _outputs(graph: Any, random: Random) -> None:
    node = random.choice(nodes_of(graph))
    kind = random.randrange(3)
    if kind == 0 and node.output:
        del node.output[random.randrange(len(node.output))]
    elif kind == 1:
        node.output.append(random.choice([*node.output, "more", ""]))
    elif node.output:
        node.output[0] = random.choice([*node.input, "x"])


def _op(graph: Any, random: Random) -> None:
    random.choice(nodes_of(graph)).op_type = random.choice(OPS)


def _other_op(graph: Any, random: Random) -> None:
    """Exchange the ops of two nodes, or use an op of ONNX."""
    schemas = onnx().defs.get_all_schemas()
    random.choice(nodes_of(graph)).op_type = random.choice(schemas).name


def _cycle(graph: Any, random: Random) -> None:
    """Move a node, or let one read the result of a later one."""
    first, last = random.choice(graph.node), random.choice(graph.node)
    if random.random() < 0.5 and first.input and last.output:
        first.input[0] = last.output[0]
        return
    copy = onnx().NodeProto()
    copy.CopyFrom(first)
    graph.node.remove(first)
    graph.node.insert(random.randint(0, len(graph.node)), copy)


def _remove(graph: Any, random: Random) -> None:
    part = random.choice((graph.node, graph.input, graph.output, graph.initializer))
    if part:
        del part[random.randrange(len(part))]


def _shape(graph: Any, random: Random) -> None:
    """Change the shape or the element type of an input or output."""
    info = random.choice([*graph.input, *graph.output])
    tensor = info.type.tensor_type
    kind = random.randrange(5)
    if kind == 0:
        tensor.elem_type = random.randrange(30)
    elif kind == 1:
        tensor.shape.dim.add().dim_value = random.choice(NUMBERS)
    elif kind == 2 and tensor.shape.dim:
        random.choice(tensor.shape.dim).dim_value = random.choice(NUMBERS)
    elif kind == 3 and tensor.shape.dim:
        random.choice(tensor.shape.dim).dim_param = "n"
    elif tensor.shape.dim:
        del tensor.shape.dim[0]
    else:
        info.type.sequence_type.elem_type.tensor_type.elem_type = 1


def _tensor(graph: Any, random: Random) -> None:
    """Change the shape, the element type, or the data of a weight."""
    if not graph.initializer:
        return
    tensor = random.choice(graph.initializer)
    kind = random.randrange(5)
    if kind == 0:
        tensor.data_type = random.randrange(30)
    elif kind == 1:
        tensor.dims.append(random.choice(NUMBERS))
    elif kind == 2 and tensor.dims:
        tensor.dims[0] = random.choice(NUMBERS)
    elif kind == 3:
        tensor.raw_data = tensor.raw_data[: random.randrange(len(tensor.raw_data) + 1)]
    elif tensor.data_type == onnx().TensorProto.INT64 and tensor.raw_data:
        count = len(tensor.raw_data) // 8
        numbers = np.array([random.choice(NUMBERS) for _ in range(count)], np.int64)
        tensor.raw_data = numbers.tobytes()


CHANGES: tuple[Callable[[Any, Random], None], ...] = (
    _attribute, _attribute, _new_attribute, _inputs, _inputs, _outputs, _op, _other_op, _cycle,
    _remove, _shape, _shape, _tensor, _tensor,
)  # fmt: skip


def arguments_for(proto: Any, most: int = 10_000) -> list[np.ndarray[Any, Any]] | None:
    """Return arguments for a model, or None if they would be large."""
    helper, found = onnx().helper, list[np.ndarray[Any, Any]]()
    weights = {each.name for each in proto.graph.initializer}
    for info in proto.graph.input:
        if info.name in weights:
            continue
        tensor = info.type.tensor_type
        shape = [each.dim_value if each.dim_value else 2 for each in tensor.shape.dim]
        if any(n < 0 for n in shape) or np.prod([float(n) for n in shape]) > most:
            return None
        try:
            dtype = helper.tensor_dtype_to_np_dtype(tensor.elem_type)
        except (KeyError, ValueError, TypeError):
            return None
        found.append(np.ones(shape, dtype))
    return found
