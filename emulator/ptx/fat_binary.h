// CUDA's fat binaries: what nvcc embeds in objects and libraries, a kernel's code for several
// architectures, as PTX and as machine code.
//
// NVIDIA documents tools for the format and not the format. What is here was read from files of
// nvcc 13.0, in little endian:
//   container  u32 magic 0xba55ed50, u16 version 1, u16 bytes of this header (16), u64 bytes of the
//              entries that follow. Several containers may follow one another, zeros between them.
//   entry      u16 kind (1 PTX, 2 machine code as ELF), u16 version, u32 bytes of this header (64
//              or more), u64 bytes of the payload behind it; then at byte
//              16 u32 bytes of the payload that are compressed, 0: it is not
//              20 u32 where ptxas's options lie in this header, as u32 place and u32 length
//              24 u16 u16 minor and major version of the code: of PTX its .version
//              28 u32 architecture: 80
//              32 u32 u32 place and length of the source's name
//              40 u64 flags: 0x1 64 bits, 0x2 debug, 0x10 Linux, 0x2000 LZ4 (a block without a
//                 frame), 0x8000 zstd, 0x100000 "sm_90a", 0x200000 "sm_100f"
//              56 u64 bytes after decompression
// PTX ends with zeros that belong to no text.
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
  // 'a': for exactly this architecture. 'f': for its family, those of the same major number that
  // are not older. '\0': for all that are not older.
  char variant = '\0';
  std::string text;  // of PTX, else empty
  // Of what was read:
  Packing packing = Packing::none;
  std::uint64_t bytes = 0;    // of the code, decompressed; of PTX its text
  std::size_t container = 0;  // which one, from 0
};
// "sm_90a"
std::string architecture(const FatBinaryEntry&);
std::string_view name(CodeKind);  // "PTX", "machine code", "other"
std::string_view name(Packing);   // "-", "LZ4", "zstd"

// The entries of all containers, in order. PTX is decompressed, 1 GiB in all at most; machine code
// is not looked at. An error names the byte and what is wrong there; no byte outside is read.
tl::expected<std::vector<FatBinaryEntry>, std::string> read_fat_binary(std::span<const std::byte>);

// The bytes of the container that begins at `header`, of which 16 are read; an error where none
// begins.
tl::expected<std::uint64_t, std::string> fat_binary_bytes(const void* header);
// The container of what __cudaRegisterFatBinary gets: u32 magic 0x466243b1, u32 version, a pointer.
tl::expected<std::span<const std::byte>, std::string> registered_fat_binary(const void* wrapper);

// An entry of a PTX text: architecture and variant are those of its .target.
tl::expected<FatBinaryEntry, std::string> ptx_entry(std::string text);
// One container of the entries' texts, not compressed: `arch`, `variant` and `text` count. Entries
// must be PTX whose text has a .version and no zero byte, as ptx_entry() makes them.
tl::expected<std::vector<std::byte>, std::string> write_fat_binary(std::span<const FatBinaryEntry>);

// Which of the entries of a container a driver would compile for this architecture: the PTX of the
// newest architecture that is not newer, that of an "a" or "f" before the plain one. An error lists
// what there is. Where there is machine code for the device, a driver takes that instead.
tl::expected<const FatBinaryEntry*, std::string> choose_ptx(std::span<const FatBinaryEntry>,
                                                            emulator::Arch);

}  // namespace plumbline::ptx
