"""Object files of LLVM for both architectures, with each way in which code refers to something."""

from __future__ import annotations

from functools import cache

import llvmlite.binding as binding

from support.machines import ARM, X86

MODELS = {"large": ("jitdefault", True, "default"), "small": ("default", False, "pic")}
"""The code models in which kernels are loaded and linked: options of the target machine."""
PROGRAM = """
@table = internal constant [4 x double] [double 1.0, double 2.0, double 3.0, double 4.5]
@pointers = internal constant [2 x ptr] [ptr @main, ptr @table]
@zeros = internal global [100 x i64] zeroinitializer, align 64
@counter = global i64 7
@environ = external global ptr
declare double @sqrt_outside(double)
declare double @other(double)
define weak double @chosen(double %x) noinline { ret double 100.0 }

; 10 times the element, its root, the number of the call, what the other object computes and 1 if
; the pointers are right.
define double @main(i64 %i) uwtable {
  %element = getelementptr double, ptr @table, i64 %i
  %value = load double, ptr %element
  %tens = fmul double %value, 10.0
  %root = call double @sqrt_outside(double %value)
  %a = fadd double %tens, %root
  %count = load i64, ptr @counter
  %next = add i64 %count, 1
  store i64 %next, ptr @counter
  %zero = getelementptr i64, ptr @zeros, i64 %i
  store i64 %count, ptr %zero
  %float = sitofp i64 %next to double
  %b = fadd double %a, %float
  %there = call double @other(double %b)
  %small = call double @chosen(double %there)
  %found = load ptr, ptr @environ
  %is_there = icmp ne ptr %found, null
  %place = getelementptr ptr, ptr @pointers, i64 1
  %pointer = load volatile ptr, ptr %place
  %is_table = icmp eq ptr %pointer, @table
  %both = and i1 %is_there, %is_table
  %one = uitofp i1 %both to double
  %result = fadd double %small, %one
  ret double %result
}
"""
OTHER = """
declare double @sqrt_outside(double)
define double @other(double %x) uwtable {
  %root = call double @sqrt_outside(double 4.0)
  %a = fmul double %root, 0x40F0000000000000
  %r = fadd double %x, %a
  ret double %r
}
define double @chosen(double %x) { ret double %x }
"""


def expected(element: int, call: int) -> float:
    """What `main` returns in a call, the first of which has number 0."""
    value = (1.0, 2.0, 3.0, 4.5)[element]
    return 10 * value + value**0.5 + (8 + call) + 2 * 65536.0 + 1


@cache
def compiled(ir: str, triple: str, model: str) -> bytes:
    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    module = binding.parse_assembly(ir)
    module.triple = triple
    code_model, jit, relocations = MODELS[model]
    machine = binding.Target.from_triple(triple).create_target_machine(
        opt=2, jit=jit, reloc=relocations, codemodel=code_model
    )
    return bytes(machine.emit_object(module))


def program(machine: str, model: str) -> list[bytes]:
    """The objects of the program for an architecture."""
    triple = {"x86_64": X86, "aarch64": ARM}[machine]
    return [compiled(ir, triple, model) for ir in (PROGRAM, OTHER)]
