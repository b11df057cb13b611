; Calls of compiled code with NumPy arrays, as a function for Python.
;
; A call table describes the calls of one function: a header, and a slot for each parameter. The data
; of the NumPy array `self` is the table. `rise_call_arrays` checks the arguments, allocates the
; results, and calls the function with an array that has a number for each slot, without the GIL. If the
; table does not describe the arguments, it returns None, and the caller handles the call in Python.
;
; `runtime/array_calls.py` makes the tables. HEADER is the size of a Python object's header, whose last
; field is the type. NumPy's fields follow: data, rank, lengths, strides, base, dtype and flags in an
; array; scalar type, kind, letter, byte order and number in a dtype.

%table = type {
  ptr,                                       ; 0: the function
  i64,                                       ; 1: the number of slots
  i64,                                       ; 2: the number of results, which are the first slots
  i64,                                       ; 3: the number of arguments
  ptr,                                       ; 4: a Python function that packs a tuple of results, or null
  ptr,                                       ; 5: the type of arrays
  ptr,                                       ; 6: the type of Python floats
  ptr,                                       ; 7: the type of Python integers
  ptr,                                       ; 8: None
  ptr,                                       ; 9: a Python function that raises the error of a call
  ptr,                                       ; 10: a Python function that raises the error of a failed check, or null
  i64                                        ; 11: the slot of the failure buffer, if there are checks
}
%slot = type {
  i64,                                       ; 0: the kind
  ptr,                                       ; 1: the dtype of an array
  i64,                                       ; 2: its rank
  ptr,                                       ; 3: its lengths
  i64,                                       ; 4: its size in bytes
  i64,                                       ; 5: the number of a fixed slot; a function that makes a large result
  i64,                                       ; 6: the least integer
  i64                                        ; 7: the greatest integer
}
%dtype = type { [HEADER x i8], ptr, i8, i8, i8, i8, i32 }
%array = type { [HEADER x i8], i64, i32, ptr, ptr, ptr, ptr, i32 }

declare i64 @PyTuple_Size(ptr)
declare ptr @PyTuple_GetItem(ptr, i64)
declare ptr @PyTuple_New(i64)
declare i32 @PyTuple_SetItem(ptr, i64, ptr)
declare double @PyFloat_AsDouble(ptr)
declare i64 @PyLong_AsLongLongAndOverflow(ptr, ptr)
declare ptr @PyLong_FromLongLong(i64)
declare ptr @PyObject_CallFunctionObjArgs(ptr, ...)
declare ptr @PyEval_SaveThread()
declare void @PyEval_RestoreThread(ptr)
declare void @Py_IncRef(ptr)
declare void @Py_DecRef(ptr)
declare ptr @rise_new_array(ptr, ptr, i32, ptr, ptr, ptr, i32, ptr)
declare double @llvm.fabs.f64(double)

define internal ptr @slot_at(ptr %table, i64 %number) {
  %slots = getelementptr i8, ptr %table, i64 SLOTS
  %slot = getelementptr %slot, ptr %slots, i64 %number
  ret ptr %slot
}

define internal ptr @type_of(ptr %object) {
  %end = getelementptr i8, ptr %object, i64 HEADER
  %place = getelementptr ptr, ptr %end, i64 -1
  %type = load ptr, ptr %place
  ret ptr %type
}

define internal i64 @data_of(ptr %array) {
  %place = getelementptr %array, ptr %array, i32 0, i32 1
  %data = load i64, ptr %place
  ret i64 %data
}

; Whether two dtypes are the same type of number, in the same byte order.
define internal i1 @are_equal(ptr %dtype, ptr %other) {
begin:
  %identical = icmp eq ptr %dtype, %other
  br i1 %identical, label %yes, label %compare
compare:
  %number_place = getelementptr %dtype, ptr %dtype, i32 0, i32 6
  %number = load i32, ptr %number_place
  %other_number_place = getelementptr %dtype, ptr %other, i32 0, i32 6
  %other_number = load i32, ptr %other_number_place
  %same_number = icmp eq i32 %number, %other_number
  %order_place = getelementptr %dtype, ptr %dtype, i32 0, i32 4
  %order = load i8, ptr %order_place
  %other_order_place = getelementptr %dtype, ptr %other, i32 0, i32 4
  %other_order = load i8, ptr %other_order_place
  %same_order = icmp eq i8 %order, %other_order
  %equal = and i1 %same_number, %same_order
  ret i1 %equal
yes:
  ret i1 true
}

; Whether an array has the dtype and the shape of a slot, and these flags.
define internal i1 @fits(ptr %slot, ptr %array, i32 %flags) {
begin:
  %dtype_place = getelementptr %slot, ptr %slot, i32 0, i32 1
  %dtype = load ptr, ptr %dtype_place
  %array_dtype_place = getelementptr %array, ptr %array, i32 0, i32 6
  %array_dtype = load ptr, ptr %array_dtype_place
  %same_dtype = call i1 @are_equal(ptr %dtype, ptr %array_dtype)
  %rank_place = getelementptr %slot, ptr %slot, i32 0, i32 2
  %rank = load i64, ptr %rank_place
  %array_rank_place = getelementptr %array, ptr %array, i32 0, i32 2
  %array_rank_int = load i32, ptr %array_rank_place
  %array_rank = sext i32 %array_rank_int to i64
  %same_rank = icmp eq i64 %rank, %array_rank
  %array_flags_place = getelementptr %array, ptr %array, i32 0, i32 7
  %array_flags = load i32, ptr %array_flags_place
  %common_flags = and i32 %array_flags, %flags
  %has_flags = icmp eq i32 %common_flags, %flags
  %same_kind = and i1 %same_dtype, %same_rank
  %agrees = and i1 %same_kind, %has_flags
  br i1 %agrees, label %shape, label %no
shape:
  %lengths_place = getelementptr %slot, ptr %slot, i32 0, i32 3
  %lengths = load ptr, ptr %lengths_place
  %array_lengths_place = getelementptr %array, ptr %array, i32 0, i32 3
  %array_lengths = load ptr, ptr %array_lengths_place
  br label %next
next:
  %number = phi i64 [ 0, %shape ], [ %following, %compare ]
  %all = icmp eq i64 %number, %rank
  br i1 %all, label %yes, label %compare
compare:
  %length_place = getelementptr i64, ptr %lengths, i64 %number
  %length = load i64, ptr %length_place
  %array_length_place = getelementptr i64, ptr %array_lengths, i64 %number
  %array_length = load i64, ptr %array_length_place
  %following = add i64 %number, 1
  %same = icmp eq i64 %length, %array_length
  br i1 %same, label %next, label %no
yes:
  ret i1 true
no:
  ret i1 false
}

; Store a float as a scalar; return whether it fits its type.
define internal i1 @store_float(i64 %kind, double %value, ptr %place) {
begin:
  %is_double = icmp eq i64 %kind, FLOAT64
  br i1 %is_double, label %double, label %single
double:
  store double %value, ptr %place
  ret i1 true
single:
  %rounded = fptrunc double %value to float
  store float %rounded, ptr %place
  %extended = fpext float %rounded to double
  %size = call double @llvm.fabs.f64(double %extended)
  %is_infinite = fcmp oeq double %size, 0x7FF0000000000000
  %changed = fcmp one double %extended, %value
  %overflows = and i1 %is_infinite, %changed
  %fits = xor i1 %overflows, true
  ret i1 %fits
}

; Store a Python number as a scalar; return whether it has a type and a value that the slot takes.
define internal i1 @store_number(ptr %table, ptr %slot, ptr %object, ptr %place) {
begin:
  %overflow = alloca i32
  %kind = load i64, ptr %slot
  %type = call ptr @type_of(ptr %object)
  %float_place = getelementptr %table, ptr %table, i32 0, i32 6
  %float = load ptr, ptr %float_place
  %is_float = icmp eq ptr %type, %float
  br i1 %is_float, label %float_value, label %other
float_value:
  %takes_float = icmp uge i64 %kind, FLOAT32
  br i1 %takes_float, label %read_float, label %no
read_float:
  %number = call double @PyFloat_AsDouble(ptr %object)
  %stored = call i1 @store_float(i64 %kind, double %number, ptr %place)
  ret i1 %stored
other:
  %int_place = getelementptr %table, ptr %table, i32 0, i32 7
  %int = load ptr, ptr %int_place
  %is_int = icmp eq ptr %type, %int
  %takes_number = icmp uge i64 %kind, INTEGER
  %takes_int = and i1 %is_int, %takes_number
  br i1 %takes_int, label %read_int, label %no
read_int:
  %integer = call i64 @PyLong_AsLongLongAndOverflow(ptr %object, ptr %overflow)
  %overflows = load i32, ptr %overflow
  %is_small = icmp eq i32 %overflows, 0
  %least_place = getelementptr %slot, ptr %slot, i32 0, i32 6
  %least = load i64, ptr %least_place
  %greatest_place = getelementptr %slot, ptr %slot, i32 0, i32 7
  %greatest = load i64, ptr %greatest_place
  %above = icmp sge i64 %integer, %least
  %below = icmp sle i64 %integer, %greatest
  %between = and i1 %above, %below
  %in_range = and i1 %is_small, %between
  br i1 %in_range, label %convert, label %no
convert:
  %as_integer = icmp eq i64 %kind, INTEGER
  br i1 %as_integer, label %store_integer, label %store_as_float
store_integer:
  ; Types with fewer bytes read the first ones, which are the lowest.
  store i64 %integer, ptr %place
  ret i1 true
store_as_float:
  %float_of_int = sitofp i64 %integer to double
  %stored_as_float = call i1 @store_float(i64 %kind, double %float_of_int, ptr %place)
  ret i1 %stored_as_float
no:
  ret i1 false
}

; Store the numbers of all slots that follow the results; return whether all arguments fit.
define internal i1 @store_inputs(ptr %table, ptr %arguments, ptr %numbers, ptr %scalars) {
begin:
  %count_place = getelementptr %table, ptr %table, i32 0, i32 1
  %count = load i64, ptr %count_place
  %results_place = getelementptr %table, ptr %table, i32 0, i32 2
  %results = load i64, ptr %results_place
  %array_type_place = getelementptr %table, ptr %table, i32 0, i32 5
  %array_type = load ptr, ptr %array_type_place
  br label %next
next:
  %number = phi i64 [ %results, %begin ], [ %following, %stored ]
  %position = phi i64 [ 0, %begin ], [ %next_position, %stored ]
  %all = icmp eq i64 %number, %count
  br i1 %all, label %yes, label %look
look:
  %slot = call ptr @slot_at(ptr %table, i64 %number)
  %kind = load i64, ptr %slot
  %is_fixed = icmp eq i64 %kind, FIXED
  br i1 %is_fixed, label %fixed, label %argument
fixed:
  %fixed_place = getelementptr %slot, ptr %slot, i32 0, i32 5
  %fixed_number = load i64, ptr %fixed_place
  br label %stored
argument:
  %object = call ptr @PyTuple_GetItem(ptr %arguments, i64 %position)
  %after = add i64 %position, 1
  %type = call ptr @type_of(ptr %object)
  %is_array = icmp eq ptr %type, %array_type
  br i1 %is_array, label %array, label %scalar
array:
  %fits = call i1 @fits(ptr %slot, ptr %object, i32 READABLE)
  %data = call i64 @data_of(ptr %object)
  br i1 %fits, label %stored, label %no
scalar:
  %place = getelementptr i64, ptr %scalars, i64 %number
  %is_stored = call i1 @store_number(ptr %table, ptr %slot, ptr %object, ptr %place)
  %address = ptrtoint ptr %place to i64
  br i1 %is_stored, label %stored, label %no
stored:
  %value = phi i64 [ %fixed_number, %fixed ], [ %data, %array ], [ %address, %scalar ]
  %next_position = phi i64 [ %position, %fixed ], [ %after, %array ], [ %after, %scalar ]
  %value_place = getelementptr i64, ptr %numbers, i64 %number
  store i64 %value, ptr %value_place
  %following = add i64 %number, 1
  br label %next
yes:
  ret i1 true
no:
  ret i1 false
}

; Allocate the array of a result; null if that fails.
define internal ptr @new_result(ptr %table, ptr %slot) {
begin:
  %maker_place = getelementptr %slot, ptr %slot, i32 0, i32 5
  %maker = load ptr, ptr %maker_place
  %is_small = icmp eq ptr %maker, null
  br i1 %is_small, label %allocate, label %call
call:
  %made = call ptr (ptr, ...) @PyObject_CallFunctionObjArgs(ptr %maker, ptr null)
  ret ptr %made
allocate:
  %type_place = getelementptr %table, ptr %table, i32 0, i32 5
  %type = load ptr, ptr %type_place
  %dtype_place = getelementptr %slot, ptr %slot, i32 0, i32 1
  %dtype = load ptr, ptr %dtype_place
  %rank_place = getelementptr %slot, ptr %slot, i32 0, i32 2
  %rank = load i32, ptr %rank_place
  %lengths_place = getelementptr %slot, ptr %slot, i32 0, i32 3
  %lengths = load ptr, ptr %lengths_place
  call void @Py_IncRef(ptr %dtype)          ; the array owns it
  %array = call ptr @rise_new_array(ptr %type, ptr %dtype, i32 %rank, ptr %lengths, ptr null, ptr null, i32 0, ptr null)
  ret ptr %array
}

define internal void @release(ptr %objects, i64 %count) {
begin:
  br label %next
next:
  %number = phi i64 [ 0, %begin ], [ %following, %one ]
  %all = icmp eq i64 %number, %count
  br i1 %all, label %done, label %one
one:
  %place = getelementptr ptr, ptr %objects, i64 %number
  %object = load ptr, ptr %place
  call void @Py_DecRef(ptr %object)
  %following = add i64 %number, 1
  br label %next
done:
  ret void
}

; Allocate the results, and store their addresses; return whether that succeeds.
define internal i1 @make_results(ptr %table, ptr %objects, ptr %numbers, i64 %count) {
begin:
  br label %next
next:
  %number = phi i64 [ 0, %begin ], [ %following, %made ]
  %all = icmp eq i64 %number, %count
  br i1 %all, label %yes, label %make
make:
  %slot = call ptr @slot_at(ptr %table, i64 %number)
  %array = call ptr @new_result(ptr %table, ptr %slot)
  %failed = icmp eq ptr %array, null
  br i1 %failed, label %no, label %made
made:
  %place = getelementptr ptr, ptr %objects, i64 %number
  store ptr %array, ptr %place
  %data = call i64 @data_of(ptr %array)
  %data_place = getelementptr i64, ptr %numbers, i64 %number
  store i64 %data, ptr %data_place
  %following = add i64 %number, 1
  br label %next
yes:
  ret i1 true
no:
  call void @release(ptr %objects, i64 %number)
  ret i1 false
}

; Whether the first slot, which is written, overlaps no other array.
define internal i1 @is_disjoint(ptr %table, ptr %numbers) {
begin:
  %count_place = getelementptr %table, ptr %table, i32 0, i32 1
  %count = load i64, ptr %count_place
  %slot = call ptr @slot_at(ptr %table, i64 0)
  %size_place = getelementptr %slot, ptr %slot, i32 0, i32 4
  %size = load i64, ptr %size_place
  %start = load i64, ptr %numbers
  %end = add i64 %start, %size
  br label %next
next:
  %number = phi i64 [ 1, %begin ], [ %following, %look ]
  %all = icmp eq i64 %number, %count
  br i1 %all, label %yes, label %look
look:
  %other_slot = call ptr @slot_at(ptr %table, i64 %number)
  %other_size_place = getelementptr %slot, ptr %other_slot, i32 0, i32 4
  %other_size = load i64, ptr %other_size_place
  %other_place = getelementptr i64, ptr %numbers, i64 %number
  %other_start = load i64, ptr %other_place
  %other_end = add i64 %other_start, %other_size
  %begins_before = icmp ult i64 %start, %other_end
  %ends_after = icmp ult i64 %other_start, %end
  %overlaps = and i1 %begins_before, %ends_after
  %following = add i64 %number, 1
  br i1 %overlaps, label %no, label %next
yes:
  ret i1 true
no:
  ret i1 false
}

; Use an array that the caller passes as the result; return whether it fits.
define internal i1 @use_output(ptr %table, ptr %output, ptr %objects, ptr %numbers, i64 %count) {
begin:
  %pack_place = getelementptr %table, ptr %table, i32 0, i32 4
  %pack = load ptr, ptr %pack_place
  %plain = icmp eq ptr %pack, null
  %single = icmp eq i64 %count, 1
  %array_type_place = getelementptr %table, ptr %table, i32 0, i32 5
  %array_type = load ptr, ptr %array_type_place
  %type = call ptr @type_of(ptr %output)
  %is_array = icmp eq ptr %type, %array_type
  %one = and i1 %plain, %single
  %possible = and i1 %one, %is_array
  br i1 %possible, label %check, label %no
check:
  %slot = call ptr @slot_at(ptr %table, i64 0)
  %fits = call i1 @fits(ptr %slot, ptr %output, i32 WRITABLE)
  br i1 %fits, label %store, label %no
store:
  %data = call i64 @data_of(ptr %output)
  store i64 %data, ptr %numbers
  store ptr %output, ptr %objects
  %disjoint = call i1 @is_disjoint(ptr %table, ptr %numbers)
  br i1 %disjoint, label %yes, label %no
yes:
  call void @Py_IncRef(ptr %output)
  ret i1 true
no:
  ret i1 false
}

; Raise the error that ended a call.
define internal ptr @raise(ptr %table, i64 %reason) {
begin:
  %function_place = getelementptr %table, ptr %table, i32 0, i32 9
  %function = load ptr, ptr %function_place
  %number = call ptr @PyLong_FromLongLong(i64 %reason)
  %failed = icmp eq ptr %number, null
  br i1 %failed, label %done, label %call
call:
  %nothing = call ptr (ptr, ...) @PyObject_CallFunctionObjArgs(ptr %function, ptr %number, ptr null)
  call void @Py_DecRef(ptr %number)
  br label %done
done:
  ret ptr null
}

; Raise the error of a failed check: the buffer contains how many failed, and the number, the index and
; the bound of the first of them.
define internal void @raise_failed_check(ptr %table, ptr %failure) {
begin:
  %function_place = getelementptr %table, ptr %table, i32 0, i32 10
  %function = load ptr, ptr %function_place
  %check_place = getelementptr i64, ptr %failure, i64 1
  %check = load i64, ptr %check_place
  %index_place = getelementptr i64, ptr %failure, i64 2
  %index = load i64, ptr %index_place
  %bound_place = getelementptr i64, ptr %failure, i64 3
  %bound = load i64, ptr %bound_place
  %arguments = call ptr @PyTuple_New(i64 3)
  %failed = icmp eq ptr %arguments, null
  br i1 %failed, label %done, label %call
call:
  %check_object = call ptr @PyLong_FromLongLong(i64 %check)
  %set_check = call i32 @PyTuple_SetItem(ptr %arguments, i64 0, ptr %check_object)
  %index_object = call ptr @PyLong_FromLongLong(i64 %index)
  %set_index = call i32 @PyTuple_SetItem(ptr %arguments, i64 1, ptr %index_object)
  %bound_object = call ptr @PyLong_FromLongLong(i64 %bound)
  %set_bound = call i32 @PyTuple_SetItem(ptr %arguments, i64 2, ptr %bound_object)
  %nothing = call ptr (ptr, ...) @PyObject_CallFunctionObjArgs(ptr %function, ptr %arguments, ptr null)
  call void @Py_DecRef(ptr %arguments)
  br label %done
done:
  ret void
}

; Return one result, or a tuple of several, which may be packed.
define internal ptr @pack(ptr %table, ptr %objects, i64 %count) {
begin:
  %pack_place = getelementptr %table, ptr %table, i32 0, i32 4
  %pack = load ptr, ptr %pack_place
  %plain = icmp eq ptr %pack, null
  %single = icmp eq i64 %count, 1
  %simple = and i1 %plain, %single
  br i1 %simple, label %one, label %several
one:
  %object = load ptr, ptr %objects
  ret ptr %object
several:
  %tuple = call ptr @PyTuple_New(i64 %count)
  %failed = icmp eq ptr %tuple, null
  br i1 %failed, label %fail, label %next
fail:
  call void @release(ptr %objects, i64 %count)
  ret ptr null
next:
  %number = phi i64 [ 0, %several ], [ %following, %set ]
  %all = icmp eq i64 %number, %count
  br i1 %all, label %full, label %set
set:
  %place = getelementptr ptr, ptr %objects, i64 %number
  %item = load ptr, ptr %place
  %ignored = call i32 @PyTuple_SetItem(ptr %tuple, i64 %number, ptr %item)
  %following = add i64 %number, 1
  br label %next
full:
  br i1 %plain, label %done, label %call
done:
  ret ptr %tuple
call:
  %packed = call ptr (ptr, ...) @PyObject_CallFunctionObjArgs(ptr %pack, ptr %tuple, ptr null)
  call void @Py_DecRef(ptr %tuple)
  ret ptr %packed
}

; Take a tuple of arguments, and None or an array for the result.
define ptr @rise_call_arrays(ptr %self, ptr %parameters, i64 %parameter_count) {
begin:
  %table_address = call i64 @data_of(ptr %self)
  %table = inttoptr i64 %table_address to ptr
  %none_place = getelementptr %table, ptr %table, i32 0, i32 8
  %none = load ptr, ptr %none_place
  %count_place = getelementptr %table, ptr %table, i32 0, i32 1
  %count = load i64, ptr %count_place
  %results_place = getelementptr %table, ptr %table, i32 0, i32 2
  %results = load i64, ptr %results_place
  %arguments = load ptr, ptr %parameters
  %output_place = getelementptr ptr, ptr %parameters, i64 1
  %output = load ptr, ptr %output_place
  %numbers = alloca i64, i64 %count
  %scalars = alloca i64, i64 %count
  %objects = alloca ptr, i64 %results
  %failure = alloca [4 x i64]
  %expected_place = getelementptr %table, ptr %table, i32 0, i32 3
  %expected = load i64, ptr %expected_place
  %passed = call i64 @PyTuple_Size(ptr %arguments)
  %is_complete = icmp eq i64 %passed, %expected
  br i1 %is_complete, label %inputs, label %otherwise
inputs:
  %fits = call i1 @store_inputs(ptr %table, ptr %arguments, ptr %numbers, ptr %scalars)
  br i1 %fits, label %checks, label %otherwise
checks:
  store [4 x i64] zeroinitializer, ptr %failure
  %checker_place = getelementptr %table, ptr %table, i32 0, i32 10
  %checker = load ptr, ptr %checker_place
  %has_checks = icmp ne ptr %checker, null
  br i1 %has_checks, label %pass, label %outputs
pass:
  %slot_number_place = getelementptr %table, ptr %table, i32 0, i32 11
  %slot_number = load i64, ptr %slot_number_place
  %failure_place = getelementptr i64, ptr %numbers, i64 %slot_number
  store ptr %failure, ptr %failure_place
  br label %outputs
outputs:
  %is_new = icmp eq ptr %output, %none
  br i1 %is_new, label %allocate, label %use
allocate:
  %made = call i1 @make_results(ptr %table, ptr %objects, ptr %numbers, i64 %results)
  br i1 %made, label %run, label %error
use:
  %used = call i1 @use_output(ptr %table, ptr %output, ptr %objects, ptr %numbers, i64 %results)
  br i1 %used, label %run, label %otherwise
run:
  %function = load ptr, ptr %table
  %thread = call ptr @PyEval_SaveThread()
  %reason = call i64 %function(ptr %numbers)
  call void @PyEval_RestoreThread(ptr %thread)
  %returned = icmp eq i64 %reason, 0
  br i1 %returned, label %look, label %end
look:
  %failed_checks = load i64, ptr %failure
  %passed_checks = icmp eq i64 %failed_checks, 0
  br i1 %passed_checks, label %finish, label %refuse
refuse:
  call void @release(ptr %objects, i64 %results)
  call void @raise_failed_check(ptr %table, ptr %failure)
  br label %error
finish:
  %result = call ptr @pack(ptr %table, ptr %objects, i64 %results)
  ret ptr %result
end:
  call void @release(ptr %objects, i64 %results)
  %nothing = call ptr @raise(ptr %table, i64 %reason)
  br label %error
error:
  ret ptr null
otherwise:
  call void @Py_IncRef(ptr %none)
  ret ptr %none
}
