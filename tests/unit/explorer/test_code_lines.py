"""LLVM IR and assembly without debug info, and what each line is for."""

from __future__ import annotations

from riselang.explorer.assembly import assembly_lines
from riselang.explorer.llvm_lines import llvm_lines

LLVM = """; ModuleID = 'LLVMDialectModule'
source_filename = "LLVMDialectModule"

define void @f(ptr %0) !dbg !3 {
  %2 = load float, ptr %0, align 4, !dbg !6
  call void @g(), !dbg !7, !range !9
  ret void, !dbg !8
}

!3 = distinct !DISubprogram(name: "f", line: 5)
!6 = !DILocation(line: 4, column: 1, scope: !3)
!7 = distinct !DILocation(line: 12, scope: !3, inlinedAt: !6)
!8 = !DILocation(line: 0, scope: !3)
"""
ASSEMBLY = """\t.text
\t.globl\tf
f:
.Lfunc_begin0:
\t.file\t1 "<parts>"
\t.loc\t1 2 0
\t.cfi_startproc
\tldr\tx9, [x29]
.Ltmp0:
\t.loc\t1 4 23 prologue_end
.LBB0_1:
\tfmadd\ts0, s1, s2, s0
\t.loc\t1 0 23 is_stmt 0
\tb.ne\t.LBB0_1
g:
\tret
\t.section\t.debug_line,"",@progbits
\t.long\t3
"""


def test_lines_of_llvm_lose_metadata_and_gain_parts() -> None:
    assert llvm_lines(LLVM) == [
        ("define void @f(ptr %0) {", -1),
        ("  %2 = load float, ptr %0, align 4", 3),
        ("  call void @g(), !range !9", 11),
        ("  ret void", -1),
        ("}", -1),
    ]


def test_lines_of_assembly_know_their_parts() -> None:
    assert assembly_lines(ASSEMBLY) == [
        ("        .text", -1),
        ("        .globl  f", -1),
        ("f:", -1),
        ("        ldr     x9, [x29]", 1),
        (".LBB0_1:", -1),
        ("        fmadd   s0, s1, s2, s0", 3),
        ("        b.ne    .LBB0_1", -1),
        ("g:", -1),
        ("        ret", -1),
    ]
