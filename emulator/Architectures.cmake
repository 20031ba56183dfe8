# Reads architectures.csv, the only table of GPU architectures. Writes the header
# emulator/architectures.h and sets PLUMBLINE_NVCC_ARCHS, the architectures that our CUDA kernels
# are compiled for.
set(file ${CMAKE_CURRENT_LIST_DIR}/architectures.csv)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
file(STRINGS ${file} lines)
list(POP_FRONT lines)
set(rows "")
set(enumerators "")
set(emulated "")
set(PLUMBLINE_NVCC_ARCHS "")
set(count 0)
foreach(line IN LISTS lines)
  if(NOT line MATCHES "^(sm_([0-9]+)),(yes|no),([0-9]*a?),([0-9]+,[0-9]+,[0-9]+),\
([0-9]+,[0-9]+,[0-9]+,[0-9]+,[0-9]+),([^,]*),([0-9]+,[0-9]+,[0-9]+)$")
    message(FATAL_ERROR
      "${file}: this is no row of the table: ${line}\n  remedy: write the columns of line 1")
  endif()
  set(is_emulated false)
  if(CMAKE_MATCH_3 STREQUAL "yes")
    set(is_emulated true)
    string(APPEND enumerators " ${CMAKE_MATCH_1} = ${CMAKE_MATCH_2},")
    string(APPEND emulated " Arch::${CMAKE_MATCH_1},")
  endif()
  if(CMAKE_MATCH_4)
    list(APPEND PLUMBLINE_NVCC_ARCHS ${CMAKE_MATCH_4})
  endif()
  string(APPEND rows "    {\"${CMAKE_MATCH_1}\", ${CMAKE_MATCH_2}, ${is_emulated}, "
    "${CMAKE_MATCH_5}, ${CMAKE_MATCH_6}, \"${CMAKE_MATCH_7}\", ${CMAKE_MATCH_8}},\n")
  math(EXPR count "${count} + 1")
endforeach()
string(REGEX MATCHALL "sm_[0-9]+" names "${emulated}")
list(POP_BACK names last)
list(JOIN names ", " names)
string(APPEND names " and ${last}")
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/generated/emulator/architectures.h @ONLY CONTENT
"// The table of GPU architectures, made from emulator/architectures.csv by Architectures.cmake.
#pragma once

#include <array>
#include <string_view>

namespace plumbline {

// emulator/README.md names the source of each column. 0 and \"\": not known, or not used.
struct Architecture {
  std::string_view name;  // \"sm_90\"
  int number;             // 90
  bool is_emulated;
  // Tensor cores: fraction bits that a step keeps, products of a step.
  int fraction_bits, products_16_bit, products_tf32;
  // A multiprocessor: resident threads and blocks, KiB of shared memory of all blocks, of one block
  // that opts in, and bytes that the driver reserves for each block.
  int threads, blocks, shared_kib, block_shared_kib, reserved_shared_bytes;
  // The device that the emulator stands for.
  std::string_view device;
  int multiprocessors, l2_mib, memory_gib;
};
inline constexpr std::array<Architecture, @count@> architectures{{
@rows@}};

// How a tensor core adds: fraction bits that a step keeps, products of a step.
struct TensorCoreSums {
  int fraction_bits, products_16_bit, products_tf32;
};
inline constexpr TensorCoreSums unknown_tensor_core{24, 8, 8};

// For example of 90. unknown_tensor_core if the table does not know its tensor cores.
constexpr TensorCoreSums tensor_core_sums(int number) {
  for (const Architecture& one : architectures)
    if (one.number == number && one.fraction_bits > 0)
      return {one.fraction_bits, one.products_16_bit, one.products_tf32};
  return unknown_tensor_core;
}

// nullptr if the table lacks it. \"sm_90a\" and \"sm_90\" are one architecture.
constexpr const Architecture* find_architecture(std::string_view name) {
  if (name.ends_with('a')) name.remove_suffix(1);
  for (const Architecture& one : architectures)
    if (one.name == name) return &one;
  return nullptr;
}

namespace emulator {

enum class Arch {@enumerators@ };
inline constexpr std::array all_archs{@emulated@};

// For messages: \"sm_80, sm_86 and sm_90\".
inline constexpr std::string_view names_of_emulated = \"@names@\";

constexpr const Architecture& facts(Arch arch) {
  for (const Architecture& one : architectures)
    if (one.number == static_cast<int>(arch)) return one;
  return architectures[0];  // no Arch is outside of the table
}

}  // namespace emulator
}  // namespace plumbline
")
