# Compiles CUDA kernels, one .cu per command: one compilation gives the object for a list of
# architectures and ptxas's report on each kernel (registers, stack, spills, shared memory). Needs
# CMAKE_CUDA_COMPILER and CMAKE_CUDA_COMPILER_VERSION.

# The folder of the reports, next to the provider library; `plumbline resources` reads them there.
set(PLUMBLINE_RESOURCES_DIR ${PROJECT_BINARY_DIR}/lib/plumbline/resources)
set(PLUMBLINE_CUDA_ARCHS "${PLUMBLINE_NVCC_ARCHS}" CACHE
  STRING "Architectures of the CUDA kernels; those that nvcc does not know are left out")
# A machine without an NVIDIA device runs no CUDA code, so one architecture is enough as a compile
# check.
option(PLUMBLINE_CUDA_ONE_ARCH "Without an NVIDIA device, compile CUDA code for sm_90a alone" OFF)
set(PLUMBLINE_CUDA_PROOF "" CACHE INTERNAL "The one architecture; empty: all")
if(PLUMBLINE_CUDA_ONE_ARCH AND NOT EXISTS /dev/nvidiactl)
  set(PLUMBLINE_CUDA_PROOF 90a CACHE INTERNAL "The one architecture; empty: all")
  message(STATUS "CUDA code: for sm_${PLUMBLINE_CUDA_PROOF} alone (no NVIDIA device here)")
  # Kept out of lib/plumbline: `plumbline resources` would report the other architectures as
  # missing.
  set(PLUMBLINE_RESOURCES_DIR ${PROJECT_BINARY_DIR}/resources_of_one_arch)
  file(REMOVE_RECURSE ${PROJECT_BINARY_DIR}/lib/plumbline/resources)
endif()
# The number of architectures that nvcc compiles in parallel. On two cores, naive.cu for six
# architectures compiles in 8.2 s with 1 and in 4.4 s with 2.
set(PLUMBLINE_CUDA_THREADS 2 CACHE STRING "Architectures that one nvcc compiles at once")

set(PLUMBLINE_CUDA_FLAGS -std=c++20 -O3 --fmad=false -ftz=false -prec-div=true -prec-sqrt=true
  --expt-relaxed-constexpr
  -Xcompiler=-fPIC,-fvisibility=hidden,-Wall,-Wextra)
# For ci/gpu.sh --pack: the bundle is copied to other machines, so it has only the requested
# architectures, compressed.
option(PLUMBLINE_CUDA_BUNDLE "CUDA code for PLUMBLINE_CUDA_ARCHS alone, compressed" OFF)
if(PLUMBLINE_CUDA_BUNDLE)
  list(APPEND PLUMBLINE_CUDA_FLAGS -Xfatbin=-compress-all)
endif()
if(PLUMBLINE_WERROR)
  list(APPEND PLUMBLINE_CUDA_FLAGS --Werror=all-warnings)
endif()

# On a GPU that fits none of the architectures, the driver compiles the PTX of this one. For
# example, B300 (sm_103) runs neither sm_100a nor sm_120 code. A bundle has no PTX.
set(PLUMBLINE_CUDA_PTX 80)
if(PLUMBLINE_CUDA_BUNDLE OR PLUMBLINE_CUDA_PROOF)
  set(PLUMBLINE_CUDA_PTX "")
endif()

# Returns the architectures of ARGN that this nvcc compiles. For "90a" nvcc must list sm_90. A
# family such as "100f" also needs nvcc 12.9. If PLUMBLINE_CUDA_PROOF is set, it replaces ARGN.
function(plumbline_known_cuda_archs RESULT)
  if(PLUMBLINE_CUDA_PROOF)
    set(ARGN ${PLUMBLINE_CUDA_PROOF})
  endif()
  if(NOT PLUMBLINE_NVCC_CODES)
    execute_process(COMMAND ${CMAKE_CUDA_COMPILER} --list-gpu-code OUTPUT_VARIABLE codes
      COMMAND_ERROR_IS_FATAL ANY)
    string(REGEX MATCHALL "[0-9]+" codes "${codes}")
    set(PLUMBLINE_NVCC_CODES ${codes} CACHE INTERNAL "Architectures that nvcc knows")
  endif()
  set(known "")
  foreach(arch ${ARGN})
    string(REGEX REPLACE "[a-z]$" "" number ${arch})
    if(number IN_LIST PLUMBLINE_NVCC_CODES
        AND NOT (arch MATCHES "f$" AND CMAKE_CUDA_COMPILER_VERSION VERSION_LESS 12.9))
      list(APPEND known ${arch})
    else()
      message(STATUS
        "CUDA kernels: nvcc ${CMAKE_CUDA_COMPILER_VERSION} does not compile for sm_${arch}")
    endif()
  endforeach()
  set(${RESULT} ${known} PARENT_SCOPE)
endfunction()

# plumbline_cuda_archs(TARGET): sets PLUMBLINE_CUDA_ARCHS for the .cu files of a target that CMake
# compiles itself.
function(plumbline_cuda_archs TARGET)
  if(PLUMBLINE_CUDA_BUNDLE)
    target_compile_options(${TARGET} PRIVATE -Xfatbin=-compress-all)
  endif()
  plumbline_known_cuda_archs(archs ${PLUMBLINE_CUDA_ARCHS})
  foreach(arch ${archs})
    target_compile_options(${TARGET} PRIVATE "SHELL:-gencode arch=compute_${arch},code=sm_${arch}")
  endforeach()
  foreach(arch ${PLUMBLINE_CUDA_PTX})
    target_compile_options(${TARGET} PRIVATE
      "SHELL:-gencode arch=compute_${arch},code=compute_${arch}")
  endforeach()
endfunction()

# plumbline_cuda_object(NAME.cu TARGET target [ARCHS 80 90a …] [ALSO_ARCHS 75 …] [FLAGS -DX …]
# [LAUNCH file]): compiles NAME.cu of this folder into `target`, for ARCHS (default:
# PLUMBLINE_CUDA_ARCHS) and ALSO_ARCHS. Writes NAME.ptxas.txt to PLUMBLINE_RESOURCES_DIR and copies
# the launch facts there as NAME.launch.toml. Their source is `file`, otherwise NAME.launch.toml of
# this folder, if any.
function(plumbline_cuda_object SOURCE)
  cmake_parse_arguments(ARG "" "TARGET;LAUNCH" "ARCHS;ALSO_ARCHS;FLAGS" ${ARGN})
  cmake_path(GET SOURCE STEM name)
  cmake_path(ABSOLUTE_PATH SOURCE OUTPUT_VARIABLE source)
  cmake_path(RELATIVE_PATH source BASE_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE shown)
  if(NOT ARG_ARCHS)
    set(ARG_ARCHS ${PLUMBLINE_CUDA_ARCHS})
  endif()
  plumbline_known_cuda_archs(archs ${ARG_ALSO_ARCHS} ${ARG_ARCHS})
  set(codes "")
  foreach(arch ${archs})
    list(APPEND codes -gencode arch=compute_${arch},code=sm_${arch})
  endforeach()
  foreach(arch ${PLUMBLINE_CUDA_PTX})
    list(APPEND codes -gencode arch=compute_${arch},code=compute_${arch})
  endforeach()

  list(JOIN archs ", sm_" archs)

  set(object ${CMAKE_CURRENT_BINARY_DIR}/${name}.o)
  set(report ${PLUMBLINE_RESOURCES_DIR}/${name}.ptxas.txt)
  set(flags ${PLUMBLINE_CUDA_FLAGS} ${ARG_FLAGS})
  # Depend mode: ccache's other mode preprocesses for one architecture and would miss code that only
  # another one compiles. The compiler is identified by its version, because nvcc on the PATH may be
  # a script that does not change with the toolkit.
  set(launcher "")
  if(CCACHE)
    set(launcher ${CMAKE_COMMAND} -E env CCACHE_NOHASHDIR=1 CCACHE_DEPEND=1
      "CCACHE_COMPILERCHECK=string:nvcc ${CMAKE_CUDA_COMPILER_VERSION}"
      ${CCACHE})
  endif()
  add_custom_command(OUTPUT ${object} ${report}
    COMMAND ${CMAKE_COMMAND} -D SOURCE=${shown} -D TOOLKIT=${CMAKE_CUDA_COMPILER_VERSION}
      -D REPORT=${report}
      -P ${PROJECT_SOURCE_DIR}/ci/cmake/CompileCuda.cmake --
      ${launcher} ${CMAKE_CUDA_COMPILER} ${flags} ${codes} --threads ${PLUMBLINE_CUDA_THREADS}
      --resource-usage -I ${PROJECT_SOURCE_DIR}
      -MD -MF ${object}.d -c ${source} -o ${object}
    DEPENDS ${source} ${PROJECT_SOURCE_DIR}/ci/cmake/CompileCuda.cmake DEPFILE ${object}.d
    COMMENT "Compiling ${shown} for sm_${archs}" VERBATIM)
  set_source_files_properties(${object} PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)
  target_sources(${ARG_TARGET} PRIVATE ${object})

  if(NOT ARG_LAUNCH AND EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/${name}.launch.toml)
    set(ARG_LAUNCH ${name}.launch.toml)
  endif()
  if(ARG_LAUNCH)
    cmake_path(ABSOLUTE_PATH ARG_LAUNCH)
    set(copied ${PLUMBLINE_RESOURCES_DIR}/${name}.launch.toml)
    add_custom_command(OUTPUT ${copied} COMMAND ${CMAKE_COMMAND} -E copy ${ARG_LAUNCH} ${copied}
      DEPENDS ${ARG_LAUNCH} VERBATIM)
    target_sources(${ARG_TARGET} PRIVATE ${copied})
  endif()
  if(NOT PLUMBLINE_CUDA_PROOF)
    install(FILES ${report} ${copied} DESTINATION ${CMAKE_INSTALL_LIBDIR}/plumbline/resources
      OPTIONAL)
  endif()
endfunction()
