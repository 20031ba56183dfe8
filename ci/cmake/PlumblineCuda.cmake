# CUDA kernels, one .cu a command: one compilation gives the object for a list of architectures and
# what ptxas says of each kernel there (registers, stack, spills, shared memory). Needs
# CMAKE_CUDA_COMPILER and CMAKE_CUDA_COMPILER_VERSION.

# Where the reports go; `plumbline resources` reads them there, beside the provider library.
set(PLUMBLINE_RESOURCES_DIR ${PROJECT_BINARY_DIR}/lib/plumbline/resources)
set(PLUMBLINE_CUDA_ARCHS "${PLUMBLINE_NVCC_ARCHS}" CACHE
  STRING "Architectures of the CUDA kernels; those that nvcc does not know are left out")
# A machine without an NVIDIA device runs no CUDA code: one architecture proves that it compiles.
option(PLUMBLINE_CUDA_ONE_ARCH "Without an NVIDIA device, compile CUDA code for sm_90a alone" OFF)
set(PLUMBLINE_CUDA_PROOF "" CACHE INTERNAL "The one architecture; empty: all")
if(PLUMBLINE_CUDA_ONE_ARCH AND NOT EXISTS /dev/nvidiactl)
  set(PLUMBLINE_CUDA_PROOF 90a CACHE INTERNAL "The one architecture; empty: all")
  message(STATUS "CUDA code: for sm_${PLUMBLINE_CUDA_PROOF} alone (no NVIDIA device here)")
  # `plumbline resources` would miss what is approved for the other architectures.
  set(PLUMBLINE_RESOURCES_DIR ${PROJECT_BINARY_DIR}/resources_of_one_arch)
  file(REMOVE_RECURSE ${PROJECT_BINARY_DIR}/lib/plumbline/resources)
endif()
# nvcc compiles that many architectures of a file at once. naive.cu for six of them on two cores:
# 8.2 s with 1, 4.4 s with 2.
set(PLUMBLINE_CUDA_THREADS 2 CACHE STRING "Architectures that one nvcc compiles at once")

set(PLUMBLINE_CUDA_FLAGS -std=c++20 -O3 --fmad=false -ftz=false -prec-div=true -prec-sqrt=true
  --expt-relaxed-constexpr
  -Xcompiler=-fPIC,-fvisibility=hidden,-Wall,-Wextra)
# For ci/gpu.sh --pack, whose bundle travels: nothing for architectures that were not asked for, and
# all of it compressed.
option(PLUMBLINE_CUDA_BUNDLE "CUDA code for PLUMBLINE_CUDA_ARCHS alone, compressed" OFF)
if(PLUMBLINE_CUDA_BUNDLE)
  list(APPEND PLUMBLINE_CUDA_FLAGS -Xfatbin=-compress-all)
endif()
if(PLUMBLINE_WERROR)
  list(APPEND PLUMBLINE_CUDA_FLAGS --Werror=all-warnings)
endif()

# A GPU that none of the architectures fits compiles PTX of this one when it first loads the library
# (B300, say: sm_103 takes neither code for sm_100a nor for sm_120). None in a bundle, which is for
# the architectures it names.
set(PLUMBLINE_CUDA_PTX 80)
if(PLUMBLINE_CUDA_BUNDLE OR PLUMBLINE_CUDA_PROOF)
  set(PLUMBLINE_CUDA_PTX "")
endif()

# Those of ARGN that this nvcc compiles: "90a" needs sm_90, and a family such as "100f" nvcc 12.9.
# PLUMBLINE_CUDA_PROOF replaces them.
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

# plumbline_cuda_archs(TARGET arch …): for a target whose .cu files CMake compiles. A bundle's
# architectures are PLUMBLINE_CUDA_ARCHS.
function(plumbline_cuda_archs TARGET)
  set(archs ${ARGN})
  if(PLUMBLINE_CUDA_BUNDLE)
    set(archs ${PLUMBLINE_CUDA_ARCHS})
    target_compile_options(${TARGET} PRIVATE -Xfatbin=-compress-all)
  endif()
  plumbline_known_cuda_archs(archs ${archs})
  foreach(arch ${archs})
    target_compile_options(${TARGET} PRIVATE "SHELL:-gencode arch=compute_${arch},code=sm_${arch}")
  endforeach()
  foreach(arch ${PLUMBLINE_CUDA_PTX})
    target_compile_options(${TARGET} PRIVATE
      "SHELL:-gencode arch=compute_${arch},code=compute_${arch}")
  endforeach()
endfunction()

# plumbline_cuda_object(NAME.cu TARGET target [ARCHS 80 90a …] [ALSO_ARCHS 75 …] [FLAGS -DX …]
# [LAUNCH file]): compiles NAME.cu of this folder into `target`, for PLUMBLINE_CUDA_ARCHS unless
# ARCHS says otherwise, and for ALSO_ARCHS. Writes NAME.ptxas.txt to PLUMBLINE_RESOURCES_DIR and
# copies the launch facts there as NAME.launch.toml: `file`, or NAME.launch.toml of this folder if
# it is there.
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
  # Depend mode: ccache's other mode preprocesses for one architecture and would miss what only
  # another one compiles. The compiler is known by its version, because nvcc on the PATH may be a
  # script that does not change with the toolkit.
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
