"""Compile the host's plan for a GPU program to machine code, which calls the GPU driver.

So a call costs little more than the driver's own launches, and loops of launches need no Python.
The function of a plan takes a stream and a 64-bit number for each parameter. It returns zero, or
the driver's error code and, 32 bits higher, the position of the function that failed.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count

from riselang.native import code_loading, cuda
from riselang.native.llvm import codegen as llvm
from riselang.runtime.launches import Allocate, HostPlan, Launch, Repeat, Step, TensorMap
from riselang.runtime.python_functions import FASTCALL, MethodDefinition, new_builtin
from riselang.support.errors import InternalError

CURRENT, PUSH, POP, ALLOCATE, FREE, LAUNCH, DESCRIBE = cuda.HOST_FUNCTIONS
SYMBOL, PYTHON_SYMBOL = "rise_host", "rise_host_of_python"
PYTHON_FUNCTIONS = (
    "PyLong_AsUnsignedLongLong", "PyLong_FromLongLong", "PyEval_SaveThread", "PyEval_RestoreThread",
)  # fmt: skip
"""The functions of Python's C API that a call from Python needs."""


class HostCode:
    """The machine code of a plan."""

    def __init__(self, plan: HostPlan, parameters: int, module: cuda.KernelModule):
        ir = f"{_PlanWriter(module).function(plan, parameters)}\n{_python_function(parameters)}"
        self._code = code_loading.load_objects([llvm.jit_object(ir, "fast")])
        kinds = [ctypes.c_void_p, *[ctypes.c_uint64] * parameters]
        self.function = ctypes.CFUNCTYPE(ctypes.c_int64, *kinds)(self._code.address(SYMBOL))
        """Takes the stream, None for the default one, and a number for each parameter."""
        definition = MethodDefinition(b"launch", self._code.address(PYTHON_SYMBOL), FASTCALL, None)
        self.launch: Callable[..., int] = new_builtin(definition, (self._code, definition))
        """Takes the same, but integers only; ctypes takes longer to convert them."""


class _PlanWriter:
    """Writes a plan as LLVM IR. Every value of the plan is a 64-bit slot of the stack."""

    def __init__(self, module: cuda.KernelModule):
        self._module = module
        self._addresses = module.driver.host_functions
        self._slots: dict[int, str] = {}
        self._memory: dict[str, None] = {}
        """The slots of memory to free at the end, in order."""
        self._entry: list[str] = []
        """The instructions that reserve the stack and fill it."""
        self._body: list[str] = []
        self._names = (f"%t{number}" for number in count())
        self._labels = (f"l{number}" for number in count())

    def function(self, plan: HostPlan, parameters: int) -> str:
        for number in range(parameters):
            self._entry.append(f"store i64 %p{number}, ptr {self._slot(number)}")
        self._steps(plan.steps)
        self._emit("br label %exit")
        free = [line for slot in self._memory for line in self._free_lines(slot)]
        context = f"i64 {self._module.driver.context}"
        lines = [
            "%result = alloca i64", "%current = alloca i64",
            "store i64 0, ptr %result", "store i64 0, ptr %current",
            *self._entry,
            # The context is mostly the current one, which is faster to ask for than to set.
            *self._checked_lines(CURRENT, "ptr %current", "end"),
            "%context = load i64, ptr %current",
            f"%is_current = icmp eq {context}, %context",
            "br i1 %is_current, label %start, label %push",
            "push:", *self._checked_lines(PUSH, context, "end"), "br label %start",
            "start:", *self._body, "exit:", *free,
            "br i1 %is_current, label %end, label %pop",
            "pop:", f"call i32 {self._address(POP)}(ptr %current)", "br label %end",
            "end:", "%value = load i64, ptr %result", "ret i64 %value",
        ]  # fmt: skip
        signature = ", ".join(["ptr %stream", *(f"i64 %p{each}" for each in range(parameters))])
        return "\n".join([f"define i64 @{SYMBOL}({signature}) {{", *lines, "}"])

    def _emit(self, *lines: str) -> None:
        self._body += lines

    def _slot(self, number: int) -> str:
        """Return the stack slot of a value."""
        if number not in self._slots:
            slot = self._slots[number] = f"%v{number}"
            self._entry.insert(0, f"{slot} = alloca i64")
        return self._slots[number]

    def _address(self, function: str) -> str:
        return f"inttoptr (i64 {self._addresses[function]} to ptr)"

    def _checked_lines(self, function: str, arguments: str, failure: str) -> Iterator[str]:
        """Yield a call of a driver function; if it fails, store the result and go to `failure`."""
        code, wide, marked, is_failed = (next(self._names) for _ in range(4))
        failed, following = next(self._labels), next(self._labels)
        yield f"{code} = call i32 {self._address(function)}({arguments})"
        yield f"{is_failed} = icmp ne i32 {code}, 0"
        yield f"br i1 {is_failed}, label %{failed}, label %{following}"
        yield f"{failed}:"
        yield f"{wide} = zext i32 {code} to i64"
        yield f"{marked} = or i64 {wide}, {cuda.HOST_FUNCTIONS.index(function) << 32}"
        yield f"store i64 {marked}, ptr %result"
        yield f"br label %{failure}"
        yield f"{following}:"

    def _steps(self, steps: Sequence[Step]) -> None:
        for step in steps:
            match step:
                case Allocate():
                    self._allocate(step)
                case TensorMap():
                    self._describe(step)
                case Launch():
                    self._launch(step)
                case Repeat():
                    self._repeat(step)

    def _allocate(self, step: Allocate) -> None:
        slot = self._slot(step.value)
        self._memory[slot] = None
        self._entry.append(f"store i64 0, ptr {slot}")
        arguments = f"ptr {slot}, i64 {step.bytes}, ptr %stream"
        self._emit(*self._checked_lines(ALLOCATE, arguments, "exit"))

    def _free_lines(self, slot: str) -> Iterator[str]:
        """Yield instructions that free the memory of a slot, if there is any."""
        address, is_held = next(self._names), next(self._names)
        held, following = next(self._labels), next(self._labels)
        yield f"{address} = load i64, ptr {slot}"
        yield f"{is_held} = icmp ne i64 {address}, 0"
        yield f"br i1 {is_held}, label %{held}, label %{following}"
        yield f"{held}:"
        yield f"call i32 {self._address(FREE)}(i64 {address}, ptr %stream)"
        yield f"store i64 0, ptr {slot}"
        yield f"br label %{following}"
        yield f"{following}:"

    def _describe(self, step: TensorMap) -> None:
        """Describe a part of a buffer; its slot contains the description."""
        slot = self._slots[step.value] = f"%v{step.value}"
        self._entry.insert(
            0, f"{slot} = alloca [{cuda.MAP_BYTES} x i8], align {cuda.MAP_ALIGNMENT}"
        )
        tables = [
            self._table("i64", step.sizes), self._table("i64", step.strides or (0,)),
            self._table("i32", step.box), self._table("i32", (1,) * len(step.sizes)),
        ]  # fmt: skip
        address = next(self._names)
        self._emit(f"{address} = load i64, ptr {self._slot(step.buffer)}")
        options = (0, cuda.SWIZZLE_128_BYTES, cuda.PROMOTE_128_BYTES, 0)
        arguments = [
            f"ptr {slot}", f"i32 {step.element}", f"i32 {len(step.sizes)}", f"i64 {address}",
            *(f"ptr {table}" for table in tables), *(f"i32 {option}" for option in options),
        ]  # fmt: skip
        self._emit(*self._checked_lines(DESCRIBE, ", ".join(arguments), "exit"))

    def _table(self, type: str, numbers: Sequence[int]) -> str:
        """Return an array of numbers on the stack."""
        table = next(self._names)
        self._entry.append(f"{table} = alloca [{len(numbers)} x {type}]")
        for position, number in enumerate(numbers):
            element = next(self._names)
            self._entry += [
                f"{element} = getelementptr {type}, ptr {table}, i64 {position}",
                f"store {type} {number}, ptr {element}",
            ]
        return table

    def _launch(self, step: Launch) -> None:
        number = len(step.arguments)
        pointers = next(self._names)
        self._entry.append(f"{pointers} = alloca [{max(number, 1)} x ptr]")
        for position, argument in enumerate(step.arguments):
            element = next(self._names)
            slot = self._slot(argument)
            self._entry += [
                f"{element} = getelementptr ptr, ptr {pointers}, i64 {position}",
                f"store ptr {slot}, ptr {element}",
            ]
        sizes = ", ".join(f"i32 {each}" for each in (*step.grid, *step.block, step.shared_bytes))
        function = self._module.get_function(step.kernel, step.shared_bytes)
        kernel = f"ptr inttoptr (i64 {function} to ptr)"
        arguments = f"{kernel}, {sizes}, ptr %stream, ptr {pointers}, ptr null"
        self._emit(*self._checked_lines(LAUNCH, arguments, "exit"))

    def _repeat(self, step: Repeat) -> None:
        check, body, end = (next(self._labels) for _ in range(3))
        index, value, is_inside, next_value = (next(self._names) for _ in range(4))
        slot = self._slot(step.index)
        self._copy(step.initial, step.carried)
        self._emit(f"store i64 {step.start}, ptr {slot}", f"br label %{check}", f"{check}:")
        self._emit(
            f"{index} = load i64, ptr {slot}",
            f"{is_inside} = icmp slt i64 {index}, {step.end}",
            f"br i1 {is_inside}, label %{body}, label %{end}",
            f"{body}:",
        )
        outer_memory = dict(self._memory)
        self._steps(step.steps)
        self._free_since(outer_memory, step)
        self._copy(step.yielded, step.carried)
        self._emit(
            f"{value} = load i64, ptr {slot}",
            f"{next_value} = add i64 {value}, {step.step}",
            f"store i64 {next_value}, ptr {slot}",
            f"br label %{check}",
            f"{end}:",
        )
        self._copy(step.carried, step.results)

    def _free_since(self, outer_memory: Mapping[str, None], step: Repeat) -> None:
        """Free the memory that an iteration has allocated, when its kernels have finished."""
        inner = [slot for slot in self._memory if slot not in outer_memory]
        if {self._slot(each) for each in step.yielded} & set(inner):
            raise InternalError("a loop of kernels carries memory that it has allocated")
        for slot in inner:
            self._emit(*self._free_lines(slot))

    def _copy(self, sources: Sequence[int], targets: Sequence[int]) -> None:
        """Copy values at once: a target may be one of the sources."""
        loaded: list[str] = []
        for source in sources:
            name = next(self._names)
            self._emit(f"{name} = load i64, ptr {self._slot(source)}")
            loaded.append(name)
        for name, target in zip(loaded, targets, strict=True):
            self._emit(f"store i64 {name}, ptr {self._slot(target)}")


def _python_function(parameters: int) -> str:
    """Return LLVM IR for a function that Python calls with integers: a stream, and parameters."""
    addresses = {
        name: ctypes.cast(ctypes.pythonapi[name], ctypes.c_void_p).value
        for name in PYTHON_FUNCTIONS
    }
    to_number, to_integer, release, restore = (
        f"inttoptr (i64 {address} to ptr)" for address in addresses.values()
    )
    lines: list[str] = []
    for number in range(parameters + 1):
        lines += [
            f"%pointer{number} = getelementptr ptr, ptr %arguments, i64 {number}",
            f"%object{number} = load ptr, ptr %pointer{number}",
            f"%n{number} = call i64 {to_number}(ptr %object{number})",
        ]
    passed = ", ".join(["ptr %stream", *(f"i64 %n{number + 1}" for number in range(parameters))])
    lines += [
        "%stream = inttoptr i64 %n0 to ptr",
        f"%thread = call ptr {release}()",
        f"%failure = call i64 @{SYMBOL}({passed})",
        f"call void {restore}(ptr %thread)",
        f"%result = call ptr {to_integer}(i64 %failure)",
        "ret ptr %result",
    ]
    header = f"define ptr @{PYTHON_SYMBOL}(ptr %self, ptr %arguments, i64 %count) {{"
    return "\n".join([header, *lines, "}"])
