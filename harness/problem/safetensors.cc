// Parses an untrusted safetensors header, and writes tensors as such a file.
#include "harness/problem/safetensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <stdexcept>
#include <tuple>

#include "harness/base/pending_file.h"
#include "harness/base/text.h"

namespace plumbline {
namespace {

using Json = nlohmann::json;

struct DTypeName {
  std::string_view name;
  std::size_t size;  // bytes per element
  std::optional<DType> dtype;
};
// The dtypes of safetensors 0.8 whose elements are whole bytes.
constexpr std::array dtype_names{
    DTypeName{"F64", 8, DType::f64},       DTypeName{"F32", 4, DType::f32},
    DTypeName{"F16", 2, DType::f16},       DTypeName{"BF16", 2, DType::bf16},
    DTypeName{"F8_E4M3", 1, DType::e4m3},  DTypeName{"F8_E5M2", 1, DType::e5m2},
    DTypeName{"F8_E8M0", 1, std::nullopt}, DTypeName{"C64", 8, std::nullopt},
    DTypeName{"I64", 8, std::nullopt},     DTypeName{"U64", 8, std::nullopt},
    DTypeName{"I32", 4, std::nullopt},     DTypeName{"U32", 4, std::nullopt},
    DTypeName{"I16", 2, std::nullopt},     DTypeName{"U16", 2, std::nullopt},
    DTypeName{"I8", 1, std::nullopt},      DTypeName{"U8", 1, std::nullopt},
    DTypeName{"BOOL", 1, std::nullopt},
};

const DTypeName* find_dtype(std::string_view name) {
  const auto* found =
      std::ranges::find_if(dtype_names, [&](const DTypeName& d) { return d.name == name; });
  return found == dtype_names.end() ? nullptr : found;
}

// Shortens a text for error messages to at most a line.
std::string shown(std::string text) {
  if (text.size() > 80) text = text.substr(0, 80) + "...";
  return printable(std::move(text));
}

// Another file format that was taken for safetensors.
struct OtherFormat {
  std::string what;    // "a torch.save file"
  std::string remedy;  // how to convert it to safetensors
};

// Returns true if the first line that is neither blank nor a comment is TOML: "[group]" or "name =
// value". A safetensors file cannot be text, because its first eight bytes would state a longer
// header than the format allows.
bool is_toml(std::string_view text) {
  const bool has_control = std::ranges::any_of(
      text, [](unsigned char c) { return c < 0x20 && c != '\n' && c != '\r' && c != '\t'; });
  if (has_control) return false;
  for (const std::string_view line : split(text, '\n')) {
    const std::size_t begin = line.find_first_not_of(" \t\r");
    if (begin == std::string_view::npos || line[begin] == '#') continue;
    const std::size_t equals = line.find('=');
    if (line[begin] == '[') return line.find(']') != std::string_view::npos && equals > line.size();
    const std::string_view key = line.substr(begin, equals == std::string_view::npos ? 0 : equals);
    const auto is_of_key = [](unsigned char c) {
      return std::isalnum(c) != 0 || c == '_' || c == '-' || c == '.' || c == '"' || c == ' ';
    };
    return !key.empty() && std::ranges::all_of(key, is_of_key);
  }
  return false;
}

// Recognises a format by the first bytes, or by the name if the file is empty or damaged.
std::optional<OtherFormat> other_format(const std::string& name,
                                        const std::vector<std::byte>& contents) {
  const std::string_view bytes(reinterpret_cast<const char*>(contents.data()), contents.size());
  const std::string_view head = bytes.substr(0, 512);
  const auto from = [&](std::string_view save, std::string_view load) {
    return fmt::format("write it as safetensors: {}({}, \"dump.safetensors\")", save,
                       fmt::format(fmt::runtime(load), fmt::format("\"{}\"", printable(name))));
  };
  const std::string torch = from("safetensors.torch.save_file", "torch.load({})");
  const bool is_pickle = head.size() > 1 && head[0] == '\x80' && head[1] >= 2 && head[1] <= 5;
  if (head.starts_with("PK\x03\x04")) {
    if (head.find(".npy") != std::string_view::npos) {
      return OtherFormat{"a NumPy archive (.npz)",
                         from("safetensors.numpy.save_file", "dict(numpy.load({}))")};
    }
    const bool is_torch = head.find("data.pkl") != std::string_view::npos;
    return OtherFormat{is_torch ? "a torch.save file" : "a zip archive", torch};
  }
  if (is_pickle) return OtherFormat{"a pickle, such as torch.save writes", torch};
  if (head.starts_with("\x93NUMPY")) {
    return OtherFormat{"a NumPy array (.npy)",
                       "a dump has q, k, v and out: safetensors.numpy.save_file({\"q\": q, \"k\": "
                       "k, \"v\": v, \"out\": out}, \"dump.safetensors\")"};
  }
  if (head.starts_with("\x89HDF"))
    return OtherFormat{"an HDF5 file", "write its arrays with safetensors.numpy.save_file"};
  if (is_toml(head) || name.ends_with(".toml")) {
    return OtherFormat{"a TOML file",
                       "run a suite with `plumbline run`; a dump is a safetensors file "
                       "(docs/dump-format.md)"};
  }
  return std::nullopt;
}

constexpr std::size_t length_bytes = sizeof(std::uint64_t);
constexpr std::uint64_t header_limit = 100'000'000;  // the limit of the safetensors library
constexpr std::size_t rank_limit = 16, tensor_limit = 10'000, depth_limit = 4;

// Reads one header. Stops at the first error, because the rest would be guesses.
class HeaderReader {
 public:
  HeaderReader(const std::string& name, SafetensorsFile& file) : name_(name), file_(file) {}

  Result<void> read() {
    const std::size_t size = file_.contents.size();
    if (size < length_bytes)
      return wrong(
          fmt::format("{} bytes are too few: the length of the header alone takes 8", size));
    std::uint64_t length = 0;
    std::memcpy(&length, file_.contents.data(), length_bytes);
    if (length > header_limit)
      return wrong(fmt::format("the header claims {} bytes, more than the format's {}", length,
                               header_limit));
    if (length > size - length_bytes) {
      return wrong(fmt::format("the header claims {} bytes, the file has {} after its length",
                               length, size - length_bytes));
    }
    const auto* text = reinterpret_cast<const char*>(file_.contents.data()) + length_bytes;
    data_ = file_.contents.data() + length_bytes + length;
    data_bytes_ = size - length_bytes - length;
    return read_json({text, static_cast<std::size_t>(length)});
  }

 private:
  tl::unexpected<Errors> wrong(std::string message) const {
    return fail(Error{name_, 0, std::move(message),
                      "the file is damaged, cut off or no safetensors file: write it again"});
  }

  Result<void> read_json(std::string_view text) {
    // Bounds the nesting before nlohmann builds a value. A header is an object of objects of
    // numbers and lists.
    const auto bounded = [](int depth, Json::parse_event_t, const Json&) {
      if (depth > static_cast<int>(depth_limit)) throw std::length_error("nested");
      return true;
    };
    Json header;
    try {
      header = Json::parse(text.begin(), text.end(), bounded);
    } catch (const std::length_error&) {
      return wrong("the header is nested deeper than any safetensors header");
    } catch (const Json::exception& error) {
      return wrong(fmt::format("the header is not JSON: {}", shown(error.what())));
    }
    if (!header.is_object())
      return wrong(fmt::format("the header is a JSON {}, not an object", header.type_name()));
    if (header.size() > tensor_limit)
      return wrong(fmt::format("{} tensors, the limit is {}", header.size(), tensor_limit));
    for (const auto& [key, value] : header.items()) {
      auto done = key == "__metadata__" ? read_metadata(value) : read_tensor(key, value);
      if (!done) return done;
    }
    return check_coverage();
  }

  Result<void> read_metadata(const Json& object) {
    if (!object.is_object())
      return wrong(fmt::format("__metadata__ is a JSON {}, not an object", object.type_name()));
    for (const auto& [key, value] : object.items()) {
      if (!value.is_string()) {
        return wrong(fmt::format("__metadata__: the value of \"{}\" is a JSON {}, not a string",
                                 shown(key), value.type_name()));
      }
      file_.metadata[key] = value.get<std::string>();
    }
    return {};
  }

  Result<void> read_tensor(const std::string& key, const Json& object) {
    const auto bad = [&](const std::string& what) {
      return wrong(fmt::format("tensor \"{}\": {}", shown(key), what));
    };
    if (!object.is_object())
      return bad(fmt::format("a JSON {} is given, an object is expected", object.type_name()));
    const auto dtype = object.find("dtype"), shape = object.find("shape"),
               offsets = object.find("data_offsets");
    if (dtype == object.end() || !dtype->is_string())
      return bad("\"dtype\" is missing or not a string");
    if (shape == object.end() || !shape->is_array())
      return bad("\"shape\" is missing or not a list");
    if (offsets == object.end() || !offsets->is_array() || offsets->size() != 2)
      return bad("\"data_offsets\" is missing or not two numbers");
    const DTypeName* type = find_dtype(dtype->get_ref<const std::string&>());
    if (type == nullptr)
      return bad(fmt::format("unknown dtype \"{}\"", shown(dtype->get_ref<const std::string&>())));

    TensorData tensor;
    tensor.dtype = type->name;
    if (shape->size() > rank_limit)
      return bad(fmt::format("{} dimensions, the limit is {}", shape->size(), rank_limit));
    std::uint64_t bytes = type->size;
    for (const Json& extent : *shape) {
      if (!extent.is_number_unsigned())
        return bad("\"shape\" contains a value that is not a number of elements");
      const auto n = extent.get<std::uint64_t>();
      if (n > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()) ||
          __builtin_mul_overflow(bytes, n, &bytes)) {
        return bad("the product of \"shape\" exceeds 64 bits");
      }
      tensor.shape.push_back(static_cast<std::int64_t>(n));
    }
    if (!(*offsets)[0].is_number_unsigned() || !(*offsets)[1].is_number_unsigned())
      return bad("\"data_offsets\" has a value that is not an offset");
    const auto begin = (*offsets)[0].get<std::uint64_t>(), end = (*offsets)[1].get<std::uint64_t>();
    if (begin > end || end > data_bytes_) {
      return bad(fmt::format("its data lie in [{}, {}), the file has {} bytes of data", begin, end,
                             data_bytes_));
    }
    if (end - begin != bytes)
      return bad(fmt::format("its shape and dtype take {} bytes, its data_offsets hold {}", bytes,
                             end - begin));
    tensor.data = data_ + begin;
    tensor.bytes = static_cast<std::size_t>(bytes);
    spans_.push_back({begin, end, key});
    file_.tensors.emplace(key, std::move(tensor));
    return {};
  }

  Result<void> check_coverage() {
    std::ranges::sort(spans_);
    std::uint64_t covered = 0;
    for (const auto& [begin, end, key] : spans_) {
      if (begin != covered) {
        return wrong(fmt::format("the data of tensor \"{}\" start at {}, those before it end at {}",
                                 shown(key), begin, covered));
      }
      covered = end;
    }
    if (covered != data_bytes_)
      return wrong(
          fmt::format("the tensors take {} bytes of data, the file has {}", covered, data_bytes_));
    return {};
  }

  const std::string& name_;
  SafetensorsFile& file_;
  const std::byte* data_ = nullptr;
  std::uint64_t data_bytes_ = 0;
  std::vector<std::tuple<std::uint64_t, std::uint64_t, std::string>> spans_;
};

std::size_t byte_count(const NamedTensor& tensor) {
  const auto elements = std::accumulate(tensor.shape.begin(), tensor.shape.end(), std::int64_t{1},
                                        std::multiplies<>());
  return static_cast<std::size_t>(elements) * size_in_bytes(tensor.dtype);
}

}  // namespace

std::string printable(std::string text) {
  std::replace_if(
      text.begin(), text.end(),
      [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }, '?');
  return text;
}

std::string_view safetensors_dtype(DType dtype) {
  if (dtype == DType::tf32) return "F32";
  if (dtype == DType::i32) return "I32";
  const auto* found =
      std::ranges::find_if(dtype_names, [&](const DTypeName& d) { return d.dtype == dtype; });
  return found == dtype_names.end() ? std::string_view() : found->name;
}

std::size_t element_bytes(std::string_view safetensors_dtype) {
  const DTypeName* found = find_dtype(safetensors_dtype);
  return found == nullptr ? 0 : found->size;
}

std::optional<DType> float_dtype(std::string_view safetensors_dtype) {
  const DTypeName* found = find_dtype(safetensors_dtype);
  return found == nullptr ? std::nullopt : found->dtype;
}

Result<SafetensorsFile> parse_safetensors(const std::string& name,
                                          std::vector<std::byte> contents) {
  SafetensorsFile file;
  file.contents = std::move(contents);
  const auto done = HeaderReader(name, file).read();
  if (done) return file;
  const auto other = other_format(name, file.contents);
  if (!other) return tl::unexpected(done.error());
  return fail(
      Error{name, 0, fmt::format("this is {}, no safetensors file", other->what), other->remedy});
}

Result<SafetensorsFile> read_safetensors(const std::filesystem::path& path) {
  std::error_code error;
  const auto cannot = [&](const std::string& why) {
    return fail(Error{path.string(), 0, "cannot read the file: " + why,
                      "name a safetensors file that this user can read"});
  };
  if (!std::filesystem::exists(path, error)) return cannot("there is none of this name");
  if (!std::filesystem::is_regular_file(path, error)) return cannot("it is not a regular file");
  const auto size = std::filesystem::file_size(path, error);
  if (error) return cannot(error.message());
  std::ifstream file(path, std::ios::binary);
  if (!file) return cannot("it cannot be opened");
  std::vector<std::byte> contents(static_cast<std::size_t>(size));
  file.read(reinterpret_cast<char*>(contents.data()),
            static_cast<std::streamsize>(contents.size()));
  if (!file || file.gcount() != static_cast<std::streamsize>(contents.size()))
    return cannot("it ended early");
  return parse_safetensors(path.string(), std::move(contents));
}

Result<void> write_safetensors(const std::filesystem::path& path,
                               const std::vector<NamedTensor>& tensors,
                               const std::map<std::string, std::string>& metadata) {
  nlohmann::ordered_json header;
  header["__metadata__"] = metadata;
  std::size_t offset = 0;
  for (const auto& tensor : tensors) {
    const auto end = offset + byte_count(tensor);
    header[tensor.name] = {{"dtype", safetensors_dtype(tensor.dtype)},
                           {"shape", tensor.shape},
                           {"data_offsets", {offset, end}}};
    offset = end;
  }
  std::string text = header.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
  text.append((8 - text.size() % 8) % 8, ' ');  // so that the data is aligned

  PendingFile pending(path);
  std::ofstream file(pending.place(), std::ios::binary);
  const auto length = static_cast<std::uint64_t>(text.size());
  file.write(reinterpret_cast<const char*>(&length), sizeof length);
  file.write(text.data(), static_cast<std::streamsize>(text.size()));
  for (const auto& tensor : tensors)
    file.write(static_cast<const char*>(tensor.data),
               static_cast<std::streamsize>(byte_count(tensor)));
  file.close();
  if (file && pending.commit()) return {};
  return fail(Error{path.string(), 0, "cannot write the file",
                    "check that the directory exists, is writable and has space"});
}

}  // namespace plumbline
