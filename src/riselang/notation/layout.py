"""Pretty-printing of syntax, with line breaks where it is long.

A function with a short body stays on one line; otherwise its body starts a new line. Pipelines fill
each line. Widths are computed once, bottom-up, so the time is linear.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from riselang.dialects.rise.type_printer import format_type
from riselang.nat import Nat
from riselang.notation.source import Comment
from riselang.notation.syntax import (
    Array,
    Ascription,
    Binary,
    Call,
    Constant,
    DepCall,
    DepFun,
    Fun,
    If,
    Let,
    Marked,
    Name,
    Option,
    Parameter,
    Pipe,
    Syntax,
    Text,
    Tuple,
    Unary,
    children,
)
from riselang.notation.writer import Writer
from riselang.support.recursion import with_deep_stack

WIDTH = 88
INLINE_FUNCTION = WIDTH // 2
MARK = "⟦⟧"
"""The brackets around a marked part."""
NEVER_FITS = 1 << 40
"""The width of syntax that never fits on one line."""
PRECEDENCES = {
    "<": 2, "<=": 2, ">": 2, ">=": 2, "==": 2, "!=": 2, "|": 3, "^": 4, "&": 5, "<<": 6, ">>": 6,
    "+": 7, "-": 7, "*": 8, "/": 8, "//": 8, "%": 8, "floordiv": 8, "mod": 8,
}  # fmt: skip
EXPRESSION, PIPE, COMPARISON, UNARY, CALL, PRIMARY = 0, 1, 2, 9, 10, 11


Point = tuple[int, int]
"""A line and a column, from 0."""


@dataclass(frozen=True)
class SyntaxExtents:
    """The extents of the parts of an expression in its text: start, and end (exclusive)."""

    parts: dict[Syntax, tuple[Point, Point]] = field(
        default_factory=dict[Syntax, tuple[Point, Point]]
    )
    operators: dict[Syntax, tuple[Point, Point]] = field(
        default_factory=dict[Syntax, tuple[Point, Point]]
    )
    """The extent of the operator symbol of each binary expression."""


@with_deep_stack
def layout(
    syntax: Syntax,
    start: str = "",
    comments: Mapping[int, Sequence[Comment]] | None = None,
    syntax_extents: SyntaxExtents | None = None,
) -> str:
    """Print an expression that follows `start` on its line.

    `comments` go before the token with their number; see `writer.py`. With `syntax_extents`, the
    extents of the parts are recorded in it.
    """
    return _Layout(comments or {}, syntax_extents).print_syntax(syntax, start)


class _Layout(Writer):
    def __init__(
        self, comments: Mapping[int, Sequence[Comment]], syntax_extents: SyntaxExtents | None = None
    ):
        super().__init__(comments)
        self.syntax_extents = syntax_extents
        self.widths: dict[Syntax, int] = {}
        self.widest: dict[Syntax, int] = {}
        """The width of the widest function in an expression, which decides on line breaks."""

    def print_syntax(self, syntax: Syntax, start: str) -> str:
        self.measure(syntax)
        self.put(start)
        begin = self.point
        if isinstance(syntax, Fun):
            self.write_function(syntax, 0, broken=True)
            self.record_extent(syntax, begin)
        else:
            self.write(syntax, 0, EXPRESSION)
        return "".join(self.pieces)

    @property
    def point(self) -> Point:
        return self.line, self.column

    def record_extent(self, syntax: Syntax, begin: Point) -> None:
        """Record that a part extends from a point to here."""
        if self.syntax_extents is not None:
            self.syntax_extents.parts[syntax] = begin, self.point

    # Widths

    def measure(self, syntax: Syntax) -> None:
        width, widest = 0, 0
        for child in children(syntax):
            self.measure(child)
            widest = max(widest, self.widest[child])
            width += self.widths[child] + 2 * _needs_parentheses(syntax, child)
        match syntax:
            case Fun(parameters=parameters):
                head = len(_parameters_text(parameters))
                widest = width + head
                width += head + len("fun(, )")
            case Let() | DepFun():
                width = widest = NEVER_FITS
            case _:
                width += _own_width(syntax)
        self.widths[syntax] = width
        self.widest[syntax] = widest

    def must_break(self, syntax: Syntax, indent: int) -> bool:
        """Whether a function in `syntax` has its body on a separate line."""
        return self.widest[syntax] + indent >= INLINE_FUNCTION

    # Text

    def write(self, syntax: Syntax, indent: int, level: int) -> None:
        """Write `syntax`, in parentheses if it binds less tightly than `level`."""
        begin = self.point
        if _precedence(syntax) >= level:
            self.write_bare(syntax, indent)
        else:
            self.put("(")
            self.write_bare(syntax, indent + 1)
            self.put(")")
        self.record_extent(syntax, begin)

    def write_bare(self, syntax: Syntax, indent: int) -> None:
        match syntax:
            case Name(text=text) | Constant(text=text) | Text(literal=text):
                self.put(text)
            case Option():
                self.put(_option_text(syntax))
            case Fun():
                self.write_function(syntax, indent, self.must_break(syntax, indent))
            case DepFun():
                self.write_dependent(syntax, indent)
            case DepCall(function=function):
                self.write(function, indent, CALL)
                self.put(f"@{_argument_text(syntax)}")
            case Call():
                self.write_call(syntax, indent)
            case Pipe():
                self.write_pipe(syntax, indent)
            case Let():
                self.write_let(syntax, indent)
            case If():
                self.write_if(syntax, indent)
            case Binary():
                self.write_binary(syntax, indent)
            case Unary(operator=operator, operand=operand):
                self.put(operator)
                self.write(operand, indent, UNARY)
            case Tuple(items=items):
                self.write_arguments(items, indent)
            case Array(items=items):
                self.write_array(items, indent)
            case Ascription(value=value):
                self.put("(")
                self.write(value, indent + 1, EXPRESSION)
                self.put(f" : {_type_text(syntax)})")
            case Marked(value=value):
                self.put(MARK[0])
                self.write(value, indent + 1, EXPRESSION)
                self.put(MARK[1])
            case _:
                raise TypeError(f"{syntax} is not an expression")

    def write_function(self, function: Fun, indent: int, broken: bool) -> None:
        self.put("fun(")
        head = _parameters_text(function.parameters)
        if self.column + len(head) >= WIDTH and len(function.parameters) > 1:
            self.write_parameters(function.parameters, indent + 2)
            broken = True
        else:
            self.put(head)
        self.put(",")
        if broken:
            self.newline(indent + 2)
            self.write(function.body, indent + 2, EXPRESSION)
        else:
            self.put(" ")
            self.write(function.body, indent, EXPRESSION)
        self.put(")")

    def write_dependent(self, function: DepFun, indent: int) -> None:
        self.put(f"depFun({function.name} : {function.kind},")
        self.newline(indent + 2)
        self.write(function.body, indent + 2, EXPRESSION)
        self.put(")")

    def write_parameters(self, parameters: Sequence[Parameter], indent: int) -> None:
        """Write parameters that are too long for one line on a line each."""
        self.newline(indent)
        self.put("(")
        for position, parameter in enumerate(parameters):
            if position:
                self.put(",")
                self.newline(indent + 1)
            self.put(_parameter_text(parameter))
        self.put(")")

    def write_call(self, call: Call, indent: int) -> None:
        self.write(call.function, indent, CALL)
        self.write_arguments(call.arguments, indent)

    def write_arguments(self, arguments: Sequence[Syntax], indent: int) -> None:
        """Write arguments in parentheses; on a line each if they are too long for one line."""
        spread = self.is_one_per_line(arguments, indent)
        self.put("(")
        for position, argument in enumerate(arguments):
            if position:
                self.put("," if spread else ", ")
            if spread:
                self.newline(indent + 2)
            inner = spread or isinstance(argument, Pipe | Binary | If)
            self.write(argument, indent + 2 * inner, EXPRESSION)
        self.put(")")

    def write_array(self, items: Sequence[Syntax], indent: int) -> None:
        """Write the elements of an array, which fill each line; rows start on lines of their own
        if they are too long for one line."""
        has_rows = isinstance(items[0], Array)
        is_long = self.column + sum(self.widths[item] + 2 for item in items) > WIDTH
        self.put("[")
        for position, item in enumerate(items):
            if position:
                is_full = self.column + self.widths[item] + 2 > WIDTH
                if is_full or (has_rows and is_long):
                    self.put(",")
                    self.newline(indent + 2)
                else:
                    self.put(", ")
            self.write(item, indent + 2, EXPRESSION)
        self.put("]")

    def is_one_per_line(self, arguments: Sequence[Syntax], indent: int) -> bool:
        """Whether each argument is on a separate line; the last may be a long function."""
        *earlier, last = arguments
        if isinstance(last, Let) or any(self.must_break(other, indent) for other in earlier):
            return True
        width = sum(self.widths[other] + 2 for other in earlier) + self.first_line_width(
            last, indent
        )
        return bool(earlier) and self.column + width > WIDTH

    def first_line_width(self, syntax: Syntax, indent: int) -> int:
        """Return the width of the first line of `syntax`, or any value above `WIDTH`."""
        width = 0
        while width <= WIDTH and self.must_break(syntax, indent):
            match syntax:
                case Fun(parameters=parameters):
                    return width + len("fun(,") + len(_parameters_text(parameters))
                case Call(function=function, arguments=(*others, last)):
                    width += self.widths[function] + 1
                    if isinstance(last, Let) or any(self.must_break(o, indent) for o in others):
                        return width
                    width += sum(self.widths[other] + 2 for other in others)
                    syntax = last
                case Pipe(value=value):
                    syntax = value
                case _:
                    return width + 1
        return width + self.widths[syntax]

    def is_flat(self, syntax: Syntax, indent: int) -> bool:
        return not self.must_break(syntax, indent)

    def write_pipe(self, pipe: Pipe, indent: int) -> None:
        begin = self.point
        chain: list[Pipe] = []
        value: Syntax = pipe
        while isinstance(value, Pipe):
            chain.append(value)
            value = value.value
        self.write(value, indent, COMPARISON)
        for each in reversed(chain):
            function = each.function
            if self.column + self.first_line_width(function, indent) >= WIDTH:
                self.newline(indent)
                self.put("|> ")
            else:
                self.put(" |> ")
            self.write(function, indent, COMPARISON)
            self.record_extent(each, begin)

    def write_let(self, let: Let, indent: int) -> None:
        body: Syntax = let
        begins: dict[Syntax, Point] = {}
        while isinstance(body, Let):
            begins[body] = self.point
            self.put(f"let {body.name} = ")
            self.write(body.value, indent + 2, EXPRESSION)
            self.put(";")
            self.newline(indent)
            body = body.body
        self.write(body, indent, EXPRESSION)
        for each, begin in begins.items():
            self.record_extent(each, begin)

    def write_if(self, syntax: If, indent: int) -> None:
        fits_on_line = self.column + self.widths[syntax] <= WIDTH
        self.put("if ")
        self.write(syntax.condition, indent + 2, PIPE)
        for word, part in (("then", syntax.chosen), ("else", syntax.other)):
            if fits_on_line:
                self.put(" ")
            else:
                self.newline(indent)
            self.put(f"{word} ")
            self.write(part, indent + 2, EXPRESSION if word == "else" else PIPE)

    def write_binary(self, syntax: Binary, indent: int) -> None:
        level = PRECEDENCES[syntax.operator]
        begin = self.point
        chain: list[Binary] = []
        left: Syntax = syntax
        while isinstance(left, Binary) and PRECEDENCES[left.operator] == level:
            chain.append(left)
            left = left.left
            if level == COMPARISON:
                break
        self.write(left, indent, level + (level == COMPARISON))
        for part in reversed(chain):
            width = self.widths[part.right] + 1
            self.put(" ")
            sign = self.point
            self.put(part.operator)
            if self.syntax_extents is not None:
                self.syntax_extents.operators[part] = sign, self.point
            # Break after the operator: at the start of a line, `//` would be a comment.
            if self.column + width > WIDTH and self.is_flat(part.right, indent):
                self.newline(indent)
            else:
                self.put(" ")
            self.write(part.right, indent, level + 1)
            self.record_extent(part, begin)


def _precedence(syntax: Syntax) -> int:
    match syntax:
        case Let() | If():
            return EXPRESSION
        case Pipe():
            return PIPE
        case Binary(operator=operator):
            return PRECEDENCES[operator]
        case Unary() | Fun() | DepFun():  # a function that is applied is in parentheses
            return UNARY
        case Constant(text=text) if text[0] == "-":
            return UNARY
        case Call() | DepCall():
            return CALL
        case _:
            return PRIMARY


def _needs_parentheses(parent: Syntax, child: Syntax) -> bool:
    """Whether `child` is in parentheses below `parent`, which add to the width."""
    match parent:
        case Binary(operator=operator, right=right):
            level = PRECEDENCES[operator]
            return _precedence(child) < level + (child is right or level == COMPARISON)
        case Unary():
            return _precedence(child) < UNARY
        case Pipe(value=value):
            return _precedence(child) < (PIPE if child is value else COMPARISON)
        case Call(function=function) | DepCall(function=function):
            return child is function and _precedence(child) < CALL
        case _:
            return False


def _own_width(syntax: Syntax) -> int:
    """Return the width of a node without its children."""
    match syntax:
        case Name(text=text) | Constant(text=text):
            return len(text)
        case Text(literal=literal):
            return max(len(line) for line in literal.split("\n"))
        case Option():
            return len(_option_text(syntax))
        case Call(arguments=arguments) | Tuple(items=arguments) | Array(items=arguments):
            return 2 * len(arguments)
        case DepCall():
            return 1 + len(_argument_text(syntax))
        case Pipe():
            return len(" |> ")
        case Ascription():
            return len("( : )") + len(_type_text(syntax))
        case Marked():
            return len(MARK)
        case If():
            return len("if  then  else ")
        case Binary(operator=operator):
            return len(operator) + 2
        case _:
            return 1


def _option_text(option: Option) -> str:
    choice = option.choice if isinstance(option.choice, str) else format_type(option.choice)
    return f"{option.name}[{option.type_text or choice}]"


def _type_text(node: Ascription | Parameter) -> str:
    """Return the type of a node as its author wrote it."""
    return node.type_text or ("" if node.type is None else format_type(node.type))


def _argument_text(call: DepCall) -> str:
    """Print the size or type that a dependent function is applied to."""
    if call.argument_text is not None:
        return call.argument_text
    if not isinstance(call.argument, Nat):
        return f"[{format_type(call.argument)}]"
    text = str(call.argument)
    return text if text.isalnum() else f"({text})"


def _parameters_text(parameters: Sequence[Parameter]) -> str:
    """Print the parameters; in parentheses if there are several, or one with a type."""
    texts = [_parameter_text(parameter) for parameter in parameters]
    if len(parameters) == 1 and parameters[0].type is None:
        return texts[0]
    return f"({', '.join(texts)})"


def _parameter_text(parameter: Parameter) -> str:
    name = parameter.name
    return name if parameter.type is None else f"{name} : {_type_text(parameter)}"
