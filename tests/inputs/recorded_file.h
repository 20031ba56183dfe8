// A file of recorded inputs in its own directory, which PLUMBLINE_INPUTS names during a test.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "harness/problem/safetensors.h"

namespace plumbline {

// Tensors to write. Values are fp64 and encoded when the file is written. Shapes are those of the
// file.
struct Recording {
  struct Tensor {
    DType dtype = DType::f32;
    std::vector<std::int64_t> shape;
    std::vector<double> values;
  };
  std::map<std::string, Tensor> tensors;
  std::map<std::string, std::string> metadata;

  // q [2, 5, 4, 6], k [2, 5, 2, 6], v [2, 5, 2, 3] with lengths 5 and 3. Every element is
  // different.
  static Recording sample() {
    Recording recording;
    recording.add("q", {2, 5, 4, 6}, 0.001);
    recording.add("k", {2, 5, 2, 6}, -0.003);
    recording.add("v", {2, 5, 2, 3}, 0.1);
    recording.tensors["seqlens_q"] = recording.tensors["seqlens_kv"] = {DType::i32, {2}, {5, 3}};
    return recording;
  }
  void add(const std::string& name, std::vector<std::int64_t> shape, double step) {
    std::int64_t elements = 1;
    for (const std::int64_t extent : shape) elements *= extent;
    Tensor tensor{DType::f32, std::move(shape), {}};
    for (std::int64_t i = 0; i < elements; ++i)
      tensor.values.push_back(1 + step * static_cast<double>(i));
    tensors[name] = std::move(tensor);
  }

  void write(const std::filesystem::path& path) const {
    std::vector<NamedTensor> named;
    std::vector<std::vector<std::byte>> storage;
    for (const auto& [name, tensor] : tensors) {
      storage.push_back(bytes_of(tensor));
      named.push_back({name, tensor.dtype, tensor.shape, storage.back().data()});
    }
    const auto written = write_safetensors(path, named, metadata);
    ASSERT_TRUE(written) << to_string(written.error());
  }

 private:
  static std::vector<std::byte> bytes_of(const Tensor& tensor) {
    std::vector<std::byte> bytes(tensor.values.size() * size_in_bytes(tensor.dtype));
    for (std::size_t i = 0; i < tensor.values.size(); ++i) {
      std::byte* to = bytes.data() + i * size_in_bytes(tensor.dtype);
      const auto narrow = static_cast<float>(tensor.values[i]);
      const auto integer = static_cast<std::int32_t>(tensor.values[i]);
      if (tensor.dtype == DType::f64) {
        std::memcpy(to, &tensor.values[i], sizeof(double));
      } else if (tensor.dtype == DType::i32) {
        std::memcpy(to, &integer, sizeof integer);
      } else {
        encode(tensor.dtype, std::span(&narrow, 1), to);
      }
    }
    return bytes;
  }
};

class RecordedInputsTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "plumbline.XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
    ::setenv("PLUMBLINE_INPUTS", directory_.c_str(), 1);
  }
  void TearDown() override {
    ::unsetenv("PLUMBLINE_INPUTS");
    std::filesystem::remove_all(directory_);
  }

  std::filesystem::path directory_;
};

}  // namespace plumbline
