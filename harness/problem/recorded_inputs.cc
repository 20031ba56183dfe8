// Finds and digests recordings, compares problems with them, and copies their rows.
#include "harness/problem/recorded_inputs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <span>
#include <stdexcept>

#include "harness/problem/recorded_facts.h"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

constexpr const char* directory_variable = "PLUMBLINE_INPUTS";
constexpr std::size_t digest_digits = 8;  // in a name; enough to distinguish recordings of one name

// Splits "NAME@DIGEST". The second part is empty if there is no digest.
std::pair<std::string_view, std::string_view> split_name(std::string_view text) {
  const std::size_t at = text.rfind('@');
  const std::string_view digest = at == std::string_view::npos ? "" : text.substr(at + 1);
  const bool is_digest = digest.size() == digest_digits &&
                         digest.find_first_not_of("0123456789abcdef") == std::string_view::npos;
  return is_digest ? std::pair{text.substr(0, at), digest} : std::pair{text, std::string_view{}};
}

// XXH3-128 of everything that decides the values: q, k, v, lengths, layout and padding in the file.
std::string hex_digest(const SafetensorsFile& file) {
  XXH3_state_t* state = XXH3_createState();
  XXH3_128bits_reset(state);
  const auto add_text = [&](const std::string& text) {
    XXH3_128bits_update(state, text.data(), text.size());
  };
  for (const char* key : {"layout", "padding"}) {
    const auto value = file.metadata.find(key);
    add_text(fmt::format("{}={};", key, value == file.metadata.end() ? "" : value->second));
  }
  for (const char* name : {"q", "k", "v", "seqlens_q", "seqlens_kv"}) {
    const auto tensor = file.tensors.find(name);
    if (tensor == file.tensors.end()) continue;
    add_text(
        fmt::format("{} {} {};", name, tensor->second.dtype, fmt::join(tensor->second.shape, ",")));
    XXH3_128bits_update(state, tensor->second.data, tensor->second.bytes);
  }
  const XXH128_hash_t hash = XXH3_128bits_digest(state);
  XXH3_freeState(state);
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

Result<fs::path> find_file(std::string_view file_name) {
  const fs::path relative(file_name);
  if (file_name.empty() || relative.is_absolute()) {
    return fail(
        fmt::format("\"{}\" is not a file name that means the same on every machine", file_name),
        fmt::format("write it relative to the current directory or to the directory that {} names",
                    directory_variable));
  }
  std::error_code ignored;
  if (fs::is_regular_file(relative, ignored)) return fs::absolute(relative).lexically_normal();
  const char* directory = std::getenv(directory_variable);
  const bool has_directory = directory != nullptr && *directory != '\0';
  if (has_directory && fs::is_regular_file(directory / relative, ignored))
    return fs::absolute(directory / relative).lexically_normal();
  const std::string second =
      has_directory ? fmt::format("in {} ({})", directory, directory_variable)
                    : fmt::format("in the directory of {}, which is not set", directory_variable);
  return fail(
      fmt::format("there is no file \"{}\" in {} or {}", file_name,
                  fs::current_path(ignored).string(), second),
      fmt::format("record it with ci/capture.py --out DIR, then set {}=DIR (docs/capture.md)",
                  directory_variable));
}

// Returns a file's description. Reads each path once, and keeps the result for the whole process.
Result<std::shared_ptr<const RecordedInputs>> read_once(const fs::path& path,
                                                        std::string_view file_name) {
  static std::mutex mutex;
  static std::map<fs::path, std::shared_ptr<const RecordedInputs>> read_files;
  const std::lock_guard lock(mutex);
  const auto known = read_files.find(path);
  if (known != read_files.end()) return known->second;
  auto file = read_safetensors(path);
  if (!file) return tl::unexpected(file.error());
  auto facts = read_facts(path, *file);
  if (!facts) return tl::unexpected(facts.error());
  facts->path = path;
  facts->digest = hex_digest(*file);
  facts->name = fmt::format("{}@{}", file_name, facts->digest.substr(0, digest_digits));
  facts->shape.inputs = facts->name;
  return read_files.emplace(path, std::make_shared<const RecordedInputs>(std::move(*facts)))
      .first->second;
}

struct ShapeField {
  const char* key;
  std::int64_t Problem::*member;
};
constexpr std::array<ShapeField, 7> shape_fields{{{"batch", &Problem::batch},
                                                  {"heads_q", &Problem::heads_q},
                                                  {"heads_kv", &Problem::heads_kv},
                                                  {"seq_q", &Problem::seq_q},
                                                  {"seq_kv", &Problem::seq_kv},
                                                  {"head_dim_qk", &Problem::head_dim_qk},
                                                  {"head_dim_vo", &Problem::head_dim_vo}}};

void check_laws(const Problem& problem, std::vector<std::string>& wrong) {
  const Problem defaults;
  const auto check = [&](std::string_view key, bool is_default) {
    if (!is_default)
      wrong.push_back(fmt::format("{} with inputs {}: recorded values ignore it; leave it out", key,
                                  problem.inputs));
  };
  check("lengths", problem.lengths == defaults.lengths);
  check("law", problem.law == defaults.law);
  check("v_law", problem.v_law == defaults.v_law);
  check("k_scale", problem.k_scale == defaults.k_scale);
  check("v_scale", problem.v_scale == defaults.v_scale);
}

std::string in_one_line(const Errors& errors) {
  std::string text;
  for (const Error& error : errors) {
    if (!text.empty()) text += "; ";
    text += error.file.empty() ? error.message : fmt::format("{}: {}", error.file, error.message);
    if (!error.remedy.empty()) text += fmt::format(" ({})", error.remedy);
  }
  return text;
}

}  // namespace

std::string_view digest_of_recording(std::string_view name) { return split_name(name).second; }

Result<std::shared_ptr<const RecordedInputs>> recorded_inputs(std::string_view name) {
  const auto [file_name, digest] = split_name(name);
  const auto path = find_file(file_name);
  if (!path) return tl::unexpected(path.error());
  auto recorded = read_once(*path, file_name);
  if (recorded && !digest.empty() && (*recorded)->digest.substr(0, digest_digits) != digest) {
    return fail(Error{path->string(), 0,
                      fmt::format("the file's digest is {}, not {}",
                                  (*recorded)->digest.substr(0, digest_digits), digest),
                      "it is another recording: find the one that is meant, or leave the digest "
                      "out of the suite"});
  }
  return recorded;
}

void adopt(Problem& problem, const RecordedInputs& recorded) {
  for (const ShapeField& field : shape_fields) problem.*field.member = recorded.shape.*field.member;
  problem.mask = recorded.shape.mask;
  problem.window_left = recorded.shape.window_left;
  problem.window_right = recorded.shape.window_right;
  problem.scale = recorded.shape.scale;
  problem.inputs = recorded.name;
}

std::vector<std::string> contradictions(const Problem& problem) {
  if (problem.inputs.empty()) return {};
  const auto recorded = recorded_inputs(problem.inputs);
  if (!recorded) return {fmt::format("inputs: {}", in_one_line(recorded.error()))};
  std::vector<std::string> wrong;
  if (problem.inputs != (*recorded)->name) {
    wrong.push_back(
        fmt::format("inputs: \"{}\" must be written {}", problem.inputs, (*recorded)->name));
  }
  for (const ShapeField& field : shape_fields) {
    const std::int64_t stated = problem.*field.member, held = (*recorded)->shape.*field.member;
    if (stated != held)
      wrong.push_back(fmt::format("{} is {}, but {} holds {}: leave it out", field.key, stated,
                                  problem.inputs, held));
  }
  check_laws(problem, wrong);
  return wrong;
}

std::shared_ptr<const RecordedInputs> recorded_inputs_of(const Problem& problem) {
  auto recorded = recorded_inputs(problem.inputs);
  if (!recorded) throw std::runtime_error("recorded inputs: " + in_one_line(recorded.error()));
  return *recorded;
}

RecordedValues::RecordedValues(std::shared_ptr<const RecordedInputs> recorded)
    : recorded_(std::move(recorded)) {
  auto file = read_safetensors(recorded_->path);
  if (!file) throw std::runtime_error("recorded inputs: " + in_one_line(file.error()));
  if (hex_digest(*file) != recorded_->digest) {
    throw std::runtime_error(
        fmt::format("recorded inputs: {} has changed since this run began (run again)",
                    recorded_->path.string()));
  }
  file_ = std::move(*file);
  q_ = tensor("q", recorded_->lengths.q);
  k_ = tensor("k", recorded_->lengths.kv);
  v_ = tensor("v", recorded_->lengths.kv);
}

RecordedValues::Tensor RecordedValues::tensor(const std::string& tensor_name,
                                              const std::vector<std::int32_t>& lengths) const {
  const TensorData& data = file_.tensors.at(tensor_name);
  const bool heads_outside = recorded_->layout == Layout::padded_bhsd;
  return {&data,
          *float_dtype(data.dtype),
          data.shape[heads_outside ? 1 : 2],
          data.shape[heads_outside ? 2 : 1],
          data.shape[3],
          &lengths};
}

void RecordedValues::copy_row(const Tensor& tensor, std::int64_t sample, std::int64_t head,
                              std::int64_t row, DType dtype, std::byte* to) const {
  const std::int64_t length = (*tensor.lengths)[static_cast<std::size_t>(sample)];
  const std::int64_t padded_row =
      recorded_->padding == Padding::left ? tensor.rows - length + row : row;
  const std::int64_t vector = recorded_->layout == Layout::padded_bhsd
                                  ? (sample * tensor.heads + head) * tensor.rows + padded_row
                                  : (sample * tensor.rows + padded_row) * tensor.heads + head;
  const std::size_t from_size = size_in_bytes(tensor.dtype), to_size = size_in_bytes(dtype);
  const std::byte* from =
      tensor.data->data + static_cast<std::size_t>(vector * tensor.dims) * from_size;

  constexpr std::size_t chunk = 128;
  // tensors in a file may be unaligned
  alignas(32) std::array<std::byte, chunk * sizeof(double)> raw;
  std::array<double, chunk> wide;
  std::array<float, chunk> values;
  for (std::size_t begin = 0; begin < static_cast<std::size_t>(tensor.dims); begin += chunk) {
    const std::size_t count = std::min(chunk, static_cast<std::size_t>(tensor.dims) - begin);
    std::memcpy(raw.data(), from + begin * from_size, count * from_size);
    if (tensor.dtype == DType::f64) {  // Going through fp32 would round twice.
      decode(tensor.dtype, raw.data(), std::span(wide).first(count));
      for (std::size_t i = 0; i < count; ++i)
        values[i] = static_cast<float>(round_to(wide[i], dtype));
    } else {
      decode(tensor.dtype, raw.data(), std::span(values).first(count));
    }
    encode(dtype, std::span(values).first(count), to + begin * to_size);
  }
}

}  // namespace plumbline
