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
  return std::filesystem::temp_directory_path() / (name + std::to_string(::getpid()) + ".safetensors");
}

TEST(Safetensors, HeaderAndDataReadBack) {
  const std::vector<float> a{1, 2, 3, 4, 5, 6};
  const std::vector<std::int32_t> b{7, -8};
  const auto path = temporary("read_back");
  ASSERT_TRUE(
      write_safetensors(path, {{"a", DType::f32, {2, 3}, a.data()}, {"b", DType::i32, {2}, b.data()}}, {{"case_id", "it's \"one\""}}));
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

TEST(Safetensors, AMissingDirectoryIsAnErrorAndLeavesNothing) {
  const auto path = std::filesystem::temp_directory_path() / "no_such_directory_for_plumbline" / "x.safetensors";
  const float a = 1;
  const auto written = write_safetensors(path, {{"a", DType::f32, {1}, &a}}, {});
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().front().file, path.string());
}

}  // namespace
}  // namespace plumbline
