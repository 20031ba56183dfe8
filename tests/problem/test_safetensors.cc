// Safetensors files read back as written, and every mistake in a header is named.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "harness/problem/safetensors.h"

namespace plumbline {
namespace {

std::filesystem::path temporary(const std::string& name) {
  return std::filesystem::temp_directory_path() /
         (name + std::to_string(::getpid()) + ".safetensors");
}

TEST(Safetensors, HeaderAndDataReadBack) {
  const std::vector<float> a{1, 2, 3, 4, 5, 6};
  const std::vector<std::int32_t> b{7, -8};
  const auto path = temporary("read_back");
  ASSERT_TRUE(write_safetensors(
      path, {{"a", DType::f32, {2, 3}, a.data()}, {"b", DType::i32, {2}, b.data()}},
      {{"case_id", "it's \"one\""}}));
  std::ifstream file(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  std::filesystem::remove(path);

  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), 8);
  EXPECT_EQ(length % 8, 0U);
  const auto header = nlohmann::json::parse(bytes.substr(8, length));
  EXPECT_EQ(header["__metadata__"]["case_id"], "it's \"one\"");
  EXPECT_EQ(header["a"]["dtype"], "F32");
  EXPECT_EQ(header["a"]["shape"], (std::vector<int>{2, 3}));
  EXPECT_EQ(header["b"]["data_offsets"], (std::vector<int>{24, 32}));
  EXPECT_EQ(bytes.size(), 8 + length + 32);
  EXPECT_EQ(std::memcmp(bytes.data() + 8 + length, a.data(), 24), 0);
  EXPECT_EQ(std::memcmp(bytes.data() + 8 + length + 24, b.data(), 8), 0);
}

TEST(Safetensors, MissingDirectoryIsAnError) {
  const auto path =
      std::filesystem::temp_directory_path() / "no_such_directory_for_plumbline" / "x.safetensors";
  const float a = 1;
  const auto written = write_safetensors(path, {{"a", DType::f32, {1}, &a}}, {});
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().front().file, path.string());
}

std::vector<std::byte> file_of(const std::string& header, std::size_t data_bytes) {
  std::vector<std::byte> bytes;
  for (int byte = 0; byte < 8; ++byte)
    bytes.push_back(std::byte(header.size() >> (8 * byte) & 0xFF));
  for (const char c : header) bytes.push_back(static_cast<std::byte>(c));
  bytes.resize(bytes.size() + data_bytes);
  return bytes;
}

TEST(Safetensors, WrittenTensorsReadBack) {
  const std::vector<float> a{1, 2, 3, 4, 5, 6};
  const std::vector<std::int32_t> b{7, -8};
  const auto path = temporary("read");
  ASSERT_TRUE(write_safetensors(
      path, {{"a", DType::f32, {2, 3}, a.data()}, {"b", DType::i32, {2}, b.data()}},
      {{"scale", "0.5"}}));
  const auto file = read_safetensors(path);
  std::filesystem::remove(path);
  ASSERT_TRUE(file) << to_string(file.error());
  EXPECT_EQ(file->metadata.at("scale"), "0.5");
  ASSERT_EQ(file->tensors.size(), 2U);
  EXPECT_EQ(file->tensors.at("a").dtype, "F32");
  EXPECT_EQ(file->tensors.at("a").shape, (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(std::memcmp(file->tensors.at("a").data, a.data(), 24), 0);
  EXPECT_EQ(file->tensors.at("b").bytes, 8U);
  EXPECT_EQ(std::memcmp(file->tensors.at("b").data, b.data(), 8), 0);
}

TEST(Safetensors, DtypeNamesConvertBothWays) {
  for (const DType dtype :
       {DType::f64, DType::f32, DType::f16, DType::bf16, DType::e4m3, DType::e5m2}) {
    EXPECT_EQ(float_dtype(safetensors_dtype(dtype)), dtype);
  }
  EXPECT_EQ(safetensors_dtype(DType::tf32), "F32");
  EXPECT_EQ(safetensors_dtype(DType::i32), "I32");
  EXPECT_EQ(float_dtype("I32"), std::nullopt);
  EXPECT_EQ(float_dtype("F4"), std::nullopt);
}

TEST(Safetensors, MissingFilesAndDirectoriesAreErrors) {
  for (const auto& path : {std::filesystem::temp_directory_path() / "no_such_file.safetensors",
                           std::filesystem::temp_directory_path()}) {
    const auto file = read_safetensors(path);
    ASSERT_FALSE(file);
    EXPECT_EQ(file.error().front().file, path.string());
    EXPECT_FALSE(file.error().front().remedy.empty());
  }
}

struct BadHeader {
  const char* header;
  std::size_t data_bytes;
  const char* says;
};

TEST(Safetensors, HeaderMistakesAreNamed) {
  const BadHeader bad[] = {
      {"", 0, "not JSON"},
      {"[]", 0, "not an object"},
      {"{", 0, "not JSON"},
      {R"({"a":1})", 0, "tensor \"a\": a JSON number"},
      {R"({"a":{"shape":[1],"data_offsets":[0,4]}})", 4, "\"dtype\" is missing"},
      {R"({"a":{"dtype":"F32","data_offsets":[0,4]}})", 4, "\"shape\" is missing"},
      {R"({"a":{"dtype":"F32","shape":[1]}})", 4, "\"data_offsets\" is missing"},
      {R"({"a":{"dtype":"F3","shape":[1],"data_offsets":[0,4]}})", 4, "unknown dtype \"F3\""},
      {R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", 4, "not a number of elements"},
      {R"({"a":{"dtype":"F32","shape":[1.5],"data_offsets":[0,4]}})", 4,
       "not a number of elements"},
      {R"({"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,4]}})", 4,
       "exceeds 64 bits"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,8]}})", 8,
       "take 4 bytes, its data_offsets hold 8"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 0,
       "the file has 0 bytes of data"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}})", 4, "lie in [4, 0)"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":["0","4"]}})", 4, "is not an offset"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 5,
       "take 4 bytes of data, the file has 5"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})", 8,
       "start at 4, those before it end at 0"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"b":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
       4, "start at 0, those before it end at 4"},
      {R"({"__metadata__":[]})", 0, "__metadata__ is a JSON array"},
      {R"({"__metadata__":{"scale":0.5}})", 0,
       "the value of \"scale\" is a JSON number, not a string"},
      {R"({"a":{"dtype":{"b":{"c":{"d":{"e":1}}}}}})", 0, "nested deeper"},
  };
  for (const BadHeader& mistake : bad) {
    const auto file = parse_safetensors("the file", file_of(mistake.header, mistake.data_bytes));
    ASSERT_FALSE(file) << mistake.header;
    EXPECT_EQ(file.error().front().file, "the file");
    EXPECT_NE(file.error().front().message.find(mistake.says), std::string::npos)
        << mistake.header << "\n"
        << file.error().front().message;
    EXPECT_FALSE(file.error().front().remedy.empty());
  }
}

TEST(Safetensors, TruncatedFileIsAnError) {
  const std::string header =
      R"({"a":{"dtype":"F16","shape":[2,2],"data_offsets":[0,8]},"__metadata__":{"x":"y"}})";
  const auto whole = file_of(header, 8);
  ASSERT_TRUE(parse_safetensors("file", whole));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const auto file = parse_safetensors(
        "file", {whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)});
    EXPECT_FALSE(file) << size << " bytes";
  }
}

// Control characters of a hostile name must not reach a terminal.
TEST(Safetensors, NamesAreCleanedForMessages) {
  const auto file = parse_safetensors("file", file_of(R"({"a\u001b[31m":{"dtype":"F32"}})", 0));
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().front().message.find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace plumbline
