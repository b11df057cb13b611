; The allocator of compiled code: `aligned_alloc` and `free` that pool large blocks between calls.
;
; Every kernel call allocates and frees its temporaries. The C library returns large blocks to the
; system, and the next call takes a page fault for each of their pages: a thousand page faults for a
; matrix multiplication of size 512, a tenth of its time. This allocator keeps such blocks in slots.
;
; Slots are only exchanged atomically, so that a block has one owner and threads need no lock. Each
; thread looks at the slots in an order of its own, so that it gets the blocks that it had before,
; whose lines are in the cache of its core. A slot contains the size of the block that was put there
; last, so that threads leave blocks of other sizes in their slots. Small blocks have slots of their
; own, so that they do not replace large ones.
;
; Each block has a header of four words: a node of the list of blocks in use, the start of its memory,
; and its size in bytes if it is pooled, else 0.
;
; Large blocks are in huge pages where the system provides them: with pages of 4 KiB, the lines of a
; packed matrix are at random positions of the L2 cache, and some of its sets are used too often.
;
; A call that ends early frees its blocks in use: `guard.ll` has their list.

%slot = type { ptr, i64 }
@slots = internal global [COUNT x %slot] zeroinitializer, align 64
@small_slots = internal global [COUNT x %slot] zeroinitializer, align 64
@turn = internal global i64 0                ; the slot whose block goes next where there are too many
@kept = internal global i64 0                ; bytes in all slots

declare ptr @aligned_alloc(i64, i64)
declare void @free(ptr)
declare i32 @madvise(ptr, i64, i32)

define internal ptr @slot(ptr %slots, i64 %number) {
  %index = urem i64 %number, COUNT
  %slot = getelementptr %slot, ptr %slots, i64 %index
  ret ptr %slot
}

; Return the slots of blocks of a size.
define internal ptr @slots_for(i64 %size) {
  %is_large = icmp uge i64 %size, LARGE_FROM
  %slots = select i1 %is_large, ptr @slots, ptr @small_slots
  ret ptr %slots
}

; Return the number of the slot at which this thread begins. Identifiers of threads are addresses,
; which differ in the number of a page; there are four slots for a thread.
define internal i64 @first_slot() {
  %self = call i64 @pthread_self()
  %page = lshr i64 %self, 12
  %number = shl i64 %page, 2
  ret i64 %number
}

define internal ptr @begin_of(ptr %block) {
  %place = getelementptr i8, ptr %block, i64 -16
  ret ptr %place
}

define internal i64 @size_of(ptr %block) {
  %place = getelementptr i8, ptr %block, i64 -8
  %size = load i64, ptr %place
  ret i64 %size
}

define internal void @return(ptr %block) {
  %place = call ptr @begin_of(ptr %block)
  %begin = load ptr, ptr %place
  call void @free(ptr %begin)
  ret void
}

; Take the block in a slot, or null if it is empty.
define internal ptr @taken(ptr %slot) {
  %block = atomicrmw xchg ptr %slot, ptr null acq_rel
  %nothing = icmp eq ptr %block, null
  br i1 %nothing, label %done, label %count
count:
  %size = call i64 @size_of(ptr %block)
  atomicrmw sub ptr @kept, i64 %size monotonic
  br label %done
done:
  ret ptr %block
}

; Put a block into the first empty slot, or replace another block; then free blocks of other slots,
; at most once around, while the pool is over its limit.
define internal void @keep(ptr %block) {
begin:
  %size = call i64 @size_of(ptr %block)
  %slots = call ptr @slots_for(i64 %size)
  atomicrmw add ptr @kept, i64 %size monotonic
  %first = call i64 @first_slot()
  %end = add i64 %first, COUNT
  br label %look
look:
  %number = phi i64 [ %first, %begin ], [ %next, %other ]
  %slot = call ptr @slot(ptr %slots, i64 %number)
  %present = load atomic ptr, ptr %slot monotonic, align 8
  %is_empty = icmp eq ptr %present, null
  br i1 %is_empty, label %try, label %other
try:
  %size_place = getelementptr %slot, ptr %slot, i32 0, i32 1
  store atomic i64 %size, ptr %size_place monotonic, align 8
  %tried = cmpxchg ptr %slot, ptr null, ptr %block acq_rel monotonic
  %put = extractvalue { ptr, i1 } %tried, 1
  br i1 %put, label %check, label %other
other:
  %next = add i64 %number, 1
  %full = icmp eq i64 %next, %end
  br i1 %full, label %replace, label %look
replace:
  %turn = atomicrmw add ptr @turn, i64 1 monotonic
  %its = call ptr @slot(ptr %slots, i64 %turn)
  call void @empty(ptr %its)
  %its_size_place = getelementptr %slot, ptr %its, i32 0, i32 1
  store atomic i64 %size, ptr %its_size_place monotonic, align 8
  %again = cmpxchg ptr %its, ptr null, ptr %block acq_rel monotonic
  %placed = extractvalue { ptr, i1 } %again, 1
  br i1 %placed, label %check, label %replace
check:
  %emptied = phi i64 [ 0, %try ], [ 0, %replace ], [ %more, %less ]
  %all = load atomic i64, ptr @kept monotonic, align 8
  %many = icmp ugt i64 %all, LIMIT
  %some = icmp ult i64 %emptied, COUNT
  %on = and i1 %many, %some
  br i1 %on, label %less, label %done
less:
  %more = add i64 %emptied, 1
  %oldest = atomicrmw add ptr @turn, i64 1 monotonic
  %large = call ptr @slot(ptr @slots, i64 %oldest)
  call void @empty(ptr %large)
  %small = call ptr @slot(ptr @small_slots, i64 %oldest)
  call void @empty(ptr %small)
  br label %check
done:
  ret void
}

define internal void @empty(ptr %slot) {
  %block = call ptr @taken(ptr %slot)
  %nothing = icmp eq ptr %block, null
  br i1 %nothing, label %done, label %free
free:
  call void @return(ptr %block)
  br label %done
done:
  ret void
}

; Whether a block of a size is at least as large as the wanted one, and at most twice as large.
define internal i1 @suits(i64 %size, i64 %wanted) {
  %twice = shl i64 %wanted, 1
  %enough = icmp uge i64 %size, %wanted
  %close = icmp ule i64 %size, %twice
  %suits = and i1 %enough, %close
  ret i1 %suits
}

; Return a pooled block that suits, or null.
define internal ptr @kept_block(i64 %wanted) {
begin:
  %slots = call ptr @slots_for(i64 %wanted)
  %first = call i64 @first_slot()
  %end = add i64 %first, COUNT
  br label %look
look:
  %number = phi i64 [ %first, %begin ], [ %next, %other ]
  %slot = call ptr @slot(ptr %slots, i64 %number)
  %present = load atomic ptr, ptr %slot monotonic, align 8
  %is_empty = icmp eq ptr %present, null
  %size_place = getelementptr %slot, ptr %slot, i32 0, i32 1
  %latest_size = load atomic i64, ptr %size_place monotonic, align 8
  %may_suit = call i1 @suits(i64 %latest_size, i64 %wanted)
  %skips = xor i1 %may_suit, true
  %passes = or i1 %is_empty, %skips
  br i1 %passes, label %other, label %take
take:
  %block = call ptr @taken(ptr %slot)
  %nothing = icmp eq ptr %block, null
  br i1 %nothing, label %other, label %measure
measure:
  %size = call i64 @size_of(ptr %block)
  %fits = call i1 @suits(i64 %size, i64 %wanted)
  br i1 %fits, label %found, label %back
found:
  ret ptr %block
back:
  call void @keep(ptr %block)
  br label %other
other:
  %next = add i64 %number, 1
  %all = icmp eq i64 %next, %end
  br i1 %all, label %none, label %look
none:
  ret ptr null
}

define ptr @rise_aligned_alloc(i64 %alignment, i64 %size) {
  %possible = icmp ule i64 %size, MOST
  br i1 %possible, label %choose, label %nothing
choose:
  %large = icmp uge i64 %size, SMALLEST
  %usual = icmp ule i64 %alignment, 64
  %may = icmp ule i64 %size, LIMIT
  %both = and i1 %large, %usual
  %keep = and i1 %both, %may
  br i1 %keep, label %look, label %new
look:
  %old = call ptr @kept_block(i64 %size)
  %none = icmp eq ptr %old, null
  br i1 %none, label %new, label %found
found:
  call void @enlist(ptr %old)
  ret ptr %old
new:
  %before = call i64 @llvm.umax.i64(i64 %alignment, i64 64)
  %whole = add i64 %size, %before
  %huge = icmp uge i64 %size, HUGE_FROM
  %unit = select i1 %huge, i64 HUGE_PAGE, i64 %before
  %last = sub i64 %unit, 1
  %more = add i64 %whole, %last
  %part = urem i64 %more, %unit
  %rounded = sub i64 %more, %part
  %begin = call ptr @aligned_alloc(i64 %unit, i64 %rounded)
  %failed = icmp eq ptr %begin, null
  br i1 %failed, label %nothing, label %advise
advise:
  br i1 %huge, label %pages, label %label
pages:
  call i32 @madvise(ptr %begin, i64 %rounded, i32 14)        ; MADV_HUGEPAGE
  br label %label
nothing:
  call void @stop(i64 %size)
  ret ptr null
label:
  %block = getelementptr i8, ptr %begin, i64 %before
  %begins = call ptr @begin_of(ptr %block)
  store ptr %begin, ptr %begins
  %bytes = select i1 %keep, i64 %size, i64 0
  %sizes = getelementptr i8, ptr %block, i64 -8
  store i64 %bytes, ptr %sizes
  call void @enlist(ptr %block)
  ret ptr %block
}

define void @rise_free(ptr %block) {
  %nothing = icmp eq ptr %block, null
  br i1 %nothing, label %done, label %look
look:
  call void @delist(ptr %block)
  %size = call i64 @size_of(ptr %block)
  %small = icmp eq i64 %size, 0
  br i1 %small, label %return, label %keep
return:
  call void @return(ptr %block)
  br label %done
keep:
  call void @keep(ptr %block)
  br label %done
done:
  ret void
}

declare i64 @llvm.umax.i64(i64, i64)
