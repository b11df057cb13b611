"""Jitted functions whose parameter types come from the arguments of a call.

Each combination of dtypes, ranks, structures and static values has its own `Jitted`, whose
parameters are the leaves of the arguments.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import update_wrapper
from typing import Any

from riselang.api.argument_types import LeafKind, bind_types, is_leaf, leaf_kind, leaf_shape
from riselang.api.jit_kernel import JitSettings, Jitted
from riselang.api.kernel import ArgumentTypes, Kernel, argument_types
from riselang.api.lowered import Lowered
from riselang.api.signature import Parameter, Signature
from riselang.api.specs import ArraySpec, is_concrete, leaf_specs
from riselang.api.structured_calls import CallForm, StructuredCall
from riselang.api.traced import Traced
from riselang.dialects.rise.types import RiseType
from riselang.dsl.captures import Captures
from riselang.dsl.symbolic_values import Value
from riselang.dsl.tracing import Call
from riselang.dsl.user_locations import function_location, user_location
from riselang.nat import Nat
from riselang.runtime.arrays import Array
from riselang.runtime.torch_calls import TensorKey
from riselang.support.errors import UserError
from riselang.support.structures import Structure, flatten
from riselang.support.tracebacks import with_short_tracebacks

_InstanceKey = tuple[tuple[Hashable, ...], tuple[LeafKind, ...]]
"""The structure or the static value of each parameter, and what is known of each leaf."""


@dataclass(frozen=True)
class _Arguments:
    """The arguments of a call: a structure or a static value for each parameter, and the leaves."""

    values: tuple[Any, ...]
    structures: tuple[Structure | None, ...]
    """The structure of each argument; None for a static one."""
    leaves: tuple[Any, ...]
    names: tuple[str, ...]
    """A name for each leaf."""
    specs: tuple[RiseType | None, ...]
    """What the annotations require of each leaf."""

    def rebuild(self, leaves: Sequence[Any]) -> list[Any]:
        """Return the values of the parameters, with other leaves."""
        remaining = list(leaves)
        values: list[Any] = []
        for value, structure in zip(self.values, self.structures, strict=True):
            if structure is None:
                values.append(value)
                continue
            count = structure.leaf_count
            values.append(structure.unflatten(remaining[:count]))
            del remaining[:count]
        return values


class PolymorphicFunction(Jitted):
    """A jitted function that takes the types of its parameters from each call."""

    def __init__(
        self, function: Callable[..., Any], signature: Signature, settings: JitSettings
    ) -> None:
        super().__init__(function, signature.names, None, settings)
        self.signature = signature
        self._captures = Captures()
        self._instances: dict[_InstanceKey, Jitted] = {}
        self._forms: dict[CallForm, CallForm] = {}
        """The forms of calls with structures."""
        self._latest_form: CallForm | None = None
        update_wrapper(self, function, updated=())

    @property
    def types(self) -> tuple[RiseType, ...]:
        """The types of the parameters, if the annotations determine them."""
        return self._annotated_instance.types

    def _order_arguments(
        self, positional: Sequence[Any], keywords: Mapping[str, Any]
    ) -> tuple[Any, ...]:
        return self.signature.bind(positional, keywords)

    def _bind(self, arguments: Sequence[Any]) -> tuple[Any, ...]:
        """Return a value for each parameter; an ordered call has one already."""
        if len(arguments) == len(self.signature.parameters):
            return tuple(arguments)
        return self.signature.bind(arguments, {})

    def bind_call(
        self, positional: Sequence[Any], keywords: Mapping[str, Any]
    ) -> tuple[Kernel, list[Array]]:
        call = self._flatten(self.signature.bind(positional, keywords))
        return self._instance(call).bind_call(call.leaves, {})

    def _call_new_shapes(self, arguments: Sequence[Any], key: Any) -> Any:
        values = self._bind(arguments)
        if (result := self._call_structured(values, None)) is not None:
            return result
        call = self._flatten(values)
        if any(isinstance(leaf, Value) for leaf in call.leaves):
            self.check_inlined(list(zip(call.names, call.specs, call.leaves, strict=True)))
            positional, keywords = self.signature.split(call.values)
            return self.function(*positional, **keywords)
        instance = self._instance(call)
        result = instance(*call.leaves)
        self._share_call(key, call, instance)
        return result

    def _call_into(self, arguments: tuple[Any, ...], out: Any) -> Any:
        key = argument_types(arguments)
        if self._call_prepared(arguments, out, key) is None:
            values = self._bind(arguments)
            if self._call_structured(values, out) is not None:
                return out
            call = self._flatten(values)
            instance = self._instance(call)
            instance(*call.leaves, out=out)
            self._share_call(key, call, instance)
        return out

    def _share_call(self, key: ArgumentTypes, call: _Arguments, instance: Jitted) -> None:
        """Use the call that an instance has prepared, if its arguments are those of this call."""
        if None not in key and len(key) == len(call.leaves):
            prepared = instance.prepared_call(key)
            if prepared is not None:
                self.remember_call(key, prepared)
        elif None in key:
            self._share_structured_call(call, instance)

    def _share_structured_call(self, call: _Arguments, instance: Jitted) -> None:
        types = argument_types(call.leaves)
        prepared = instance.prepared_call(types)
        pairs = zip(call.structures, call.values, strict=True)
        constants = tuple(value if structure is None else None for structure, value in pairs)
        form = CallForm(call.structures, constants, tuple(map(type, call.leaves)))
        if prepared is None or not form.is_supported:
            return
        self._clear_if_full(self._forms)
        self._latest_form = form = self._forms.setdefault(form, form)
        self._clear_if_full(form.calls)
        form.calls[types] = prepared
        self._latest_call = StructuredCall(form, prepared)

    def _call_structured(self, values: Sequence[Any], out: Any) -> Any:
        """Call with arguments of the form of an earlier call; None if there has been none."""
        form = self._latest_form
        leaves = None if form is None else form.leaves(values)
        if form is None or leaves is None:
            return None
        prepared = form.calls.get(argument_types(leaves))
        if prepared is None:
            return None
        self._latest_call = StructuredCall(form, prepared)
        return prepared.native(leaves, out)

    def _call_on_gpu(self, arguments: Sequence[Any], tensors: TensorKey | None) -> Any:
        call = self._flatten(self._bind(arguments))
        instance = self._instance(call)
        result = instance._call_other_shapes(call.leaves)
        if tensors is not None and len(call.leaves) == len(arguments):
            prepared = instance._tensor_calls.get(tensors)
            if prepared is not None:
                self._remember_tensor_call(tensors, prepared)
        return result

    def call(self, arguments: Sequence[Any], known: Mapping[str, Nat]) -> Any:
        call = self._flatten(self._bind(arguments))
        return self._instance(call).call(call.leaves, known)

    @with_short_tracebacks
    def trace(self, *arguments: Any, **sizes: Any) -> Traced:
        """Trace for these arguments or types; if all parameters are annotated, also for sizes."""
        instance, leaves, sizes = self._requested_instance(arguments, sizes)
        return instance.trace(*leaves, **sizes)

    @with_short_tracebacks
    def lower(self, *arguments: Any, **sizes: Any) -> Lowered:
        """Trace and lower for these arguments or types; with annotations, also for sizes."""
        instance, leaves, sizes = self._requested_instance(arguments, sizes)
        return instance.lower(*leaves, **sizes)

    def _with_backend(self, backend: str) -> Kernel:
        kernel = super()._with_backend(backend)
        if kernel is not self and isinstance(kernel, PolymorphicFunction):
            kernel.settings = replace(self.settings, backend=backend)
            kernel._instances, kernel._forms, kernel._latest_form = {}, {}, None
        return kernel

    def sizes_of(self, arrays: Mapping[str, Array]) -> Mapping[str, Nat]:
        return self._annotated_instance.sizes_of(arrays)

    def _requested_instance(
        self, arguments: Sequence[Any], named: Mapping[str, Any]
    ) -> tuple[Jitted, Sequence[Any], dict[str, Any]]:
        keywords = {name: value for name, value in named.items() if name in self.signature.names}
        sizes = {name: value for name, value in named.items() if name not in keywords}
        if not arguments and not keywords:
            return self._annotated_instance, (), sizes
        call = self._flatten(self.signature.bind(arguments, keywords))
        return self._instance(call), call.leaves, sizes

    @property
    def _annotated_instance(self) -> Jitted:
        """The kernel for the annotated types and the defaults of the other parameters."""
        values = [self._annotated_value(parameter) for parameter in self.signature.parameters]
        return self._instance(self._flatten(values))

    def _annotated_value(self, parameter: Parameter) -> Any:
        if isinstance(parameter.spec, RiseType) and is_concrete(parameter.spec):
            return ArraySpec(parameter.spec)
        if parameter.has_default:
            return parameter.default
        raise UserError(
            f"the type of {parameter.name} is not known: pass arrays or types such as "
            f"rl.Array[8, rl.f32], or annotate {parameter.name} in {self.__name__}, as in "
            f'{parameter.name}: rl.Array["N", rl.f32]',
            user_location() or function_location(self.function),
        )

    def _flatten(self, values: Sequence[Any]) -> _Arguments:
        structures: list[Structure | None] = []
        leaves: list[Any] = []
        names: list[str] = []
        specs: list[RiseType | None] = []
        for parameter, value in zip(self.signature.parameters, values, strict=True):
            if parameter.is_static or self._is_static_owner(parameter, value):
                structures.append(None)
                continue
            own_leaves, structure = flatten(value, is_leaf)
            structures.append(structure)
            leaves += own_leaves
            names += structure.leaf_names(parameter.name)
            specs += leaf_specs(parameter.spec, structure, parameter.name)
        return _Arguments(
            tuple(values), tuple(structures), tuple(leaves), _distinct(names), tuple(specs)
        )

    def _is_static_owner(self, parameter: Parameter, value: Any) -> bool:
        """Return whether a value is the object of a method, and not a structure of arrays."""
        is_owner = parameter is self.signature.parameters[0] and parameter.name in ("self", "cls")
        return is_owner and flatten(value, is_leaf)[1].is_leaf and not is_leaf(value)

    def _instance(self, call: _Arguments) -> Jitted:
        """Return the kernel for the structures, static values, dtypes and ranks of a call."""
        kinds = tuple(
            leaf_kind(leaf, spec, name)
            for leaf, spec, name in zip(call.leaves, call.specs, call.names, strict=True)
        )
        pairs = zip(call.structures, call.values, strict=True)
        constants = [
            (type(value), value) if structure is None else structure for structure, value in pairs
        ]
        key = (tuple(constants), kinds)
        try:
            instance = self._instances.get(key)
        except TypeError as error:
            raise UserError(
                f"{self.__name__}: a static argument must be hashable, since a kernel is compiled "
                f"for each of its values, but the call contains an {error}; pass a tuple instead "
                "of a list, or a frozen dataclass",
                user_location(),
            ) from None
        if instance is None:
            instance = self._new_instance(call, kinds)
            self._clear_if_full(self._instances)
            self._instances[key] = instance
        return instance

    def _new_instance(self, call: _Arguments, kinds: Sequence[LeafKind]) -> Jitted:
        def arguments(leaves: Sequence[Any]) -> tuple[Sequence[Any], Mapping[str, Any]]:
            return self.signature.split(call.rebuild(leaves))

        form = Call(arguments, self._captures)
        shapes = [None if self.symbolic else leaf_shape(leaf) for leaf in call.leaves]
        types = bind_types(self.function, call.names, kinds, shapes, form)
        return Jitted(self.function, call.names, types, self.settings, form)

    @property
    def programs(self) -> list[Lowered]:
        return [each for instance in self._instances.values() for each in instance.programs]

    def __repr__(self) -> str:
        return f"<jitted function {self.__name__}({', '.join(self.signature.names)})>"


def _distinct(names: Sequence[str]) -> tuple[str, ...]:
    """Return the names as distinct identifiers."""
    used: dict[str, int] = {}
    results: list[str] = []
    for name in names:
        identifier = re.sub(r"\W", "_", name)
        number = used[identifier] = used.get(identifier, 0) + 1
        results.append(identifier if number == 1 else f"{identifier}_{number}")
    return tuple(results)
