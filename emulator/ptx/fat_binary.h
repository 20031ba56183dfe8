// CUDA's fat binaries: a kernel's code for several architectures, as PTX and machine code, which
// nvcc embeds in objects and libraries.
//
// NVIDIA documents tools for the format, but not the format. This layout was read from files of
// nvcc 13.0; it is little endian:
//   container  u32 magic 0xba55ed50, u16 version 1, u16 size of this header (16), u64 size of the
//              entries that follow. Several containers may follow one another, zeros between them.
//   entry      u16 kind (1 PTX, 2 machine code as ELF), u16 version, u32 size of this header (64
//              or more), u64 size of the payload after it; then, by offset:
//              16 u32 compressed size of the payload, 0: not compressed
//              20 u32 offset in this header of two u32, the position and length of ptxas's options
//              24 u16 u16 minor and major version of the code: for PTX its .version
//              28 u32 architecture: 80
//              32 u32 u32 position and length of the source's name
//              40 u64 flags: 0x1 64 bits, 0x2 debug, 0x10 Linux, 0x2000 LZ4 (a block without a
//                 frame), 0x8000 zstd, 0x100000 "sm_90a", 0x200000 "sm_100f"
//              56 u64 size after decompression
// PTX is padded with zeros, which are not part of the text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "emulator/tensor_core/tensor_core.h"

namespace plumbline::ptx {

enum class CodeKind { ptx, machine_code, other };
enum class Packing { none, lz4, zstd };

struct FatBinaryEntry {
  CodeKind kind = CodeKind::ptx;
  int arch = 0;  // 80
  // 'a': only for this architecture. 'f': for architectures of the same major number that are not
  // older. '\0': for all architectures that are not older.
  char variant = '\0';
  std::string text;  // of PTX, otherwise empty
  // Set by read_fat_binary():
  Packing packing = Packing::none;
  std::uint64_t bytes = 0;    // decompressed code; for PTX its text
  std::size_t container = 0;  // index of the container, from 0
};
// For example "sm_90a".
std::string architecture(const FatBinaryEntry&);
std::string_view name(CodeKind);  // "PTX", "machine code", "other"
std::string_view name(Packing);   // "-", "LZ4", "zstd"

// Returns the entries of all containers, in order. PTX is decompressed, up to 1 GiB in total;
// machine code is not read. An error names the byte and what is wrong there. Never reads outside of
// the file.
tl::expected<std::vector<FatBinaryEntry>, std::string> read_fat_binary(std::span<const std::byte>);

// Returns the size in bytes of the container that begins at `header`, or an error if none begins
// there. Reads only the first 16 bytes.
tl::expected<std::uint64_t, std::string> fat_binary_bytes(const void* header);
// Returns the container of an argument of __cudaRegisterFatBinary, which points to u32 magic
// 0x466243b1, u32 version and a pointer to the container.
tl::expected<std::span<const std::byte>, std::string> registered_fat_binary(const void* wrapper);

// Returns a PTX text as an entry; architecture and variant come from its .target.
tl::expected<FatBinaryEntry, std::string> ptx_entry(std::string text);
// Writes one uncompressed container from `arch`, `variant` and `text` of the entries. All must be
// PTX with a .version and without zero bytes, as from ptx_entry().
tl::expected<std::vector<std::byte>, std::string> write_fat_binary(std::span<const FatBinaryEntry>);

// Returns the entry that a driver would compile for this architecture: the PTX of the newest
// architecture up to this one, an "a" or "f" variant before the plain one. An error lists the
// entries. Machine code is ignored, although a driver would prefer it.
tl::expected<const FatBinaryEntry*, std::string> choose_ptx(std::span<const FatBinaryEntry>,
                                                            emulator::Arch);

}  // namespace plumbline::ptx
