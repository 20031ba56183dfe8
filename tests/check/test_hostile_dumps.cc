// Tests that damaged and hostile files give a dump or an error message, in bounded memory.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <nlohmann/json.hpp>
#include <random>

#include "harness/check/check.h"
#include "tests/check/emulated_kernel.h"

namespace plumbline {
namespace {

using test::attributes_of;
using test::run_emulated;
using Bytes = std::vector<std::byte>;
using Random = std::mt19937_64;

Bytes seed_file(Layout layout) {
  Problem problem;
  problem.layout = layout;
  problem.batch = 2;
  problem.heads_q = 2;
  problem.heads_kv = 1;
  problem.seq_q = 3;
  problem.seq_kv = 7;
  problem.head_dim_qk = problem.head_dim_vo = 8;
  problem.page_size = 4;
  problem.lengths = layout == Layout::padded_bhsd ? Lengths::full : Lengths::random;
  return run_emulated(problem, {}).file(attributes_of(problem));
}

std::string header_of(const Bytes& file) {
  std::uint64_t length = 0;
  std::memcpy(&length, file.data(), 8);
  return {reinterpret_cast<const char*>(file.data()) + 8, static_cast<std::size_t>(length)};
}

// Returns a file with this header and no data.
Bytes header_only(const std::string& header) {
  Bytes result;
  for (int byte = 0; byte < 8; ++byte)
    result.push_back(std::byte(header.size() >> (8 * byte) & 0xFF));
  for (const char c : header) result.push_back(static_cast<std::byte>(c));
  return result;
}

Bytes with_header(const Bytes& file, const std::string& header, bool true_length) {
  std::uint64_t old_length = 0;
  std::memcpy(&old_length, file.data(), 8);
  Bytes result = header_only(header);
  if (!true_length) std::memcpy(result.data(), &old_length, 8);
  result.insert(result.end(), file.begin() + static_cast<std::ptrdiff_t>(8 + old_length),
                file.end());
  return result;
}

std::size_t below(Random& random, std::size_t n) { return static_cast<std::size_t>(random() % n); }

// Returns a number that breaks arithmetic.
std::string odd_number(Random& random) {
  static const std::vector<std::string> numbers{"0",
                                                "1",
                                                "-1",
                                                "2",
                                                "3",
                                                "7",
                                                "65536",
                                                "2147483647",
                                                "2147483648",
                                                "4294967296",
                                                "9223372036854775807",
                                                "18446744073709551615",
                                                "1e308",
                                                "0.5",
                                                "null",
                                                "\"1\"",
                                                "[]",
                                                "{}",
                                                "99999999999999999999999"};
  return numbers[below(random, numbers.size())];
}

std::string with_another_number(std::string header, Random& random) {
  std::vector<std::pair<std::size_t, std::size_t>> numbers;
  for (std::size_t i = 0; i < header.size(); ++i) {
    if (header[i] < '0' || header[i] > '9' ||
        (i > 0 &&
         (header[i - 1] == '"' || std::isalnum(static_cast<unsigned char>(header[i - 1])) != 0)))
      continue;
    std::size_t end = i;
    while (end < header.size() && header[end] >= '0' && header[end] <= '9') ++end;
    numbers.emplace_back(i, end - i);
    i = end;
  }
  const auto [at, size] = numbers[below(random, numbers.size())];
  return header.replace(
      at, size, below(random, 4) == 0 ? std::to_string(below(random, 4000)) : odd_number(random));
}

// Removes, copies, renames or retypes entries of the header.
std::string with_another_structure(const std::string& header, Random& random) {
  auto json = nlohmann::ordered_json::parse(header);
  if (json.empty()) return header;
  auto entry = json.begin();
  std::advance(entry, below(random, json.size()));
  const std::string key = entry.key();
  const bool is_tensor = entry->is_object() && entry->contains("shape");
  static const std::vector<std::string> dtypes{"F32",  "F16", "BF16",    "F64", "I64", "I32",
                                               "BOOL", "U8",  "F8_E4M3", "F4",  ""};
  static const std::vector<std::string> names{
      "q",          "k",         "v",          "out",         "lse",          "mask", "page_table",
      "cu_seqlens", "seqlens_q", "seqlens_kv", "block_table", "__metadata__", "x"};
  static const std::vector<std::pair<std::string, std::string>> attributes{
      {"layout", "ragged"},          {"layout", "padded_bshd"}, {"layout", "paged_hnd"},
      {"mask", "causal_top_left"},   {"causal", "true"},        {"window", "3,0"},
      {"padding", "left"},           {"dtype", "fp16"},         {"page_size", "2"},
      {"lse_layout", "heads_first"}, {"scale", "-1"},           {"softcap", "2"}};
  switch (below(random, 7)) {
    case 0:
      json.erase(key);
      break;
    case 1:
      json[names[below(random, names.size())]] = json[key];
      break;
    case 2: {
      const auto value = json[key];
      json.erase(key);
      json[names[below(random, names.size())]] = value;
      break;
    }
    case 3:
      if (is_tensor) json[key]["dtype"] = dtypes[below(random, dtypes.size())];
      break;
    case 4:
      if (is_tensor && json[key]["shape"].is_array()) {  // reshapes, keeping the element count
        auto& shape = json[key]["shape"];
        if (below(random, 2) == 0) shape.push_back(1);
        std::shuffle(shape.begin(), shape.end(), random);
      }
      break;
    case 5:
      json[key] = nlohmann::ordered_json::array({1, "two", nullptr});
      break;
    default: {
      const auto& [name, value] = attributes[below(random, attributes.size())];
      if (!json.contains("__metadata__") || json["__metadata__"].is_object())
        json["__metadata__"][name] = value;
    }
  }
  return json.dump();
}

Bytes mutated(const Bytes& seed, Random& random) {
  switch (below(random, 5)) {
    case 0: {  // bytes anywhere, mostly in the header
      Bytes file = seed;
      const std::size_t reach = below(random, 4) == 0 ? file.size() : 8 + header_of(seed).size();
      for (std::size_t n = 1 + below(random, 4); n > 0; --n)
        file[below(random, reach)] = std::byte(below(random, 256));
      return file;
    }
    case 1:
      return with_header(seed, with_another_number(header_of(seed), random), below(random, 8) != 0);
    case 2: {
      Bytes file = seed;
      file.resize(below(random, file.size()));
      return file;
    }
    case 3: {  // values in the data, such as index tensors
      Bytes file = seed;
      const std::size_t data = 8 + header_of(seed).size();
      const std::size_t at = data + below(random, (file.size() - data) / 4) * 4;
      const auto value = static_cast<std::int32_t>(
          below(random, 3) == 0 ? static_cast<std::int64_t>(random())
                                : static_cast<std::int64_t>(below(random, 40)) - 8);
      std::memcpy(file.data() + at, &value, 4);
      return file;
    }
    default: {
      std::string header = header_of(seed);
      for (std::size_t n = 1 + below(random, 3); n > 0; --n)
        header = with_another_structure(header, random);
      return with_header(seed, header, true);
    }
  }
}

// The address sanitizer keeps 256 MiB of freed memory and adds shadow memory.
#ifdef __SANITIZE_ADDRESS__
constexpr std::int64_t max_memory_kb = 1024 * 1024;
#else
constexpr std::int64_t max_memory_kb = 256 * 1024;
#endif

std::int64_t peak_memory_kb() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

TEST(HostileDumps, MutatedFilesNeverCrash) {
  const std::vector<Bytes> seeds{seed_file(Layout::padded_bhsd), seed_file(Layout::ragged),
                                 seed_file(Layout::paged_nhd)};
  Random random(20261121);
  std::int64_t dumps = 0, errors = 0, judged = 0;
  const std::int64_t before = peak_memory_kb();
  for (int i = 0; i < 100'000; ++i) {
    auto file = parse_safetensors(
        "mutated", mutated(seeds[static_cast<std::size_t>(i) % seeds.size()], random));
    auto dump =
        file ? make_dump("mutated", file->tensors, file->metadata) : tl::unexpected(file.error());
    if (!dump) {
      ++errors;
      ASSERT_FALSE(dump.error().empty()) << i;
      for (const Error& error : dump.error()) {
        ASSERT_EQ(error.file, "mutated") << i;
        ASSERT_FALSE(error.message.empty()) << i;
        ASSERT_FALSE(error.remedy.empty()) << i << ": " << error.message;
      }
      continue;
    }
    ++dumps;
    ASSERT_EQ(dump->q.size(), dump->geometry->q.bytes()) << i;
    ASSERT_EQ(dump->k.size(), dump->geometry->k.bytes()) << i;
    if (dumps % 400 == 0) {  // checking a dump must not crash
      const auto report = check(*dump);
      judged += report ? !report->sentence.empty() : !report.error().empty();
    }
  }
  EXPECT_GT(dumps, 10'000) << "the mutations also reach what lies behind the header";
  EXPECT_GT(errors, 40'000);
  EXPECT_EQ(judged, dumps / 400);
  EXPECT_LT(peak_memory_kb() - before, max_memory_kb);
}

TEST(HostileDumps, HugeNumbersAllocateNothing) {
  const Bytes seed = seed_file(Layout::padded_bhsd);
  Bytes file = seed;
  const std::uint64_t length = std::uint64_t{1} << 63;
  std::memcpy(file.data(), &length, 8);
  EXPECT_FALSE(parse_safetensors("file", file));
  const std::string deep = std::string(100'000, '[');
  EXPECT_FALSE(parse_safetensors("file", with_header(seed, deep, true)));
  EXPECT_FALSE(parse_safetensors(
      "file",
      with_header(seed,
                  R"({"q":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,0]}})",
                  true)));
  EXPECT_FALSE(parse_safetensors("file", {}));
}

// An extent of 0 means no data, so the file's size does not bound the other extents.
TEST(HostileDumps, RefusesEmptyTensorsOfHugeExtents) {
  for (const std::string shape :
       {"[0,1000000,4,8]", "[2,0,9000000000000000000,8]", "[65536,0,4096,1024]", "[0,0,0,0]"}) {
    std::string header = "{";
    for (const char* name : {"q", "k", "v", "out"})
      header += std::string(header.size() > 1 ? "," : "") + "\"" + name +
                "\":{\"dtype\":\"F16\",\"shape\":" + shape + ",\"data_offsets\":[0,0]}";
    for (const char* layout : {"padded_bshd", "padded_bhsd", "ragged", "paged_nhd"}) {
      const std::string text = header + R"(,"__metadata__":{"layout":")" + layout + R"("}})";
      auto file = parse_safetensors("file", header_only(text));
      ASSERT_TRUE(file) << to_string(file.error());
      EXPECT_FALSE(make_dump("file", file->tensors, file->metadata)) << shape << " " << layout;
    }
  }
}

}  // namespace
}  // namespace plumbline
