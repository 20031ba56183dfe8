// Reads shape, lengths, mask and scale of a recording, and reports everything wrong with the file.
#include "harness/problem/recorded_facts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "harness/base/text.h"

namespace plumbline {
namespace {

constexpr const char* shape_remedy =
    "q, k and v are [batch, seq, heads, head_dim]; ci/capture.py writes such a file "
    "(docs/capture.md)";

class FactsReader {
 public:
  RecordedInputs facts;
  Errors errors;

  FactsReader(const std::filesystem::path& path, const SafetensorsFile& file)
      : path_(path), file_(file) {}

  void read() {
    read_layout();
    const Shape q = read_shape("q"), k = read_shape("k"), v = read_shape("v");
    if (!errors.empty()) return;
    Problem& shape = facts.shape;
    shape.batch = q.batch;
    shape.heads_q = q.heads;
    shape.heads_kv = k.heads;
    shape.seq_q = q.rows;
    shape.seq_kv = k.rows;
    shape.head_dim_qk = q.dims;
    shape.head_dim_vo = v.dims;
    expect_equal("batch of q and k", q.batch, k.batch);
    expect_equal("batch of k and v", k.batch, v.batch);
    expect_equal("rows of k and v", k.rows, v.rows);
    expect_equal("heads of k and v", k.heads, v.heads);
    expect_equal("head_dim of q and k", q.dims, k.dims);
    facts.lengths.q = read_lengths("seqlens_q", q);
    facts.lengths.kv = read_lengths("seqlens_kv", k);
    refuse_unsupported_parts();
    read_attribute("mask");
    read_attribute("window");
    read_attribute("scale");
    normalise_scale();
    if (errors.empty()) {
      for (const std::string& sentence : validate(shape))
        complain(sentence, "no kernel takes such a problem");
    }
  }

 private:
  struct Shape {
    std::int64_t batch = 0, rows = 0, heads = 0, dims = 0;
  };

  void complain(std::string message, std::string remedy) {
    errors.push_back({path_.string(), 0, std::move(message), std::move(remedy)});
  }

  std::string attribute(const std::string& key) const {
    const auto found = file_.metadata.find(key);
    return found == file_.metadata.end() ? "" : found->second;
  }

  void read_layout() {
    Problem words;
    for (const char* key : {"layout", "padding"}) {
      const std::string value = attribute(key);
      if (value.empty()) continue;
      if (const auto message = set_field(words, key, value))
        complain(*message, "correct the file's metadata");
    }
    if (!words.is_padded()) {
      complain(fmt::format("layout {} cannot be read as recorded inputs yet", name(words.layout)),
               "record padded tensors, padded_bshd or padded_bhsd, with seqlens_q and seqlens_kv");
    }
    facts.layout = words.layout;
    facts.padding = words.padding;
  }

  Shape read_shape(const std::string& tensor_name) {
    const auto found = file_.tensors.find(tensor_name);
    if (found == file_.tensors.end()) {
      complain(fmt::format("there is no tensor {}", tensor_name), shape_remedy);
      return {};
    }
    const TensorData& tensor = found->second;
    if (!float_dtype(tensor.dtype))
      complain(fmt::format("{} is {}, which is not a float format", tensor_name, tensor.dtype),
               shape_remedy);
    if (tensor.shape.size() != 4 || std::ranges::count(tensor.shape, 0) > 0) {
      complain(fmt::format("{} has shape [{}]", tensor_name, fmt::join(tensor.shape, ", ")),
               shape_remedy);
      return {};
    }
    if (facts.layout == Layout::padded_bhsd)
      return {tensor.shape[0], tensor.shape[2], tensor.shape[1], tensor.shape[3]};
    return {tensor.shape[0], tensor.shape[1], tensor.shape[2], tensor.shape[3]};
  }

  void expect_equal(std::string_view what, std::int64_t a, std::int64_t b) {
    if (a != b) complain(fmt::format("{} differ: {} and {}", what, a, b), shape_remedy);
  }

  std::vector<std::int32_t> read_lengths(const std::string& tensor_name, const Shape& of) {
    std::vector<std::int32_t> lengths(static_cast<std::size_t>(of.batch),
                                      static_cast<std::int32_t>(of.rows));
    const auto found = file_.tensors.find(tensor_name);
    if (found == file_.tensors.end()) return lengths;
    const TensorData& tensor = found->second;
    const bool wide = tensor.dtype == "I64";
    if ((!wide && tensor.dtype != "I32") || tensor.shape != std::vector<std::int64_t>{of.batch}) {
      complain(
          fmt::format("{} is {} [{}]", tensor_name, tensor.dtype, fmt::join(tensor.shape, ", ")),
          fmt::format("it must be I32 or I64 [{}], one per sample", of.batch));
      return lengths;
    }
    for (std::size_t sample = 0; sample < lengths.size(); ++sample) {
      std::int64_t length = 0;
      // The format is little-endian.
      std::memcpy(&length, tensor.data + sample * (wide ? 8 : 4), wide ? 8 : 4);
      if (!wide) length = static_cast<std::int32_t>(length);
      if (length < 0 || length > of.rows) {
        complain(fmt::format("{}[{}] is {}", tensor_name, sample, length),
                 fmt::format("lengths lie in 0 to {}", of.rows));
        return lengths;
      }
      lengths[sample] = static_cast<std::int32_t>(length);
    }
    return lengths;
  }

  // Refuses parts of the recorded call that suites do not read from a recording. Otherwise kernels
  // would silently compute something else than the model did.
  void refuse_unsupported_parts() {
    for (const char* part : {"mask", "attn_mask", "attention_mask", "attn_bias", "bias",
                             "alibi_slopes", "sinks", "s_aux", "q_scale", "k_scale", "v_scale",
                             "q_descale", "k_descale", "v_descale", "page_table", "block_table"}) {
      if (file_.tensors.count(part) == 0) continue;
      complain(
          fmt::format("tensor {} is part of the recorded call, but suites do not read it", part),
          "judge the recorded output with `plumbline check`; for a suite leave the tensor out, "
          "and state padding by seqlens_q and seqlens_kv");
    }
    const std::string softcap = attribute("softcap");
    if (!softcap.empty() && parse_real(softcap) != 0) {
      complain(
          fmt::format("softcap = {} is part of the recorded call, and not read by suites", softcap),
          "leave it out of the file, and state softcap in the suite");
    }
  }

  void read_attribute(const std::string& key) {
    const std::string value = attribute(key);
    if (value.empty()) return;
    if (const auto message = set_field(facts.shape, key, value))
      complain(*message, "correct the file's metadata");
  }

  // 1/sqrt(head_dim) counts as the default however it was rounded, so that ids do not contain it.
  void normalise_scale() {
    Problem& shape = facts.shape;
    if (std::abs(shape.scale * std::sqrt(static_cast<double>(shape.head_dim_qk)) - 1) < 1e-12)
      shape.scale = 0;
  }

  const std::filesystem::path& path_;
  const SafetensorsFile& file_;
};

}  // namespace

Result<RecordedInputs> read_facts(const std::filesystem::path& path, const SafetensorsFile& file) {
  FactsReader reader(path, file);
  reader.read();
  if (!reader.errors.empty()) return tl::unexpected(std::move(reader.errors));
  return std::move(reader.facts);
}

}  // namespace plumbline
