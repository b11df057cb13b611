; Conversions of 16-bit floats for CPUs that have no instruction for them.
;
; LLVM calls these by their compiler-rt names, and no library in the process provides them. They round
; to nearest, ties to even, as the instructions do. `weak hidden` keeps each one local to its object,
; and keeps the optimizer from removing it before code generation adds the calls.

define weak hidden float @__extendhfsf2(half %value) nounwind {
  %bits = bitcast half %value to i16
  %wide = zext i16 %bits to i32
  %magnitude = and i32 %wide, 32767
  ; The exponent and the mantissa in their places of an f32; the exponents' biases differ by 112.
  %placed = shl i32 %magnitude, 13
  %small = bitcast i32 %placed to float
  %scaled = fmul float %small, 0x46F0000000000000
  %number = bitcast float %scaled to i32
  %special = icmp uge i32 %magnitude, 31744
  %infinite = or i32 %placed, 2139095040
  %result = select i1 %special, i32 %infinite, i32 %number
  %negative = and i32 %wide, 32768
  %sign = shl i32 %negative, 16
  %all = or i32 %result, %sign
  %float = bitcast i32 %all to float
  ret float %float
}

define weak hidden half @__truncsfhf2(float %value) nounwind {
  %bits = bitcast float %value to i32
  %magnitude = and i32 %bits, 2147483647
  ; Normal: remove the difference of the biases, add half a unit, and an odd result goes up.
  %unit = lshr i32 %magnitude, 13
  %odd = and i32 %unit, 1
  %based = add i32 %magnitude, -939520001
  %rounded = add i32 %based, %odd
  %normal = lshr i32 %rounded, 13
  ; Subnormal: adding 0.5, whose unit is that of a subnormal half, rounds.
  %absolute = bitcast i32 %magnitude to float
  %sum = fadd float %absolute, 5.000000e-01
  %sum_bits = bitcast float %sum to i32
  %subnormal = add i32 %sum_bits, -1056964608
  %is_subnormal = icmp ult i32 %magnitude, 947912704
  %finite = select i1 %is_subnormal, i32 %subnormal, i32 %normal
  ; 65520 and more round to infinity.
  %overflows = icmp uge i32 %magnitude, 1199566848
  %number = select i1 %overflows, i32 31744, i32 %finite
  %is_nan = icmp ugt i32 %magnitude, 2139095040
  %payload = and i32 %unit, 511
  %nan = or i32 %payload, 32256
  %result = select i1 %is_nan, i32 %nan, i32 %number
  %high = lshr i32 %bits, 16
  %sign = and i32 %high, 32768
  %all = or i32 %result, %sign
  %narrow = trunc i32 %all to i16
  %half = bitcast i16 %narrow to half
  ret half %half
}

define weak hidden bfloat @__truncsfbf2(float %value) nounwind {
  %bits = bitcast float %value to i32
  %unit = lshr i32 %bits, 16
  %odd = and i32 %unit, 1
  %more = add i32 %bits, 32767
  %rounded = add i32 %more, %odd
  %number = lshr i32 %rounded, 16
  %is_nan = fcmp uno float %value, 0.000000e+00
  %nan = or i32 %unit, 64
  %result = select i1 %is_nan, i32 %nan, i32 %number
  %narrow = trunc i32 %result to i16
  %bfloat = bitcast i16 %narrow to bfloat
  ret bfloat %bfloat
}

; Round an f64 to an f32 that rounds to the same 16 bits: an inexact result is odd, so never a tie.
define internal float @rise_round_to_odd(double %value) nounwind {
  %nearest = fptrunc double %value to float
  %back = fpext float %nearest to double
  %inexact = fcmp one double %back, %value
  %exact_size = call double @llvm.fabs.f64(double %value)
  %size = call double @llvm.fabs.f64(double %back)
  %too_large = fcmp ogt double %size, %exact_size
  %bits = bitcast float %nearest to i32
  %one = zext i1 %too_large to i32
  %below = sub i32 %bits, %one
  %odd = or i32 %below, 1
  %result = select i1 %inexact, i32 %odd, i32 %bits
  %float = bitcast i32 %result to float
  ret float %float
}

define weak hidden half @__truncdfhf2(double %value) nounwind {
  %single = call float @rise_round_to_odd(double %value)
  %half = call half @__truncsfhf2(float %single)
  ret half %half
}

define weak hidden bfloat @__truncdfbf2(double %value) nounwind {
  %single = call float @rise_round_to_odd(double %value)
  %bfloat = call bfloat @__truncsfbf2(float %single)
  ret bfloat %bfloat
}

