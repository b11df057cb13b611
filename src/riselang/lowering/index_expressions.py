"""Index expressions: symbolic naturals over loop indices, emitted as affine maps or arith ops."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, IndexType, VectorType
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineExpr

from riselang.dialects.constants import index_constant
from riselang.nat import Facts, FloorDiv, Max, Min, Mod, Nat, Variable, is_nonnegative
from riselang.nat.atoms import Atom

Add = Callable[[Operation], SSAValue]
KnownFacts = Callable[[Nat], Facts]
"""Returns the facts about the variables of an expression."""


MAX_ATOMS = 64
MAX_CHOICES = 6
"""Three padded dimensions: each is clamped by a min and a max, which gives 27 loads."""


def fits_affine_map(expressions: Sequence[Nat]) -> bool:
    """Whether the expressions stay small in an affine map, which cannot share subexpressions."""
    known_sizes: dict[Nat, tuple[int, int]] = {}
    sizes = [_expanded_size(expression, known_sizes) for expression in expressions]
    atoms, choices = (sum(column) for column in zip((0, 0), *sizes, strict=True))
    return atoms <= MAX_ATOMS and choices <= MAX_CHOICES


def _expanded_size(expression: Nat, sizes: dict[Nat, tuple[int, int]]) -> tuple[int, int]:
    """Return the numbers of atoms and of min and max in an expression without sharing."""
    if expression not in sizes:
        atoms = choices = 0
        for atom in expression.atoms():
            atoms += 1
            choices += isinstance(atom, Min | Max)
            for part in () if isinstance(atom, Variable) else _parts(atom):
                inner = _expanded_size(part, sizes)
                atoms, choices = atoms + inner[0], choices + inner[1]
        sizes[expression] = atoms, choices
    return sizes[expression]


def _parts(atom: FloorDiv | Mod | Min | Max) -> tuple[Nat, ...]:
    return atom.arguments if isinstance(atom, Min | Max) else (atom.dividend, atom.divisor)


def first_min_max(expression: Nat) -> Min | Max | None:
    """Return an innermost min or max in `expression`, the one to decide first."""
    for atom in expression.atoms():
        if isinstance(atom, Variable):
            continue
        for part in _parts(atom):
            if (choice := first_min_max(part)) is not None:
                return choice
        if isinstance(atom, Min | Max):
            return atom
    return None


def replace_atom(expression: Nat, atom: Atom, replacement: Nat) -> Nat:
    def visit(part: Atom) -> Nat:
        if part == atom:
            return replacement
        match part:
            case Variable():
                return Nat.from_atom(part)
            case FloorDiv(dividend, divisor):
                return dividend.map_atoms(visit) // divisor.map_atoms(visit)
            case Mod(dividend, divisor):
                return dividend.map_atoms(visit) % divisor.map_atoms(visit)
            case Min(arguments) | Max(arguments):
                return Nat.from_atom(
                    type(part)(tuple(argument.map_atoms(visit) for argument in arguments))
                )

    return expression.map_atoms(visit)


def affine_expression(expression: Nat, dimensions: Mapping[str, int]) -> AffineExpr:
    """Convert an expression to an MLIR affine expression over numbered dimensions."""
    total: AffineExpr | None = None
    for coefficient, monomial in expression.terms():
        if not monomial:
            part: AffineExpr = AffineExpr.constant(coefficient)
        else:
            part = _affine_atom(monomial[0][0], dimensions)
            part = part if coefficient == 1 else part * coefficient
        total = part if total is None else total + part
    return AffineExpr.constant(0) if total is None else total


def _affine_atom(atom: Atom, dimensions: Mapping[str, int]) -> AffineExpr:
    match atom:
        case Variable(name):
            return AffineExpr.dimension(dimensions[name])
        case FloorDiv(dividend, divisor):
            return affine_expression(dividend, dimensions) // divisor.constant
        case Mod(dividend, divisor):
            return affine_expression(dividend, dimensions) % divisor.constant
        case _:
            raise TypeError(f"{atom} is not affine")


class IndexEmitter:
    """Emits index expressions as arith ops, each subexpression once."""

    def __init__(self, add: Add, variables: Mapping[str, SSAValue], facts: KnownFacts):
        self.add = add
        self.variables = variables
        self.facts = facts
        self.emitted_values: dict[Nat, SSAValue] = {}

    def value(self, expression: Nat) -> SSAValue:
        if expression not in self.emitted_values:
            self.emitted_values[expression] = self._emit(expression)
        return self.emitted_values[expression]

    def _emit(self, expression: Nat) -> SSAValue:
        if expression.is_constant:
            return self._constant(expression.constant)
        total: SSAValue | None = None
        for coefficient, monomial in expression.terms():
            part = self._product(coefficient, [a for a, power in monomial for _ in range(power)])
            total = part if total is None else self.add(arith.AddiOp(total, part))
        assert total is not None
        return total

    def _product(self, coefficient: int, atoms: Sequence[Atom]) -> SSAValue:
        if not atoms:
            return self._constant(coefficient)
        product = self._atom(atoms[0])
        for atom in atoms[1:]:
            product = self.add(arith.MuliOp(product, self._atom(atom)))
        if coefficient != 1:
            product = self.add(arith.MuliOp(product, self._constant(coefficient)))
        return product

    def _atom(self, atom: Atom) -> SSAValue:
        match atom:
            case Variable(name):
                return self.variables[name]
            case FloorDiv(dividend, divisor):
                op = arith.DivUIOp if self._is_natural(dividend) else arith.FloorDivSIOp
                return self.add(op(self.value(dividend), self.value(divisor)))
            case Mod(dividend, divisor) if self._is_natural(dividend):
                return self.add(arith.RemUIOp(self.value(dividend), self.value(divisor)))
            case Mod(dividend, divisor):
                # `x - floor(x / d) * d`, which is nonnegative.
                number, divided_by = self.value(dividend), self.value(divisor)
                quotient = self.add(arith.FloorDivSIOp(number, divided_by))
                return self.add(arith.SubiOp(number, self.add(arith.MuliOp(quotient, divided_by))))
            case Min(arguments) | Max(arguments):
                op = arith.MinSIOp if isinstance(atom, Min) else arith.MaxSIOp
                result = self.value(arguments[0])
                for argument in arguments[1:]:
                    result = self.add(op(result, self.value(argument)))
                return result

    def _is_natural(self, expression: Nat) -> bool:
        return is_nonnegative(expression, self.facts(expression))

    def _constant(self, number: int) -> SSAValue:
        return self.add(index_constant(number))


class LaneIndexEmitter(IndexEmitter):
    """Emits index expressions that contain a lane variable as vectors, one index for each lane."""

    def __init__(self, scalars: IndexEmitter, lane: str, lanes: int):
        super().__init__(scalars.add, {}, scalars.facts)
        self.scalars = scalars
        self.lane = lane
        self.lanes = lanes

    def value(self, expression: Nat) -> SSAValue:
        if self.lane in expression.variables:
            return super().value(expression)
        return self._broadcast(self.scalars.value(expression))

    def _atom(self, atom: Atom) -> SSAValue:
        if not isinstance(atom, Variable):
            return super()._atom(atom)
        if atom.name == self.lane:
            return self._constants(range(self.lanes))
        return self._broadcast(self.scalars.variables[atom.name])

    def _constant(self, number: int) -> SSAValue:
        return self._constants([number] * self.lanes)

    def _constants(self, numbers: Sequence[int]) -> SSAValue:
        type = VectorType(IndexType(), [self.lanes])
        return self.add(arith.ConstantOp(DenseIntOrFPElementsAttr.from_list(type, list(numbers))))

    def _broadcast(self, scalar: SSAValue) -> SSAValue:
        return self.add(vector.BroadcastOp(scalar, VectorType(IndexType(), [self.lanes])))
