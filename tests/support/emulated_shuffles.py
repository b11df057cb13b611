"""Shuffles as code of this processor: the lanes of a warp leave their values in memory."""

from __future__ import annotations

import re

SHARES = "share_between_lanes"
_THREADS, _WARPS = 1024, 32


def define_shuffles(ir: str) -> str:
    """Define the function that returns the value of another lane, given the calling thread.

    The lanes of a warp wait for each other before they read, and before they write again.
    """
    ir, count = re.subn(rf"(?m)^declare i32 @{SHARES}\(i32, i32, i32\).*\n", "", ir)
    return f"{ir}\n{_FUNCTIONS}" if count else ir


_FUNCTIONS = f"""
@lane_values = internal global [{_THREADS} x i32] zeroinitializer
@lane_arrivals = internal global [{_WARPS} x i32] zeroinitializer
declare i32 @sched_yield()

define internal void @wait_for_lanes(i32 %warp) {{
entry:
  %arrivals = getelementptr i32, ptr @lane_arrivals, i32 %warp
  %ticket = atomicrmw add ptr %arrivals, i32 1 seq_cst
  %round = udiv i32 %ticket, 32
  %next = add i32 %round, 1
  %last = mul i32 %next, 32
  br label %wait
wait:
  %arrived = load atomic i32, ptr %arrivals seq_cst, align 4
  %all = icmp uge i32 %arrived, %last
  br i1 %all, label %end, label %yield
yield:
  %ignored = call i32 @sched_yield()
  br label %wait
end:
  ret void
}}

define i32 @{SHARES}(i32 %value, i32 %distance, i32 %thread) {{
  %warp = udiv i32 %thread, 32
  %own = getelementptr i32, ptr @lane_values, i32 %thread
  store atomic i32 %value, ptr %own seq_cst, align 4
  call void @wait_for_lanes(i32 %warp)
  %lane = xor i32 %thread, %distance
  %other = getelementptr i32, ptr @lane_values, i32 %lane
  %result = load atomic i32, ptr %other seq_cst, align 4
  call void @wait_for_lanes(i32 %warp)
  ret i32 %result
}}
"""
