; Parallel loops on a pool of threads.
;
; Compiled code passes the body of a parallel loop to `rise_parallel` as a function, which the caller
; and the workers that are free execute. Each of them calls `rise_dispatch_next` for the next chunk
; of iterations until none is left. No thread waits for another one to arrive: a worker that wakes
; up late finds fewer iterations, or none, and the caller waits only for the workers that joined.
;
; A job describes one loop. There are a few jobs that several callers can share with the workers; if
; all of them are in use, a caller executes its loop alone. A worker joins the first job that is open,
; by one atomic operation on its state: a lock would let the workers arrive one after another. The
; state counts the workers that execute the job (bits 0 to 15), counts those that may still join (bits
; 16 to 31), and contains whether a caller owns the job (bit 32). A parallel loop inside of another
; one runs in the thread that reaches it; a pthread key holds the job that a thread executes.
;
; If the body ends early in a thread, because of a signal or since memory runs out, the others take no
; more iterations. The call ends when all of them have left the job.
;
; Threads wait in two steps: they poll for a fraction of a millisecond, and then sleep. After a fork,
; the process identifier differs from the stored one, and the pool starts again without workers.

%line = type [8 x i64]
%job = type {
  i64,                                       ; 0: the state
  [7 x i64],                                 ; the next fields are in another cache line
  i64,                                       ; 2: the number of iterations that were taken
  [7 x i64],
  ptr,                                       ; 4: the function
  ptr,                                       ; 5: its argument
  i64,                                       ; 6: the number of iterations
  i64,                                       ; 7: the first iteration
  i64,                                       ; 8: how many threads may execute it, its caller included
  i64,                                       ; 9: the reason why the body ended early, or 0
  [2 x i64]
}

@rise_pool_jobs = LINKAGE global [JOBS x %job] zeroinitializer, align 64
@rise_pool_published = LINKAGE global %line zeroinitializer, align 64    ; the number of jobs that were ever open
@rise_pool_sleeping = LINKAGE global %line zeroinitializer, align 64     ; workers that wait for a job
@rise_pool_waiting = LINKAGE global i64 0              ; callers that wait for workers
@rise_pool_worker_count = LINKAGE global i64 0
@rise_pool_thread_count = LINKAGE global i64 0         ; as set; 0: not set
@rise_pool_owner = LINKAGE global i32 0                ; the process of the pool; negative while it is initialized
@rise_pool_key = LINKAGE global i32 0
@rise_pool_mutex = LINKAGE global [16 x i64] zeroinitializer
@rise_pool_job_arrived = LINKAGE global [16 x i64] zeroinitializer
@rise_pool_job_finished = LINKAGE global [16 x i64] zeroinitializer
@rise_pool_reduction_mutex = LINKAGE global [16 x i64] zeroinitializer
@rise_pool_variable = LINKAGE constant [17 x i8] c"RISE_NUM_THREADS\00"

declare i32 @pthread_key_create(ptr, ptr)
declare ptr @pthread_getspecific(i32)
declare i32 @pthread_setspecific(i32, ptr)
declare i32 @pthread_mutex_init(ptr, ptr)
declare i32 @pthread_mutex_lock(ptr)
declare i32 @pthread_mutex_unlock(ptr)
declare i32 @pthread_cond_init(ptr, ptr)
declare i32 @pthread_cond_wait(ptr, ptr)
declare i32 @pthread_cond_broadcast(ptr)
declare i32 @pthread_attr_init(ptr)
declare i32 @pthread_attr_setstacksize(ptr, i64)
declare i32 @pthread_attr_setdetachstate(ptr, i32)
declare i32 @pthread_attr_destroy(ptr)
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_sigmask(i32, ptr, ptr)
declare i32 @sigfillset(ptr)
declare i32 @sched_yield()
declare i32 @getpid()
declare ptr @getenv(ptr)
declare i32 @atoi(ptr)
declare i64 @sysconf(i32)
declare i32 @clock_gettime(i32, ptr)
declare i64 @llvm.umin.i64(i64, i64)
declare void @llvm.x86.sse2.pause()

; Start the pool in this process, unless it was. The first thread of a process or of a forked child
; that arrives here initializes it, and others wait for it. A child may be forked while another thread
; of its parent initializes the pool.
define LINKAGE void @rise_pool_prepare() {
begin:
  %self = call i32 @getpid()
  %initializing = sub i32 0, %self
  br label %look
look:
  %owner = load atomic i32, ptr @rise_pool_owner acquire, align 4
  %known = icmp eq i32 %owner, %self
  br i1 %known, label %done, label %other
other:
  %busy = icmp eq i32 %owner, %initializing
  br i1 %busy, label %wait, label %try
wait:
  call i32 @sched_yield()
  br label %look
try:
  %tried = cmpxchg ptr @rise_pool_owner, i32 %owner, i32 %initializing acquire monotonic
  %won = extractvalue { i32, i1 } %tried, 1
  br i1 %won, label %start, label %look
start:
  %first = icmp sle i32 %owner, 0
  br i1 %first, label %key, label %reset
key:
  call i32 @pthread_key_create(ptr @rise_pool_key, ptr null)
  br label %reset
reset:
  store [JOBS x %job] zeroinitializer, ptr @rise_pool_jobs
  store atomic i64 0, ptr @rise_pool_worker_count monotonic, align 8
  store atomic i64 0, ptr @rise_pool_sleeping monotonic, align 8
  store atomic i64 0, ptr @rise_pool_waiting monotonic, align 8
  call i32 @pthread_mutex_init(ptr @rise_pool_mutex, ptr null)
  call i32 @pthread_mutex_init(ptr @rise_pool_reduction_mutex, ptr null)
  call i32 @pthread_cond_init(ptr @rise_pool_job_arrived, ptr null)
  call i32 @pthread_cond_init(ptr @rise_pool_job_finished, ptr null)
  %count = load atomic i64, ptr @rise_pool_thread_count monotonic, align 8
  %unset = icmp eq i64 %count, 0
  br i1 %unset, label %choose, label %ready
choose:
  %default = call i64 @rise_pool_default_count()
  store atomic i64 %default, ptr @rise_pool_thread_count monotonic, align 8
  br label %ready
ready:
  store atomic i32 %self, ptr @rise_pool_owner release, align 4
  br label %done
done:
  ret void
}

; The number of threads that the environment sets, or one for each core.
define LINKAGE i64 @rise_pool_default_count() {
  %text = call ptr @getenv(ptr @rise_pool_variable)
  %none = icmp eq ptr %text, null
  br i1 %none, label %cores, label %read
read:
  %number = call i32 @atoi(ptr %text)
  %positive = icmp sgt i32 %number, 0
  br i1 %positive, label %set, label %cores
set:
  %count = sext i32 %number to i64
  ret i64 %count
cores:
  %online = call i64 @sysconf(i32 CORES)
  %known = icmp sgt i64 %online, 0
  %least = select i1 %known, i64 %online, i64 1
  ret i64 %least
}

define VISIBLE void @rise_set_thread_count(i64 %count) {
  store atomic i64 %count, ptr @rise_pool_thread_count monotonic, align 8
  ret void
}

; Start workers until there are `wanted`, or the system refuses; the caller holds the mutex. Workers
; handle no signals, so that these reach the threads of the program.
define LINKAGE void @rise_pool_start_workers(i64 %wanted) {
begin:
  %attributes = alloca [16 x i64]
  %all = alloca [16 x i64]
  %mask = alloca [16 x i64]
  %thread = alloca i64
  %present = load i64, ptr @rise_pool_worker_count
  %enough = icmp sge i64 %present, %wanted
  br i1 %enough, label %done, label %prepare
prepare:
  call i32 @sigfillset(ptr %all)
  call i32 @pthread_sigmask(i32 SET_MASK, ptr %all, ptr %mask)
  call i32 @pthread_attr_init(ptr %attributes)
  call i32 @pthread_attr_setstacksize(ptr %attributes, i64 STACK)
  call i32 @pthread_attr_setdetachstate(ptr %attributes, i32 DETACHED)
  br label %start
start:
  %failed = call i32 @pthread_create(ptr %thread, ptr %attributes, ptr @rise_pool_work, ptr null)
  %is_started = icmp eq i32 %failed, 0
  br i1 %is_started, label %count, label %finish
count:
  %before = load i64, ptr @rise_pool_worker_count
  %after = add i64 %before, 1
  store atomic i64 %after, ptr @rise_pool_worker_count monotonic, align 8
  %more = icmp slt i64 %after, %wanted
  br i1 %more, label %start, label %finish
finish:
  call i32 @pthread_attr_destroy(ptr %attributes)
  call i32 @pthread_sigmask(i32 SET_MASK, ptr %mask, ptr null)
  br label %done
done:
  ret void
}

define LINKAGE i64 @rise_pool_nanoseconds() {
  %time = alloca [2 x i64]
  call i32 @clock_gettime(i32 CLOCK, ptr %time)
  %seconds = load i64, ptr %time
  %part_place = getelementptr i64, ptr %time, i64 1
  %part = load i64, ptr %part_place
  %product = mul i64 %seconds, 1000000000
  %sum = add i64 %product, %part
  ret i64 %sum
}

; Let another thread on the same core run while this one polls.
define LINKAGE void @rise_pool_pause() {
  PAUSE
  ret void
}

; Wait until a number is equal to a value, or differs from it, but not long; return whether it does.
define LINKAGE i1 @rise_pool_poll(ptr %place, i64 %value, i1 %wanted) {
begin:
  %start = call i64 @rise_pool_nanoseconds()
  br label %look
look:
  %current = load atomic i64, ptr %place seq_cst, align 8
  %equal = icmp eq i64 %current, %value
  %done = icmp eq i1 %equal, %wanted
  br i1 %done, label %yes, label %check
check:
  call void @rise_pool_pause()
  %now = call i64 @rise_pool_nanoseconds()
  %passed = sub i64 %now, %start
  %patient = icmp ult i64 %passed, POLLING
  br i1 %patient, label %look, label %no
yes:
  ret i1 true
no:
  ret i1 false
}

; The main function of a worker.
define LINKAGE ptr @rise_pool_work(ptr %unused) {
begin:
  br label %look
look:
  %seen = load atomic i64, ptr @rise_pool_published acquire, align 8
  %job = call ptr @rise_pool_join()
  %nothing = icmp eq ptr %job, null
  br i1 %nothing, label %poll, label %run
run:
  call void @rise_pool_execute(ptr %job)
  call void @rise_pool_leave(ptr %job)
  br label %look
poll:
  %changed = call i1 @rise_pool_poll(ptr @rise_pool_published, i64 %seen, i1 false)
  br i1 %changed, label %look, label %sleep
sleep:
  call i32 @pthread_mutex_lock(ptr @rise_pool_mutex)
  atomicrmw add ptr @rise_pool_sleeping, i64 1 seq_cst
  ; A caller publishes its job before it looks for sleeping workers.
  %last = load atomic i64, ptr @rise_pool_published seq_cst, align 8
  %late = icmp ne i64 %last, %seen
  br i1 %late, label %wake, label %wait
wait:
  call i32 @pthread_cond_wait(ptr @rise_pool_job_arrived, ptr @rise_pool_mutex)
  br label %wake
wake:
  atomicrmw sub ptr @rise_pool_sleeping, i64 1 seq_cst
  call i32 @pthread_mutex_unlock(ptr @rise_pool_mutex)
  br label %look
}

; Join the first open job, or return null.
define LINKAGE ptr @rise_pool_join() {
begin:
  br label %look
look:
  %number = phi i64 [ 0, %begin ], [ %next, %closed ]
  %job = getelementptr [JOBS x %job], ptr @rise_pool_jobs, i64 0, i64 %number
  br label %check
check:
  %state = load atomic i64, ptr %job monotonic, align 8
  %open = and i64 %state, OPEN
  %is_open = icmp ne i64 %open, 0
  br i1 %is_open, label %enter, label %closed
closed:
  %next = add i64 %number, 1
  %more = icmp ult i64 %next, JOBS
  br i1 %more, label %look, label %none
enter:
  %joined = sub i64 %state, ONE_JOINS
  %tried = cmpxchg ptr %job, i64 %state, i64 %joined acquire monotonic
  %won = extractvalue { i64, i1 } %tried, 1
  br i1 %won, label %done, label %check
done:
  ret ptr %job
none:
  ret ptr null
}

; Leave a job, which may end with this, and wake the callers that sleep.
define LINKAGE void @rise_pool_leave(ptr %job) {
  atomicrmw sub ptr %job, i64 1 seq_cst
  %callers = load atomic i64, ptr @rise_pool_waiting seq_cst, align 8
  %none = icmp eq i64 %callers, 0
  br i1 %none, label %done, label %wake
wake:
  call i32 @pthread_mutex_lock(ptr @rise_pool_mutex)
  call i32 @pthread_cond_broadcast(ptr @rise_pool_job_finished)
  call i32 @pthread_mutex_unlock(ptr @rise_pool_mutex)
  br label %done
done:
  ret void
}

; Call the function of a job, which becomes the job of this thread.
define LINKAGE void @rise_pool_execute(ptr %job) {
  %number = alloca i32
  store i32 0, ptr %number
  %key = load i32, ptr @rise_pool_key
  %outer = call ptr @pthread_getspecific(i32 %key)
  call i32 @pthread_setspecific(i32 %key, ptr %job)
  %function_place = getelementptr %job, ptr %job, i32 0, i32 4
  %function = load ptr, ptr %function_place
  %argument_place = getelementptr %job, ptr %job, i32 0, i32 5
  %argument = load ptr, ptr %argument_place
  %reason = call i64 @rise_run_body(ptr %function, ptr %number, ptr %argument)
  call i32 @pthread_setspecific(i32 %key, ptr %outer)
  %returned = icmp eq i64 %reason, 0
  br i1 %returned, label %done, label %end
end:
  %reason_place = getelementptr %job, ptr %job, i32 0, i32 9
  store atomic i64 %reason, ptr %reason_place monotonic, align 8
  %taken_place = getelementptr %job, ptr %job, i32 0, i32 2
  store atomic i64 ALL_TAKEN, ptr %taken_place monotonic, align 8
  br label %done
done:
  ret void
}

; Become the owner of a job that is not in use, or return null.
define LINKAGE ptr @rise_pool_acquire() {
begin:
  br label %look
look:
  %number = phi i64 [ 0, %begin ], [ %next, %used ]
  %job = getelementptr [JOBS x %job], ptr @rise_pool_jobs, i64 0, i64 %number
  %tried = cmpxchg ptr %job, i64 0, i64 OWNED acquire monotonic
  %won = extractvalue { i64, i1 } %tried, 1
  br i1 %won, label %done, label %used
used:
  %next = add i64 %number, 1
  %more = icmp ult i64 %next, JOBS
  br i1 %more, label %look, label %none
done:
  ret ptr %job
none:
  ret ptr null
}

; Open a job for some workers, and start or wake them.
define LINKAGE void @rise_pool_publish(ptr %job, i64 %workers) {
begin:
  %present = load atomic i64, ptr @rise_pool_worker_count monotonic, align 8
  %enough = icmp sge i64 %present, %workers
  br i1 %enough, label %open, label %start
start:
  call i32 @pthread_mutex_lock(ptr @rise_pool_mutex)
  call void @rise_pool_start_workers(i64 %workers)
  call i32 @pthread_mutex_unlock(ptr @rise_pool_mutex)
  br label %open
open:
  %places = mul i64 %workers, ONE_PLACE
  %state = or i64 %places, OWNED
  store atomic i64 %state, ptr %job release, align 8
  atomicrmw add ptr @rise_pool_published, i64 1 seq_cst
  %sleeping = load atomic i64, ptr @rise_pool_sleeping seq_cst, align 8
  %awake = icmp eq i64 %sleeping, 0
  br i1 %awake, label %done, label %wake
wake:
  call i32 @pthread_mutex_lock(ptr @rise_pool_mutex)
  call i32 @pthread_cond_broadcast(ptr @rise_pool_job_arrived)
  call i32 @pthread_mutex_unlock(ptr @rise_pool_mutex)
  br label %done
done:
  ret void
}

; Keep further workers from joining a job.
define LINKAGE void @rise_pool_close(ptr %job) {
  %state = load atomic i64, ptr %job monotonic, align 8
  %open = and i64 %state, OPEN
  %is_closed = icmp eq i64 %open, 0
  br i1 %is_closed, label %done, label %close
close:
  atomicrmw and ptr %job, i64 NOT_OPEN monotonic
  br label %done
done:
  ret void
}

; Close a job, and wait for the workers that joined it.
define LINKAGE void @rise_pool_finish(ptr %job) {
begin:
  call void @rise_pool_close(ptr %job)
  %all_left = call i1 @rise_pool_poll(ptr %job, i64 OWNED, i1 true)
  br i1 %all_left, label %done, label %sleep
sleep:
  call i32 @pthread_mutex_lock(ptr @rise_pool_mutex)
  atomicrmw add ptr @rise_pool_waiting, i64 1 seq_cst
  br label %check
check:
  %state = load atomic i64, ptr %job seq_cst, align 8
  %none = icmp eq i64 %state, OWNED
  br i1 %none, label %wake, label %wait
wait:
  call i32 @pthread_cond_wait(ptr @rise_pool_job_finished, ptr @rise_pool_mutex)
  br label %check
wake:
  atomicrmw sub ptr @rise_pool_waiting, i64 1 seq_cst
  call i32 @pthread_mutex_unlock(ptr @rise_pool_mutex)
  br label %done
done:
  ret void
}

; Set the fields of a job except its state.
define LINKAGE void @rise_pool_describe(ptr %job, ptr %function, ptr %argument, i64 %threads) {
  %taken_place = getelementptr %job, ptr %job, i32 0, i32 2
  store atomic i64 0, ptr %taken_place monotonic, align 8
  %function_place = getelementptr %job, ptr %job, i32 0, i32 4
  store ptr %function, ptr %function_place
  %argument_place = getelementptr %job, ptr %job, i32 0, i32 5
  store ptr %argument, ptr %argument_place
  %threads_place = getelementptr %job, ptr %job, i32 0, i32 8
  store i64 %threads, ptr %threads_place
  %reason_place = getelementptr %job, ptr %job, i32 0, i32 9
  store atomic i64 0, ptr %reason_place monotonic, align 8
  ret void
}

; Return the reason why the body of a job ended early, or 0.
define LINKAGE i64 @rise_pool_reason(ptr %job) {
  %reason_place = getelementptr %job, ptr %job, i32 0, i32 9
  %reason = load atomic i64, ptr %reason_place monotonic, align 8
  ret i64 %reason
}

; Execute a parallel loop: `function`, called with `argument` by one thread or more.
define VISIBLE void @rise_parallel(ptr %function, ptr %argument) {
begin:
  call void @rise_pool_prepare()
  %own_job = alloca %job
  %key = load i32, ptr @rise_pool_key
  %outer = call ptr @pthread_getspecific(i32 %key)
  %is_outermost = icmp eq ptr %outer, null
  %count = load atomic i64, ptr @rise_pool_thread_count monotonic, align 8
  %has_workers = icmp sgt i64 %count, 1
  %parallel = and i1 %is_outermost, %has_workers
  br i1 %parallel, label %acquire, label %alone
acquire:
  %shared_job = call ptr @rise_pool_acquire()
  %none = icmp eq ptr %shared_job, null
  br i1 %none, label %alone, label %share
alone:
  store i64 OWNED, ptr %own_job
  call void @rise_pool_describe(ptr %own_job, ptr %function, ptr %argument, i64 1)
  call void @rise_pool_execute(ptr %own_job)
  %own_reason = call i64 @rise_pool_reason(ptr %own_job)
  br label %check
share:
  %wanted = sub i64 %count, 1
  %workers = call i64 @llvm.umin.i64(i64 %wanted, i64 MAX_WORKERS)
  call void @rise_pool_describe(ptr %shared_job, ptr %function, ptr %argument, i64 %count)
  call void @rise_pool_publish(ptr %shared_job, i64 %workers)
  call void @rise_pool_execute(ptr %shared_job)
  call void @rise_pool_finish(ptr %shared_job)
  %shared_reason = call i64 @rise_pool_reason(ptr %shared_job)
  store atomic i64 0, ptr %shared_job release, align 8
  br label %check
check:
  %reason = phi i64 [ %own_reason, %alone ], [ %shared_reason, %share ]
  %returned = icmp eq i64 %reason, 0
  br i1 %returned, label %done, label %end
end:
  call void @rise_end_call(i64 %reason)
  br label %done
done:
  ret void
}

define LINKAGE ptr @rise_pool_current_job() {
  %key = load i32, ptr @rise_pool_key
  %job = call ptr @pthread_getspecific(i32 %key)
  ret ptr %job
}

; Start the loop in this thread. All threads of a job have the same bounds; one of them stores them.
define VISIBLE void @rise_dispatch_init_8u(ptr %location, i32 %thread, i32 %schedule, i64 %first, i64 %last, i64 %step, i64 %chunk) {
  %job = call ptr @rise_pool_current_job()
  %total_place = getelementptr %job, ptr %job, i32 0, i32 6
  %first_place = getelementptr %job, ptr %job, i32 0, i32 7
  %length = sub i64 %last, %first
  %total = add i64 %length, 1
  %known_total = load atomic i64, ptr %total_place monotonic, align 8
  %known_first = load atomic i64, ptr %first_place monotonic, align 8
  %same_total = icmp eq i64 %known_total, %total
  %same_first = icmp eq i64 %known_first, %first
  %known = and i1 %same_total, %same_first
  br i1 %known, label %done, label %store
store:
  store atomic i64 %total, ptr %total_place monotonic, align 8
  store atomic i64 %first, ptr %first_place monotonic, align 8
  br label %done
done:
  ret void
}

; Take the next chunk of iterations: a part of those that remain, so that a thread whose core is
; busy takes fewer. Return whether there is one, and store its bounds.
define VISIBLE i32 @rise_dispatch_next_8u(ptr %location, i32 %thread, ptr %is_last, ptr %lower, ptr %upper, ptr %stride) {
begin:
  %job = call ptr @rise_pool_current_job()
  %taken_place = getelementptr %job, ptr %job, i32 0, i32 2
  %total_place = getelementptr %job, ptr %job, i32 0, i32 6
  %first_place = getelementptr %job, ptr %job, i32 0, i32 7
  %threads_place = getelementptr %job, ptr %job, i32 0, i32 8
  %total = load atomic i64, ptr %total_place monotonic, align 8
  %first = load atomic i64, ptr %first_place monotonic, align 8
  %threads = load i64, ptr %threads_place
  %alone = icmp eq i64 %threads, 1
  %twice = shl i64 %threads, 1
  %parts = select i1 %alone, i64 1, i64 %twice
  br label %try
try:
  %taken = load atomic i64, ptr %taken_place monotonic, align 8
  %left = sub i64 %total, %taken
  %none = icmp sle i64 %left, 0
  br i1 %none, label %end, label %take
take:
  %part = sdiv i64 %left, %parts
  %several = icmp sgt i64 %part, 1
  %chunk = select i1 %several, i64 %part, i64 1
  %next = add i64 %taken, %chunk
  %tried = cmpxchg ptr %taken_place, i64 %taken, i64 %next monotonic monotonic
  %won = extractvalue { i64, i1 } %tried, 1
  br i1 %won, label %store, label %try
store:
  %from = add i64 %first, %taken
  %after = add i64 %first, %next
  %to = sub i64 %after, 1
  %complete = icmp eq i64 %next, %total
  %flag = zext i1 %complete to i32
  store i32 %flag, ptr %is_last
  store i64 %from, ptr %lower
  store i64 %to, ptr %upper
  store i64 1, ptr %stride
  ret i32 1
end:
  call void @rise_pool_close(ptr %job)
  ret i32 0
}

define VISIBLE i32 @rise_global_thread_num(ptr %location) {
  ret i32 0
}

; Nothing follows the loop in a function, so its end needs no barrier: `rise_parallel` waits.
define VISIBLE void @rise_barrier(ptr %location, i32 %thread) {
  ret void
}

; Threads add their results to that of a reduction one at a time.
define VISIBLE i32 @rise_reduce(ptr %location, i32 %thread, i32 %count, i64 %size, ptr %data, ptr %function, ptr %lock) {
  call i32 @pthread_mutex_lock(ptr @rise_pool_reduction_mutex)
  ret i32 1
}

define VISIBLE void @rise_end_reduce(ptr %location, i32 %thread, ptr %lock) {
  call i32 @pthread_mutex_unlock(ptr @rise_pool_reduction_mutex)
  ret void
}
