; Calls of compiled code that can end early: on a signal such as Ctrl-C, or if memory runs out.
;
; `entry_points.py` generates a guarded entry point for each function that needs one. It allocates a
; frame on its stack, calls `_setjmp` with it, and calls the function; `stop` jumps back there. A
; thread finds its frame by a pthread key. `stop` does nothing in a thread without a frame. The body of a
; parallel loop has a frame of its own in each thread, since the other threads must leave it first.
;
; A frame has the frame of the enclosing call, the reason for the end, the list of memory blocks in
; use (a node: next, previous), and at byte 64 the buffer of `_setjmp`.

%node = type { ptr, ptr }
%frame = type { ptr, i64, %node }

@key = internal global i32 0
@main_thread = internal global i64 0
@left = internal global i64 0                ; work until the clock is read
@checked = internal global i64 0             ; nanoseconds at the last look for signals
@rise_error = global [3 x ptr] zeroinitializer    ; the Python exception that ended a call

declare i32 @pthread_key_create(ptr, ptr)
declare ptr @pthread_getspecific(i32)
declare i32 @pthread_setspecific(i32, ptr)
declare i64 @pthread_self()
declare i32 @clock_gettime(i32, ptr)
declare void @longjmp(ptr, i32) noreturn
declare i32 @_setjmp(ptr) returns_twice
declare i32 @PyGILState_Ensure()
declare void @PyGILState_Release(i32)
declare i32 @PyErr_CheckSignals()
declare void @PyErr_Fetch(ptr, ptr, ptr)
declare void @PyErr_NormalizeException(ptr, ptr, ptr)

define i32 @rise_start_guard(i64 %main) {
  store i64 %main, ptr @main_thread
  %failed = call i32 @pthread_key_create(ptr @key, ptr null)
  ret i32 %failed
}

define internal ptr @current() {
  %key = load i32, ptr @key
  %frame = call ptr @pthread_getspecific(i32 %key)
  ret ptr %frame
}

define internal void @make_current(ptr %frame) {
  %key = load i32, ptr @key
  %done = call i32 @pthread_setspecific(i32 %key, ptr %frame)
  ret void
}

define void @rise_enter(ptr %frame) {
  %around = call ptr @current()
  store ptr %around, ptr %frame
  %reason = getelementptr %frame, ptr %frame, i32 0, i32 1
  store i64 0, ptr %reason
  %list = getelementptr %frame, ptr %frame, i32 0, i32 2
  store ptr %list, ptr %list
  %previous = getelementptr %node, ptr %list, i32 0, i32 1
  store ptr %list, ptr %previous
  call void @make_current(ptr %frame)
  ret void
}

; Free the blocks in use, and return the reason for the end, or 0 if the function returned.
define i64 @rise_leave(ptr %frame) {
  %list = getelementptr %frame, ptr %frame, i32 0, i32 2
  br label %look
look:
  %first = load ptr, ptr %list
  %empty = icmp eq ptr %first, %list
  br i1 %empty, label %done, label %free
free:
  %block = getelementptr i8, ptr %first, i64 32
  call void @rise_free(ptr %block)
  br label %look
done:
  %around = load ptr, ptr %frame
  call void @make_current(ptr %around)
  %place = getelementptr %frame, ptr %frame, i32 0, i32 1
  %reason = load i64, ptr %place
  ret i64 %reason
}

define internal ptr @node_of(ptr %block) {
  %node = getelementptr i8, ptr %block, i64 -32
  ret ptr %node
}

define internal void @enlist(ptr %block) {
  %node = call ptr @node_of(ptr %block)
  %frame = call ptr @current()
  %free = icmp eq ptr %frame, null
  br i1 %free, label %alone, label %link
alone:
  store ptr null, ptr %node
  ret void
link:
  %list = getelementptr %frame, ptr %frame, i32 0, i32 2
  %next = load ptr, ptr %list
  store ptr %next, ptr %node
  %back = getelementptr %node, ptr %node, i32 0, i32 1
  store ptr %list, ptr %back
  %next_back = getelementptr %node, ptr %next, i32 0, i32 1
  store ptr %node, ptr %next_back
  store ptr %node, ptr %list
  ret void
}

define internal void @delist(ptr %block) {
  %node = call ptr @node_of(ptr %block)
  %next = load ptr, ptr %node
  %alone = icmp eq ptr %next, null
  br i1 %alone, label %done, label %unlink
unlink:
  %back = getelementptr %node, ptr %node, i32 0, i32 1
  %previous = load ptr, ptr %back
  store ptr %next, ptr %previous
  %next_back = getelementptr %node, ptr %next, i32 0, i32 1
  store ptr %previous, ptr %next_back
  br label %done
done:
  ret void
}

define internal void @stop(i64 %reason) {
  %frame = call ptr @current()
  %none = icmp eq ptr %frame, null
  br i1 %none, label %done, label %jump
jump:
  %place = getelementptr %frame, ptr %frame, i32 0, i32 1
  store i64 %reason, ptr %place
  %buffer = getelementptr i8, ptr %frame, i64 64
  call void @longjmp(ptr %buffer, i32 1)
  unreachable
done:
  ret void
}

; Whether a Python signal handler raised an exception, which is then in `rise_error`. Only the main
; thread runs handlers, and checking takes the GIL, so checks are rare.
define internal i1 @is_interrupted(i64 %work) {
  %left = load atomic i64, ptr @left monotonic, align 8
  %less = sub i64 %left, %work
  store atomic i64 %less, ptr @left monotonic, align 8
  %soon = icmp sgt i64 %less, 0
  br i1 %soon, label %no, label %read
read:
  store atomic i64 WORK, ptr @left monotonic, align 8
  %self = call i64 @pthread_self()
  %main = load i64, ptr @main_thread
  %is_main = icmp eq i64 %self, %main
  br i1 %is_main, label %clock, label %no
clock:
  %time = alloca [2 x i64]
  %failed = call i32 @clock_gettime(i32 CLOCK, ptr %time)
  %seconds = load i64, ptr %time
  %rest_place = getelementptr i64, ptr %time, i64 1
  %rest = load i64, ptr %rest_place
  %whole = mul i64 %seconds, 1000000000
  %now = add i64 %whole, %rest
  %before = load i64, ptr @checked
  %passed = sub i64 %now, %before
  %early = icmp ult i64 %passed, 200000000
  br i1 %early, label %no, label %check
check:
  store i64 %now, ptr @checked
  %state = call i32 @PyGILState_Ensure()
  %raised = call i32 @PyErr_CheckSignals()
  %quiet = icmp eq i32 %raised, 0
  br i1 %quiet, label %release, label %fetch
fetch:
  %value = getelementptr ptr, ptr @rise_error, i64 1
  %trace = getelementptr ptr, ptr @rise_error, i64 2
  call void @PyErr_Fetch(ptr @rise_error, ptr %value, ptr %trace)
  call void @PyErr_NormalizeException(ptr @rise_error, ptr %value, ptr %trace)
  br label %release
release:
  call void @PyGILState_Release(i32 %state)
  %interrupted = xor i1 %quiet, true
  ret i1 %interrupted
no:
  ret i1 false
}

; Called by long loops, with the number of operations since the last call.
define void @rise_poll(i64 %work) {
  %interrupted = call i1 @is_interrupted(i64 %work)
  br i1 %interrupted, label %end, label %done
end:
  call void @stop(i64 1)
  br label %done
done:
  ret void
}

; Called by iterations of parallel loops, which share a flag: whether to skip the remaining work.
define i1 @rise_poll_parallel(i64 %address, i64 %work) {
  %flag = inttoptr i64 %address to ptr
  %set = load atomic i8, ptr %flag monotonic, align 1
  %known = icmp ne i8 %set, 0
  br i1 %known, label %yes, label %look
look:
  %interrupted = call i1 @is_interrupted(i64 %work)
  br i1 %interrupted, label %tell, label %no
tell:
  store atomic i8 1, ptr %flag monotonic, align 1
  br label %yes
yes:
  ret i1 true
no:
  ret i1 false
}

; Called after a parallel loop.
define void @rise_stop(i64 %address) {
  %flag = inttoptr i64 %address to ptr
  %set = load atomic i8, ptr %flag monotonic, align 1
  %known = icmp ne i8 %set, 0
  br i1 %known, label %end, label %done
end:
  call void @stop(i64 1)
  br label %done
done:
  ret void
}

; Call the body of a parallel loop; return the reason if it ended early, or 0.
define i64 @rise_run_body(ptr %function, ptr %number, ptr %argument) {
  %frame = alloca [1024 x i8], align 16
  call void @rise_enter(ptr %frame)
  %buffer = getelementptr i8, ptr %frame, i64 64
  %ended = call i32 @_setjmp(ptr %buffer) returns_twice
  %begins = icmp eq i32 %ended, 0
  br i1 %begins, label %run, label %leave
run:
  call void %function(ptr %number, ptr %number, ptr %argument)
  br label %leave
leave:
  %reason = call i64 @rise_leave(ptr %frame)
  ret i64 %reason
}

; End the call, after a parallel loop whose body did.
define void @rise_end_call(i64 %reason) {
  call void @stop(i64 %reason)
  ret void
}
