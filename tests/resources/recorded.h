// Output of nvcc 13.0.88's --resource-usage for compiled kernels, as test data for its reader.
// Each output starts with the two # lines that ci/cmake/CompileCuda.cmake adds.
#pragma once

namespace plumbline::recorded {

// tests/resources/tile.cu with TILE_Q 192, for sm_90 and sm_80 with --threads 2. The architectures
// are in order of completion.
inline constexpr const char* spilling_tile = R"(# source: tests/resources/tile.cu
# toolkit: nvcc 13.0.88
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function '_Z14tile_attentionPK6__halfS1_S1_Pfi' for 'sm_90'
ptxas info    : Function properties for _Z14tile_attentionPK6__halfS1_S1_Pfi
    208 bytes stack frame, 396 bytes spill stores, 400 bytes spill loads
ptxas info    : Used 255 registers, used 1 barriers, 208 bytes cumulative stack size
ptxas info    : Compile time = 902.754 ms
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function '_Z14tile_attentionPK6__halfS1_S1_Pfi' for 'sm_80'
ptxas info    : Function properties for _Z14tile_attentionPK6__halfS1_S1_Pfi
    208 bytes stack frame, 396 bytes spill stores, 400 bytes spill loads
ptxas info    : Used 255 registers, used 1 barriers, 208 bytes cumulative stack size, 388 bytes cmem[0]
ptxas info    : Compile time = 1187.131 ms
)";

// tile.cu with TILE_Q 16.
inline constexpr const char* small_tile = R"(# source: tests/resources/tile.cu
# toolkit: nvcc 13.0.88
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function '_Z14tile_attentionPK6__halfS1_S1_Pfi' for 'sm_80'
ptxas info    : Function properties for _Z14tile_attentionPK6__halfS1_S1_Pfi
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 48 registers, used 1 barriers, 388 bytes cmem[0]
ptxas info    : Compile time = 89.870 ms
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function '_Z14tile_attentionPK6__halfS1_S1_Pfi' for 'sm_90'
ptxas info    : Function properties for _Z14tile_attentionPK6__halfS1_S1_Pfi
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 48 registers, used 1 barriers
ptxas info    : Compile time = 84.431 ms
)";

// Kernels with static shared memory in an unnamed namespace, and one that calls a function that was
// not inlined; sm_80.
inline constexpr const char* functions = R"(# source: a.cu
# toolkit: nvcc 13.0.88
ptxas info    : 24 bytes gmem, 8 bytes cmem[4]
ptxas info    : Compiling entry function '_ZN9plumbline36_GLOBAL__N__c299514c_4_a_cu_9056d81f4anonILi128ELNS0_4ModeE0EEEvPf' for 'sm_80'
ptxas info    : Function properties for _ZN9plumbline36_GLOBAL__N__c299514c_4_a_cu_9056d81f4anonILi128ELNS0_4ModeE0EEEvPf
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 10 registers, used 1 barriers, 512 bytes smem, 360 bytes cmem[0]
ptxas info    : Compile time = 1.325 ms
ptxas info    : Compiling entry function '_ZN9plumbline6callerEPf' for 'sm_80'
ptxas info    : Function properties for _ZN9plumbline6callerEPf
    32 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 18 registers, used 0 barriers, 32 bytes cumulative stack size, 360 bytes cmem[0], 8 bytes cmem[2]
ptxas info    : Compile time = 5.429 ms
ptxas info    : Function properties for _ZN9plumbline6helperEf
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
)";

// With -Xptxas --warn-on-spills,--warn-on-local-memory-usage: warnings between the lines.
inline constexpr const char* warnings = R"(# source: w.cu
# toolkit: nvcc 13.0.88
ptxas warning : Local memory used for function '_Z5spillPf', size of stack frame: 288 bytes
ptxas warning : Registers are spilled to local memory in function '_Z5spillPf', 568 bytes spill stores, 592 bytes spill loads
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function '_Z5spillPf' for 'sm_75'
ptxas info    : Function properties for _Z5spillPf
    288 bytes stack frame, 568 bytes spill stores, 592 bytes spill loads
ptxas info    : Used 64 registers, used 0 barriers, 288 bytes cumulative stack size, 360 bytes cmem[0]
ptxas info    : Compile time = 30.977 ms
)";

// The launch of tile.cu with TILE_Q 16.
inline constexpr const char* small_tile_launch = R"(schema = 1
[[launch]]
kernel = "tile_attention"
threads = 128
dynamic_shared_bytes = 36864
tile_q = 16
tile_kv = 64
head_dim_qk = 128
element_bytes = 2
)";

}  // namespace plumbline::recorded
