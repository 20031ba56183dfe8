# plumbline_compiled_provider(NAME VERSION 1.0 SOURCES provider.cc … DEVICE_SOURCES a.cu …
#   INCLUDES folder … DEFINITIONS X … PTX_SOURCES b.cu …)
# Builds a provider library of third-party kernels for the emulator, and with
# PLUMBLINE_COMPILED_CUDA a second one for GPUs from the same host code and PTX. PTX_SOURCES become
# PTX only, for evidence/census.py.
#
# For each device source, clang writes PTX and the host's object. The PTX becomes a fat binary
# inside of the object, without any CUDA tool. For GPUs, ptxas compiles that PTX.
set(PLUMBLINE_DEVICE_ARCH 80 CACHE STRING "Target architecture of the PTX of third-party kernels")
# OFF is for ci/source_mutants.py: only the kernels that a case launches are compiled, during the
# case. That is too slow for cases that are timed or have a short time limit.
option(PLUMBLINE_COMPILED_AHEAD "Compile third-party kernels when their provider is built" ON)
set(device_flags -x cuda --cuda-path=${cuda} --cuda-gpu-arch=sm_${PLUMBLINE_DEVICE_ARCH} -w
  -Wno-unknown-cuda-version -O3 -std=c++20 -fPIC -fvisibility=hidden)
# Like nvcc's --use_fast_math, which these projects use: subnormals are zero, fma is allowed, and
# division, roots, sines and logarithms are approximate. But expf is libdevice's; nvcc uses __expf.
# clang's -ffast-math would also reorder sums and assume that infinities do not occur.
set(device_math -fgpu-flush-denormals-to-zero -ffp-contract=fast -fgpu-approx-transcendentals
  -mllvm -nvptx-prec-divf32=0 -mllvm -nvptx-prec-sqrtf32=0
  # nvcc inlines all functions, but clang does not inline large ones.
  -mllvm -inline-threshold=1000000)
# Only for evidence/census.py, which counts instructions; code from nvcc's PTX is never run.
option(PLUMBLINE_NVCC_PTX "Add targets that write third-party kernels' PTX with nvcc, too (see the \
licences in docs/emulator.md)" OFF)
if(PLUMBLINE_NVCC_PTX)
  find_program(PLUMBLINE_NVCC nvcc REQUIRED)
  # The flags of flash_attn's setup.py and of FlashInfer's and xFormers' builds.
  set(nvcc_flags -ptx -arch=compute_${PLUMBLINE_DEVICE_ARCH} -w -O3 -std=c++20 --use_fast_math
    --expt-relaxed-constexpr --expt-extended-lambda)
endif()
execute_process(COMMAND ${PLUMBLINE_DEVICE_CLANG} -dumpversion OUTPUT_VARIABLE device_clang
  OUTPUT_STRIP_TRAILING_WHITESPACE)

# Compiles the host object BASE.o, which contains the fat binary BASE.fatbin.
function(plumbline_host_object base source fat_binary flags also)
  add_custom_command(OUTPUT ${base}.o
    COMMAND ${PLUMBLINE_DEVICE_CLANG} ${flags} --cuda-host-only -c -march=x86-64-v3
      -Xclang -fcuda-include-gpubinary -Xclang ${fat_binary} -o ${base}.o ${source}
    DEPENDS ${source} ${fat_binary} ${also} VERBATIM
    COMMENT "Host code of ${source}")
endfunction()

# Compiles BASE.ptx for each architecture of PLUMBLINE_COMPILED_CUDA_ARCHS; BASE_cuda.o contains the
# PTX and the machine code.
function(plumbline_gpu_object base source flags)
  set(images --image3=kind=ptx,sm=${PLUMBLINE_DEVICE_ARCH},file=${base}.ptx)
  set(cubins "")
  foreach(arch IN LISTS PLUMBLINE_COMPILED_CUDA_ARCHS)
    set(cubin ${base}.sm_${arch}.cubin)
    add_custom_command(OUTPUT ${cubin}
      COMMAND ${PLUMBLINE_PTXAS} -arch=sm_${arch} -O3 ${base}.ptx -o ${cubin}
      DEPENDS ${base}.ptx VERBATIM COMMENT "Machine code for sm_${arch} of ${source}")
    list(APPEND cubins ${cubin})
    list(APPEND images --image3=kind=elf,sm=${arch},file=${cubin})
  endforeach()
  add_custom_command(OUTPUT ${base}_cuda.fatbin
    COMMAND ${PLUMBLINE_FATBINARY} --64 --compress-all --create=${base}_cuda.fatbin ${images}
    DEPENDS ${cubins} VERBATIM)
  plumbline_host_object(${base}_cuda ${source} ${base}_cuda.fatbin "${flags}" "")
endfunction()

# Writes the PTX of a source, BASE.ptx, and with PLUMBLINE_NVCC_PTX also BASE.nvcc.ptx. Sets base
# and flags.
macro(plumbline_device_ptx source)
  cmake_parse_arguments(ARG "CUDA" "" "INCLUDES;DEFINITIONS" ${ARGN})
  get_filename_component(base ${source} NAME_WE)
  set(base ${CMAKE_CURRENT_BINARY_DIR}/${base})
  list(TRANSFORM ARG_INCLUDES PREPEND -I OUTPUT_VARIABLE includes)
  list(TRANSFORM ARG_DEFINITIONS PREPEND -D OUTPUT_VARIABLE definitions)
  set(flags ${device_flags} ${includes} ${definitions})
  add_custom_command(OUTPUT ${base}.ptx
    COMMAND ${PLUMBLINE_DEVICE_CLANG} ${flags} ${device_math} -gline-tables-only
      --cuda-device-only -S -MD -MF ${base}.d -MT ${base}.ptx -o ${base}.ptx ${source}
    DEPENDS ${source} DEPFILE ${base}.d VERBATIM
    COMMENT "Device code of ${source}")
  if(PLUMBLINE_NVCC_PTX)
    # nvcc defines its version itself.
    list(FILTER definitions EXCLUDE REGEX "__CUDACC_VER_")
    add_custom_command(OUTPUT ${base}.nvcc.ptx
      COMMAND ${PLUMBLINE_NVCC} ${nvcc_flags} ${includes} ${definitions} -MD -MF ${base}.nvcc.d
        -MT ${base}.nvcc.ptx -o ${base}.nvcc.ptx ${source}
      DEPENDS ${source} DEPFILE ${base}.nvcc.d VERBATIM
      COMMENT "Device code of ${source}, by nvcc")
  endif()
endmacro()

function(plumbline_device_object RESULT source)
  plumbline_device_ptx(${source} ${ARGN})
  add_custom_command(OUTPUT ${base}.fatbin
    COMMAND plumbline_ptx_tool fatbin ${base}.ptx -o ${base}.fatbin
    DEPENDS ${base}.ptx plumbline_ptx_tool VERBATIM)
  set(ahead ${base}.compiled)
  if(NOT PLUMBLINE_COMPILED_AHEAD)
    set(ahead "")
  endif()
  add_custom_command(OUTPUT ${base}.compiled
    COMMAND plumbline_ptx_tool compile ${base}.ptx
      -o ${CMAKE_BINARY_DIR}/lib/plumbline/emulated/compiled
    COMMAND ${CMAKE_COMMAND} -E touch ${base}.compiled
    DEPENDS ${base}.ptx plumbline_ptx_tool VERBATIM COMMENT "Compiling the kernels of ${source}")
  plumbline_host_object(${base} ${source} ${base}.fatbin "${flags}" "${ahead}")
  if(ARG_CUDA)
    plumbline_gpu_object(${base} ${source} "${flags}")
  endif()
  set_property(GLOBAL APPEND PROPERTY PLUMBLINE_COMPILED_PTX ${base}.ptx)
  set(${RESULT} ${base} PARENT_SCOPE)
endfunction()

# Adds the target plumbline_NAME_ptx: the PTX of SOURCES. MORE has those of the sources
# whose PTX no other rule writes.
function(plumbline_ptx_alone NAME)
  cmake_parse_arguments(PTX "" "" "SOURCES;MORE;INCLUDES;DEFINITIONS" ${ARGN})
  foreach(source IN LISTS PTX_MORE)
    plumbline_device_ptx(${source} INCLUDES ${PTX_INCLUDES} DEFINITIONS ${PTX_DEFINITIONS})
  endforeach()
  set(files "")
  foreach(source IN LISTS PTX_SOURCES)
    get_filename_component(base ${source} NAME_WE)
    list(APPEND files ${CMAKE_CURRENT_BINARY_DIR}/${base}.ptx)
    if(PLUMBLINE_NVCC_PTX)
      list(APPEND files ${CMAKE_CURRENT_BINARY_DIR}/${base}.nvcc.ptx)
    endif()
  endforeach()
  add_custom_target(plumbline_${NAME}_ptx DEPENDS ${files})
endfunction()

# Adds a library for one machine; uses the variables of plumbline_compiled_provider. The library
# finds the machine's runtime library in the folder `runtime` beside itself, even if both are moved.
function(plumbline_compiled_library name machine_library runtime objects build_id)
  set_source_files_properties(${objects} PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)
  set(target plumbline_compiled_${name})
  add_library(${target} MODULE ${ARG_SOURCES} ${objects})
  target_include_directories(${target} SYSTEM PRIVATE ${ARG_INCLUDES})
  target_compile_definitions(${target} PRIVATE ${ARG_DEFINITIONS}
    PLUMBLINE_BUILD_ID="${build_id}" PLUMBLINE_SOURCE_VERSION="${ARG_VERSION}"
    PLUMBLINE_DEVICE_COMPILER="clang ${device_clang}")
  target_compile_options(${target} PRIVATE -fvisibility=hidden -fvisibility-inlines-hidden)
  target_link_libraries(${target} PRIVATE ${machine_library})
  target_link_options(${target} PRIVATE -Wl,--wrap=cudaLaunchKernel
    -Wl,--version-script=${PROJECT_SOURCE_DIR}/kernels/cpu/exports.map)
  set_target_properties(${target} PROPERTIES PREFIX ""
    BUILD_RPATH "$ORIGIN/${runtime};${CMAKE_BUILD_RPATH}"
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib/plumbline)
endfunction()

function(plumbline_compiled_provider NAME)
  cmake_parse_arguments(ARG "" "VERSION" "SOURCES;DEVICE_SOURCES;PTX_SOURCES;INCLUDES;DEFINITIONS"
    ${ARGN})
  # One provider is enough to prove that the code for GPUs compiles (PlumblineCuda.cmake).
  set(for_gpus "")
  if(PLUMBLINE_COMPILED_CUDA AND (NAME STREQUAL "cutlass" OR NOT PLUMBLINE_CUDA_PROOF))
    set(for_gpus CUDA)
  endif()
  set(objects "")
  set(gpu_objects "")
  foreach(source IN LISTS ARG_DEVICE_SOURCES)
    plumbline_device_object(base ${source} ${for_gpus} INCLUDES ${ARG_INCLUDES}
      DEFINITIONS ${ARG_DEFINITIONS})
    list(APPEND objects ${base}.o)
    list(APPEND gpu_objects ${base}_cuda.o)
  endforeach()
  plumbline_ptx_alone(${NAME} SOURCES ${ARG_DEVICE_SOURCES} ${ARG_PTX_SOURCES} MORE
    ${ARG_PTX_SOURCES} INCLUDES ${ARG_INCLUDES} DEFINITIONS ${ARG_DEFINITIONS})
  set(machine ${PROJECT_SOURCE_DIR}/kernels/compiled)
  file(GLOB hashed CONFIGURE_DEPENDS *.cc *.h *.cu ${machine}/*.cc ${machine}/*.h)
  list(SORT hashed)
  set(of ${hashed} ${ARG_VERSION} ${device_clang} ${device_flags} ${device_math}
    ${ARG_DEFINITIONS})
  plumbline_build_id(build_id ${of})
  plumbline_compiled_library(${NAME} plumbline_compiled_machine_emulated emulated/12
    "${objects}" ${build_id})
  if(for_gpus)
    plumbline_build_id(build_id ${of} ${CMAKE_CUDA_COMPILER_VERSION})
    plumbline_compiled_library(${NAME}_cuda plumbline_compiled_machine_cuda cuda12
      "${gpu_objects}" ${build_id})
  endif()
endfunction()
