// Fat binaries: written and read again, compressed by the libraries that nvcc uses, truncated and
// changed; and the choice of the PTX.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lz4.h>
#include <zstd.h>

#include <cstring>
#include <string>
#include <vector>

#include "emulator/ptx/fat_binary.h"

namespace plumbline::ptx {
namespace {

using emulator::Arch;
using testing::HasSubstr;
using testing::StartsWith;

std::string ptx_for(const std::string& arch) {
  std::string text = "// " + arch + "\n.version 8.4\n.target " + arch + "\n.address_size 64\n";
  for (int i = 0; i < 20; ++i) text += ".visible .entry k" + std::to_string(i) + "()\n{\nret;\n}\n";
  return text;
}

FatBinaryEntry entry_for(const std::string& arch) {
  auto made = ptx_entry(ptx_for(arch));
  EXPECT_TRUE(made) << made.error();
  return *made;
}

std::vector<std::byte> written(const std::vector<FatBinaryEntry>& entries) {
  auto bytes = write_fat_binary(entries);
  EXPECT_TRUE(bytes) << bytes.error();
  return *bytes;
}

template <class T>
void set(std::vector<std::byte>& bytes, std::size_t at, T value) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

// Returns a container with one entry, with payload and fields as from nvcc, which also compresses
// the zero that ends the text.
std::vector<std::byte> packed(const std::string& text, const std::string& payload,
                              std::uint64_t flag) {
  std::vector<std::byte> bytes = written({entry_for("sm_80")});
  const std::size_t padded = (payload.size() + 7) / 8 * 8;
  bytes.resize(16 + 80 + padded);
  std::memset(bytes.data() + 96, 0, padded);
  std::memcpy(bytes.data() + 96, payload.data(), payload.size());
  set(bytes, 8, std::uint64_t{80 + padded});
  set(bytes, 16 + 8, std::uint64_t{padded});
  set(bytes, 16 + 16, static_cast<std::uint32_t>(payload.size()));
  set(bytes, 16 + 40, 0x11 | flag);
  set(bytes, 16 + 56, std::uint64_t{text.size() + 1});
  return bytes;
}

std::vector<std::byte> packed_by_lz4(const std::string& text) {
  std::string payload(
      static_cast<std::size_t>(LZ4_compressBound(static_cast<int>(text.size()) + 1)), '\0');
  const int bytes =
      LZ4_compress_default(text.c_str(), payload.data(), static_cast<int>(text.size()) + 1,
                           static_cast<int>(payload.size()));
  payload.resize(static_cast<std::size_t>(bytes));
  return packed(text, payload, 0x2000);
}

std::vector<std::byte> packed_by_zstd(const std::string& text) {
  std::string payload(ZSTD_compressBound(text.size() + 1), '\0');
  payload.resize(ZSTD_compress(payload.data(), payload.size(), text.c_str(), text.size() + 1, 3));
  return packed(text, payload, 0x8000);
}

std::string error_of(const std::vector<std::byte>& bytes) {
  const auto read = read_fat_binary(bytes);
  return read ? "it was read" : read.error();
}

TEST(PtxFatBinary, WriteThenReadIsUnchanged) {
  const std::vector entries{entry_for("sm_80"), entry_for("sm_90a"), entry_for("sm_100f")};
  const auto bytes = written(entries);
  const auto read = read_fat_binary(bytes);
  ASSERT_TRUE(read) << read.error();
  ASSERT_EQ(read->size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ((*read)[i].kind, CodeKind::ptx);
    EXPECT_EQ((*read)[i].text, entries[i].text);
    EXPECT_EQ(architecture((*read)[i]), architecture(entries[i]));
    EXPECT_EQ((*read)[i].packing, Packing::none);
  }
  EXPECT_EQ(architecture(entries[1]), "sm_90a");
  EXPECT_EQ(*fat_binary_bytes(bytes.data()), bytes.size());
}

TEST(PtxFatBinary, SeveralContainersWithZerosBetween) {
  std::vector<std::byte> bytes = written({entry_for("sm_80")});
  bytes.resize(bytes.size() + 24);
  const auto second = written({entry_for("sm_86")});
  bytes.insert(bytes.end(), second.begin(), second.end());
  bytes.resize(bytes.size() + 3);
  const auto read = read_fat_binary(bytes);
  ASSERT_TRUE(read) << read.error();
  ASSERT_EQ(read->size(), 2U);
  EXPECT_EQ((*read)[0].container, 0U);
  EXPECT_EQ((*read)[1].container, 1U);
  EXPECT_EQ((*read)[1].arch, 86);
}

TEST(PtxFatBinary, ReadsCompressedTexts) {
  const std::string text = ptx_for("sm_80");
  for (const auto& [bytes, packing] : {std::pair(packed_by_lz4(text), Packing::lz4),
                                       std::pair(packed_by_zstd(text), Packing::zstd)}) {
    const auto read = read_fat_binary(bytes);
    ASSERT_TRUE(read) << read.error();
    ASSERT_EQ(read->size(), 1U);
    EXPECT_EQ(read->front().text, text);
    EXPECT_EQ(read->front().packing, packing);
    EXPECT_EQ(read->front().bytes, text.size());
    EXPECT_LT(bytes.size(), text.size());
  }
}

TEST(PtxFatBinary, RefusesInconsistentSizes) {
  const std::string text = ptx_for("sm_80");
  for (auto bytes : {packed_by_lz4(text), packed_by_zstd(text)}) {
    for (const std::uint64_t claimed : {text.size(), text.size() + 2}) {
      set(bytes, 16 + 56, std::uint64_t{claimed});
      EXPECT_THAT(error_of(bytes), StartsWith("byte 96: ")) << claimed;
    }
    set(bytes, 16 + 56, (std::uint64_t{1} << 30U) + 1);
    EXPECT_THAT(error_of(bytes), StartsWith("byte 72: 1073741825 bytes of PTX: more than"));
    set(bytes, 16 + 56, std::uint64_t{1} << 30U);
    EXPECT_THAT(error_of(bytes), StartsWith("byte 96: ")) << "no memory is taken for it";
  }
  auto unknown = packed_by_lz4(text);
  set(unknown, 16 + 40, std::uint64_t{0x4011});
  EXPECT_THAT(error_of(unknown), HasSubstr("byte 56: code that is compressed in a way that is not "
                                           "known: flags 0x4011"));
}

TEST(PtxFatBinary, TruncatedAtEveryByte) {
  const std::string text = ptx_for("sm_80");
  for (const auto& bytes : {written({entry_for("sm_80"), entry_for("sm_90")}), packed_by_lz4(text),
                            packed_by_zstd(text)}) {
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      // An exact copy, so that a sanitizer detects a read after its end.
      const std::vector<std::byte> cut(bytes.begin(), bytes.begin() + static_cast<long>(size));
      EXPECT_THAT(error_of(cut), StartsWith("byte ")) << size;
    }
  }
}

// Each changed byte is read or refused; nothing outside is accessed.
TEST(PtxFatBinary, ChangedAtEveryByte) {
  for (const auto& bytes : {packed_by_lz4(ptx_for("sm_80")), packed_by_zstd(ptx_for("sm_80"))}) {
    for (std::size_t at = 0; at < bytes.size(); ++at) {
      for (const unsigned change : {0x01U, 0x80U, 0xffU}) {
        auto changed = bytes;
        changed[at] ^= std::byte(change);
        const auto read = read_fat_binary(changed);
        EXPECT_THAT(read ? "byte " : read.error(), StartsWith("byte "));
      }
    }
  }
}

TEST(PtxFatBinary, RefusesOtherBytes) {
  EXPECT_THAT(error_of({}), HasSubstr("byte 0: the file ends without a fat binary"));
  auto bytes = written({entry_for("sm_80")});
  bytes[0] = std::byte{0x7f};
  EXPECT_THAT(error_of(bytes),
              HasSubstr("byte 0: no fat binary begins here: 0xba55ed7f instead of 0xba55ed50"));
  EXPECT_FALSE(fat_binary_bytes(bytes.data()));
  bytes = written({entry_for("sm_80")});
  set(bytes, 4, std::uint16_t{2});
  EXPECT_THAT(error_of(bytes), HasSubstr("byte 0: a fat binary of version 2"));
  bytes = written({entry_for("sm_80")});
  set(bytes, 16 + 4, std::uint32_t{8});
  EXPECT_THAT(error_of(bytes), HasSubstr("byte 20: an entry's header of 8 bytes"));
  bytes = written({entry_for("sm_80")});
  bytes[120] = std::byte{0};
  EXPECT_THAT(error_of(bytes), HasSubstr("byte 96: PTX with a zero after 24 bytes"));
}

TEST(PtxFatBinary, ReadsRegisteredPointer) {
  const auto bytes = written({entry_for("sm_80")});
  struct Wrapper {
    std::uint32_t magic, version;
    const void* data;
    void* file;
  } wrapper{0x466243b1, 1, bytes.data(), nullptr};
  const auto found = registered_fat_binary(&wrapper);
  ASSERT_TRUE(found) << found.error();
  EXPECT_EQ(found->data(), bytes.data());
  EXPECT_EQ(found->size(), bytes.size());
  wrapper.magic = 1;
  EXPECT_THAT(registered_fat_binary(&wrapper).error(),
              HasSubstr("0x00000001 instead of 0x466243b1"));
}

TEST(PtxFatBinary, RefusesUnwritableEntries) {
  EXPECT_THAT(ptx_entry("ELF").error(), HasSubstr("no .version"));
  EXPECT_THAT(ptx_entry("// .version 8.4\n").error(), HasSubstr("no .version"));
  EXPECT_THAT(ptx_entry(".version 8.4\n.target compute\n").error(), HasSubstr("no .target"));
  FatBinaryEntry machine;
  machine.kind = CodeKind::machine_code;
  machine.arch = 80;
  EXPECT_THAT(write_fat_binary(std::vector{machine}).error(),
              HasSubstr("the entry for sm_80 is not PTX"));
}

std::string chosen(const std::vector<std::string>& architectures, Arch arch) {
  std::vector<FatBinaryEntry> entries;
  for (const std::string& one : architectures) entries.push_back(entry_for(one));
  const auto found = choose_ptx(entries, arch);
  return found ? architecture(**found) : found.error();
}

TEST(PtxFatBinary, ChoosesNewestSupportedPtx) {
  EXPECT_EQ(chosen({"sm_80", "sm_90", "sm_70"}, Arch::sm_80), "sm_80");
  EXPECT_EQ(chosen({"sm_80", "sm_90", "sm_70"}, Arch::sm_89), "sm_80");
  EXPECT_EQ(chosen({"sm_80", "sm_90", "sm_70"}, Arch::sm_100), "sm_90");
  EXPECT_EQ(chosen({"sm_80", "sm_90a", "sm_90"}, Arch::sm_90), "sm_90a");
  EXPECT_EQ(chosen({"sm_80", "sm_90a"}, Arch::sm_100), "sm_80");
  EXPECT_EQ(chosen({"sm_100", "sm_100f"}, Arch::sm_100), "sm_100f");
  EXPECT_EQ(chosen({"sm_90", "sm_100f", "sm_103"}, Arch::sm_100), "sm_100f");
}

TEST(PtxFatBinary, ErrorListsEntriesIfNoneFits) {
  std::vector<FatBinaryEntry> entries{entry_for("sm_90a"), FatBinaryEntry{}};
  entries[1].kind = CodeKind::machine_code;
  entries[1].arch = 80;
  EXPECT_EQ(choose_ptx(entries, Arch::sm_86).error(),
            "a fat binary without PTX for sm_86: it has PTX for sm_90a, machine code for sm_80\n"
            "  remedy: compile with -gencode arch=compute_80,code=compute_80");
  EXPECT_THAT(choose_ptx({}, Arch::sm_86).error(), HasSubstr("it has nothing"));
}

}  // namespace
}  // namespace plumbline::ptx
