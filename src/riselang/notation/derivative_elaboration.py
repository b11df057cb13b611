"""Elaboration of derivatives: `grad(f)`, `vjp(f)` and `jvp(f)` become the programs they denote."""

from __future__ import annotations

from collections.abc import Sequence

from riselang.dialects.rise.types import (
    DataType,
    RiseType,
    TypeVariable,
    f32,
    fun,
    is_float,
    leaves,
    uncurry,
)
from riselang.notation.context import show_type
from riselang.notation.function_elaboration import FunctionElaborator
from riselang.notation.lookup import Argument, Closure, DerivativeChoice, PatternChoice
from riselang.notation.operators import ScalarFunction
from riselang.notation.syntax import Fun, Span
from riselang.term import build
from riselang.term.finish import finish_open
from riselang.term.nodes import Term


class DerivativeElaborator(FunctionElaborator):
    """Elaborates derivatives of functions, with respect to all arguments that consist of floats."""

    def elaborate_derivative(
        self, choice: DerivativeChoice, arguments: Sequence[Argument], span: Span
    ) -> build.Node:
        if not arguments:
            raise self.error(f"{choice.name}: expected a function, as in {choice.name}(f)", span)
        function, *given = arguments
        values = [self.as_node(each) for each in given]
        root = self._differentiated(choice, function, values, span)
        types, output = self._checked_types(choice, root, span)
        needed = [*types, *self._directions(choice, types, output)]
        for type, value in zip(needed, values, strict=False):
            self.unify(type, value.type, f"{choice.name}, a value", span)
        if len(values) >= len(needed):
            own = [_with_type(each, type) for each, type in zip(values, needed, strict=False)]
            result = self._instantiate(choice, root, own, span)
            return self.node_application(result, values[len(needed) :], span)
        missing = needed[len(values) :]
        expanded = self.eta_expand(
            missing, len(missing),
            lambda more: self.elaborate_derivative(choice, [root, *values, *more], span), None,
            choice.name, span,
        )  # fmt: skip
        assert isinstance(expanded, build.Function)
        for variable, name in zip(
            expanded.parameters, _names(choice, root)[len(values) :], strict=True
        ):
            variable.name = name
        return expanded

    def count_derivative_inputs(
        self, choice: DerivativeChoice, arguments: Sequence[Argument]
    ) -> int | None:
        """Return how many values the derivative of a function takes after these arguments, if its
        definition shows it; a vjp takes one cotangent, and a jvp a tangent for each value."""
        count = self._count_parameters(arguments[0]) if arguments else None
        if count is None:
            return None
        total = {"grad": count, "vjp": count + 1, "jvp": 2 * count}[choice.name]
        return total - (len(arguments) - 1)

    def _count_parameters(self, function: Argument) -> int | None:
        if isinstance(function, build.Node):
            return len(uncurry(self.resolve(function.type))[0]) or None
        head, arguments = self.head(function)
        match head:
            case Closure(syntax=Fun() as syntax):
                count = len(syntax.parameters)
                while isinstance(syntax.body, Fun):
                    syntax = syntax.body
                    count += len(syntax.parameters)
                return count - len(arguments)
            case PatternChoice() | ScalarFunction():
                return head.arity - len(arguments)
            case DerivativeChoice():
                return self.count_derivative_inputs(head, arguments)
            case _:
                return None

    # The function

    def _differentiated(
        self, choice: DerivativeChoice, function: Argument, values: list[build.Node], span: Span
    ) -> build.Function:
        """Return the function as a lambda, whose parameters have the types of the values."""
        if isinstance(function, build.Function):
            return function
        for value in values:
            if isinstance(value, build.Constant):
                self._settle(value)
        count = self._count_parameters(function)
        if count is not None and count <= len(values):
            types = [value.type for value in values[:count]]
        else:
            count, types = None, []
        if types and isinstance(function, Closure):
            expected = fun(*types, self.inference.fresh_type())
            is_lambda = isinstance(self.head(function)[0], Closure)
            node = self.check(function, expected, choice.name, span) if is_lambda else None
            if isinstance(node, build.Function):
                return node
        if count is None:
            node = self.as_node(function)
            if isinstance(node, build.Constant):
                raise self.error(
                    f"{choice.name}: expected a function, but found {node.number}", span
                )
            self.assume_function(node, values, self.inference.fresh_type())
            if isinstance(node, build.Function):
                return node
            types = self._parameter_types(choice, node, span)
        result = self.eta_expand(
            types, len(types), lambda own: self._applied(function, own, span), None, choice.name,
            span,
        )  # fmt: skip
        assert isinstance(result, build.Function)
        return result

    def _parameter_types(
        self, choice: DerivativeChoice, node: build.Node, span: Span
    ) -> list[RiseType]:
        inputs, _ = uncurry(self.resolve(node.type))
        if not inputs:
            found = show_type(self.resolve(node.type))
            raise self.error(f"{choice.name}: expected a function, but found {found}", span)
        return list(inputs)

    def _applied(self, function: Argument, values: list[build.Node], span: Span) -> build.Node:
        """Apply a function that is built again, so that it belongs to the current scope."""
        if isinstance(function, build.Node):
            return self.node_application(function, values, span)
        head, arguments = self.head(function)
        return self.application(head, [*arguments, *values], None, span)

    def _settle(self, value: build.Constant) -> None:
        """Choose f32 for a number with a fraction whose type nothing determines."""
        type = self.resolve(value.type)
        if isinstance(type, TypeVariable) and isinstance(value.number, float):
            self.inference.unify(type, f32)

    def _checked_types(
        self, choice: DerivativeChoice, root: build.Function, span: Span
    ) -> tuple[list[RiseType], RiseType]:
        """Return the types of the parameters and of the result, which have derivatives."""
        self.check_determined_inside(root)
        inputs, output = uncurry(self.resolve(root.type))
        for type in inputs:
            if not isinstance(type, DataType):
                raise self.error(
                    f"{choice.name}: the function takes a function, of type {show_type(type)}, "
                    "which has no derivative; apply it to that function first",
                    span,
                )
        if not any(map(_is_active, inputs)):
            found = ", ".join(show_type(type) for type in inputs)
            has_complex = any(leaf.is_complex for type in inputs for _, leaf in leaves(type))
            advice = (
                "take the real and the imaginary part as arguments" if has_complex
                else "convert the argument before, with cast[f32](x)"
            )  # fmt: skip
            raise self.error(
                f"{choice.name}: derivatives exist only with respect to floats, but the function "
                f"takes {found}; {advice}",
                span,
            )
        if choice.name == "grad" and not is_float(output):
            raise self.error(
                f"grad: the function returns {show_type(output)}, but a gradient needs a result "
                "that is one float; add its elements with reduce(add, 0.0), or use vjp or jvp",
                span,
            )
        if choice.name != "grad" and not _is_active(output):
            raise self.error(
                f"{choice.name}: the function returns {show_type(output)}, but derivatives exist "
                "only of floats; return only the floats",
                span,
            )
        return list(inputs), output

    def _directions(
        self, choice: DerivativeChoice, types: Sequence[RiseType], output: RiseType
    ) -> list[RiseType]:
        if choice.name == "jvp":
            return [type for type in types if _is_active(type)]
        return [output] if choice.name == "vjp" else []

    # The derivative

    def _instantiate(
        self,
        choice: DerivativeChoice,
        root: build.Function,
        values: Sequence[build.Node],
        span: Span,
    ) -> build.Node:
        from riselang.autodiff.building import Builder
        from riselang.autodiff.instantiation import instantiate
        from riselang.autodiff.leaf_arrays import join_leaves, split_leaves

        for node in build.count_uses(root).counts:
            node.type = self.resolve(node.type)
        term, outer = finish_open(root, self.inference)
        inputs, output = uncurry(self.resolve(root.type))
        builder = Builder()
        builder.scope, builder.location = self.scope, self.location(span)
        seeds = [leaf for each in values[len(inputs) :] for leaf in split_leaves(builder, each)]
        active = [*(False for _ in outer), *map(_is_active, inputs)]
        derivative = _differentiate(choice, term, active)
        node = instantiate(builder, derivative, [*outer, *values[: len(inputs)], *seeds])
        types = [output] if choice.name == "jvp" else [each for each in inputs if _is_active(each)]
        counts = [len(list(leaves(type))) for type in types]
        _, *parts = builder.unpack(node, 1 + sum(counts))
        results: list[build.Node] = []
        for type, count in zip(types, counts, strict=True):
            results.append(join_leaves(builder, type, parts[:count]))
            del parts[:count]
        return builder.tuple(results)


def _names(choice: DerivativeChoice, root: build.Function) -> list[str]:
    """Return a name for each value that the derivative of a function takes."""
    names = [each.name for each in root.parameters]
    if choice.name == "vjp":
        return [*names, "ct"]
    active = zip(names, uncurry(root.type)[0], strict=False)
    tangents = [f"d{name}" for name, type in active if _is_active(type)]
    return [*names, *tangents] if choice.name == "jvp" else names


def _differentiate(choice: DerivativeChoice, term: Term, active: Sequence[bool]) -> Term:
    from riselang.autodiff import differentiation

    name = {"grad": "gradient_term", "vjp": "reverse_term", "jvp": "forward_term"}[choice.name]
    return getattr(differentiation, name)(term, active)


def _is_active(type: RiseType) -> bool:
    """Whether a value consists of floats."""
    return all(is_float(leaf) for _, leaf in leaves(type))


def _with_type(node: build.Node, type: RiseType) -> build.Node:
    """Return a node whose type is known, as the builder of the derivative needs."""
    node.type = type
    return node
