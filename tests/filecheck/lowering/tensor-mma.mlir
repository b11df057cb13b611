// RUN: rise-opt %s -p 'convert-rise-to-imperative{loops=gpu},resolve-rise-access' | filecheck %s --check-prefix=TILES
// RUN: rise-opt %s -p 'convert-rise-to-imperative{loops=gpu},resolve-rise-access,outline-gpu-kernels{shared_bytes=232448 tensor_unit=wgmma}' | filecheck %s --check-prefix=WGMMA
// RUN: rise-opt %s -p 'convert-rise-to-imperative{loops=gpu},resolve-rise-access,outline-gpu-kernels{shared_bytes=166912 tensor_unit=mma}' | filecheck %s --check-prefix=MMA

// Each lane stores its part of a fragment: a product of parts of buffers, of which the first
// dimension counts rows and columns, and the second one products; nothing is padded.
// TILES-LABEL: func.func @f
// TILES:         "tile.product"({{.*}}) <{sizes = array<i64: 64, 2, 4, 1, 1, 4, 64>, dimensions = array<i64: 0, 1, 64, 64, 0, 1, 32, 64, 0>
// Lanes exchange half of their words with their neighbors.
// TILES:         arith.select
// TILES:         "tile.shuffle"({{.*}}) <{distance = 1 : i32}> : (i32) -> i32
// TILES:         memref.store {{.*}} : memref<1x4x32x4x2x2xbf16>

// A fifth warp copies the operands, which the kernel takes as tensor maps.
// WGMMA:         "gpu.func"() <{function_type = (memref<64x64xbf16>, memref<32x64xbf16>, memref<1x4x32x4x2x2xbf16>, !llvm.ptr, !llvm.ptr) -> (), kernel}>
// WGMMA:         func.call @f_0_product_0({{.*}}) : (!llvm.ptr, !llvm.ptr, i32, i32, i32, i32, i32, i32, f32) -> vector<16xf32>
// WGMMA-NEXT:    vector.store {{.*}} : memref<16xf32>, vector<16xf32>
// WGMMA-NOT:     gpu.barrier
// WGMMA:         func.call @shuffle_lanes({{.*}}) : (i32, i32) -> i32
// WGMMA:         rise.tensor_maps = array<i64: 0, 1>
// WGMMA-SAME:    gpu.known_block_size = array<i32: 160, 1, 1>
// WGMMA:         memref<24576xi8, 3 : i64>
// WGMMA:         memref<32xi8, 3 : i64>
// WGMMA:         rise.tensor_product = "{{.*}}wgmma{{.*}}"

// All four warps copy the operands.
// MMA:           "gpu.func"() <{function_type = (memref<64x64xbf16>, memref<32x64xbf16>, memref<1x4x32x4x2x2xbf16>) -> (), kernel}>
// MMA:           func.call @f_0_product_0
// MMA:           gpu.known_block_size = array<i32: 128, 1, 1>
// MMA:           rise.tensor_product = "{{.*}}\22mma\22{{.*}}"
func.func @f(%out: memref<1x4x32x4x2x2xbf16> {llvm.noalias}, %a: memref<64x64xbf16>, %b: memref<32x64xbf16>) {
  rise.lowering_unit {
    %0 = rise.in %a : !rise.array<64, array<64, scalar<bf16>>>
    %1 = rise.in %b : !rise.array<32, array<64, scalar<bf16>>>
    %mapBlock = rise.mapBlock #rise.nat<0> #rise.nat<1> #rise.array<64, array<64, scalar<bf16>>> #rise.array<4, array<32, array<4, array<2, array<2, scalar<bf16>>>>>>
    %fun = rise.lambda (%x : !rise.array<64, array<64, scalar<bf16>>>) -> !rise.array<4, array<32, array<4, array<2, array<2, scalar<bf16>>>>>> {
      %mapWarp = rise.mapWarp #rise.nat<4> #rise.array<32, array<16, scalar<f32>>> #rise.array<32, array<4, array<2, array<2, scalar<bf16>>>>>
      %mapLaneExchange = rise.mapLaneExchange #rise.nat<2> #rise.nat<16> #rise.nat<4> #rise.array<16, scalar<f32>> #rise.array<2, scalar<bf16>>
      %fun_1 = rise.lambda (%l : !rise.array<16, scalar<f32>>) -> !rise.array<4, array<2, array<2, scalar<bf16>>>> {
        %split = rise.split #rise.nat<2> #rise.nat<4> #rise.array<2, scalar<bf16>>
        %split_1 = rise.split #rise.nat<2> #rise.nat<8> #rise.scalar<bf16>
        %map = rise.map #rise.nat<16> #rise.scalar<f32> #rise.scalar<bf16>
        %fun_2 = rise.lambda (%e : !rise.scalar<f32>) -> !rise.scalar<bf16> {
          %2 = rise.embed(%e) {
            %3 = arith.truncf %e : f32 to bf16
            rise.return %3 : bf16
          } : !rise.scalar<bf16>
          rise.return %2 : !rise.scalar<bf16>
        }
        %3 = rise.apply %map, %fun_2, %l
        %4 = rise.apply %split_1, %3
        %5 = rise.apply %split, %4
        rise.return %5 : !rise.array<4, array<2, array<2, scalar<bf16>>>>
      }
      %6 = rise.apply %mapLaneExchange, %fun_1
      %tensorMMA = rise.tensorMMA #rise.nat<64> #rise.nat<2> #rise.nat<4> #rise.nat<1> #rise.nat<1> #rise.nat<4> #rise.nat<64> #rise.scalar<bf16> #rise.scalar<f32>
      %fun_3 = rise.lambda (%s : !rise.scalar<f32>, %p : !rise.tuple<scalar<bf16>, scalar<bf16>>) -> !rise.scalar<f32> {
        %fst = rise.fst #rise.scalar<bf16> #rise.scalar<bf16>
        %7 = rise.apply %fst, %p
        %snd = rise.snd #rise.scalar<bf16> #rise.scalar<bf16>
        %8 = rise.apply %snd, %p
        %9 = rise.embed(%7, %8, %s) {
          %10 = arith.extf %7 : bf16 to f32
          %11 = arith.extf %8 : bf16 to f32
          %12 = math.fma %10, %11, %s : f32
          rise.return %12 : f32
        } : !rise.scalar<f32>
        rise.return %9 : !rise.scalar<f32>
      }
      %10 = rise.literal #rise.lit<0.000000e+00>
      %11 = rise.apply %tensorMMA, %fun_3, %10, %x, %1
      %12 = rise.apply %mapWarp, %6, %11
      rise.return %12 : !rise.array<4, array<32, array<4, array<2, array<2, scalar<bf16>>>>>>
    }
    %split_2 = rise.split #rise.nat<64> #rise.nat<1> #rise.array<64, scalar<bf16>>
    %13 = rise.apply %split_2, %0
    %14 = rise.apply %mapBlock, %fun, %13
    rise.out %out <- %14
    rise.return
  }
  func.return
}
