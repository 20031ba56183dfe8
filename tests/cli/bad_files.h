// Files for the rows of test_bad_inputs.cc, each wrong in one way.
#pragma once

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace plumbline::bad {

// A valid case of s.toml.
inline constexpr const char* case_id = "cpu/flash/bf16/b1-h1-s16-d64";

inline void write_file(const std::filesystem::path& path, const std::string& bytes) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << bytes;
}

// Returns a suite of one group; `lines` are its lines from 6 on.
inline std::string suite(const std::string& lines) {
  return "schema = 1\nname = \"bad\"\n[[group]]\nname = \"g\"\nreason = \"r\"\n" + lines;
}

inline std::string diff(const std::string& lines) {
  return "schema = 1\nname = \"bad\"\n[[diff]]\nname = \"d\"\nreason = \"r\"\n" + lines;
}

inline void write_suites(const std::filesystem::path& to) {
  const auto put = [&](const std::string& name, const std::string& text) {
    write_file(to / (name + ".toml"), text);
  };
  const std::string kernel = "kernels = [\"cpu/flash\"]\n", tail = "set = { seq = 16 }\n";
  put("s", suite(kernel + tail));
  put("empty", "");
  put("no_toml", "this is no TOML\n");
  put("binary", std::string("\x7f\x45LF\0\1\2\xff\xfe", 9));
  put("schema_99",
      "schema = 99\nname = \"bad\"\n[[group]]\nname = \"g\"\nreason = \"r\"\n" + kernel + tail);
  put("unknown_key", suite(kernel + "set = { dtyp = \"fp16\" }\n"));
  put("unknown_group_key", suite("kernel = [\"cpu/flash\"]\n" + tail));
  put("bad_value", suite(kernel + "set = { dtype = \"fp17\" }\n"));
  put("huge_number", suite(kernel + "set = { seq = 99999999999999999999999999 }\n"));
  put("negative", suite(kernel + "set = { seq = -16 }\n"));
  put("heads", suite(kernel + "set = { seq = 16, heads_q = 3, heads_kv = 2 }\n"));
  put("no_kernels", suite(tail));
  put("no_reason", "schema = 1\nname = \"bad\"\n[[group]]\nname = \"g\"\n" + kernel + tail);
  put("twice", suite("kernels = [\"cpu/flash\"]\n[[group]]\nname = \"g\"\nreason = \"r\"\n" +
                     kernel + tail));
  put("kernel_line", suite("set = { seq = 16 }\nkernels = [\n  \"cpu/flsh\",\n]\n"));
  put("diff_kernel", diff("set = { seq = 16 }\na = { kernel = \"cpu/flash\" }\nb = { kernel = "
                          "\"cpu/splitkv\" }\n"));
  put("no_glob", suite("kernels = [\"flash\"]\n" + tail));
  put("include_missing", "schema = 1\nname = \"bad\"\ninclude = [\"nowhere.toml\"]\n");
  put("include_itself", "schema = 1\nname = \"bad\"\ninclude = [\"include_itself.toml\"]\n");
  put("arch", suite(kernel + "arch = [\"sm_42\"]\n" + tail));
  put("arch_and_devices",
      suite(kernel + "arch = [\"sm_90\"]\ndevices = [\"emulated:sm_90\"]\n" + tail));
  put("device", suite(kernel + "devices = [\"gpu\"]\n" + tail));
  put("emulated_device", suite(kernel + "devices = [\"emulated:sm_42\"]\n" + tail));
  put("tensor_cores", suite(kernel + "tensor_cores = [\"maybe\"]\n" + tail));
  put("timed", suite(kernel + "timed = \"yes\"\n" + tail));
  put("tier", suite(kernel + "tier = \"weekly\"\n" + tail));
  put("expect",
      diff("expect = \"equal\"\na = { kernel = \"cpu/flash\" }\nb = { kernel = \"cpu/naive\" }\n"));
  put("same_sides",
      diff("set = { seq = 16 }\na = { kernel = \"cpu/flash\" }\nb = { kernel = \"cpu/flash\" }\n"));
  put("nothing", suite(kernel + tail +
                       "product = { dtype = [\"fp16\"] }\nexclude = [{ dtype = \"fp16\" }]\n"));
  std::string thousand;
  for (int i = 1; i <= 1000; ++i) thousand += (i > 1 ? ", " : "") + std::to_string(i);
  put("too_many",
      suite(kernel + "product = { seq_q = [" + thousand + "], seq_kv = [" + thousand + "] }\n"));
  put("no_issue", suite(kernel + tail +
                        "[[expect_failure]]\nkernels = [\"cpu/flash\"]\nexpires = "
                        "\"2099-01-01\"\nreason = \"r\"\n"));
  put("bad_day", suite(kernel + tail +
                       "[[expect_failure]]\nkernels = [\"cpu/flash\"]\nissue = "
                       "\"https://example.org/1\"\nexpires = \"next week\"\n"
                       "reason = \"r\"\n"));
  put("no_inputs", suite(kernel + "set = { inputs = \"nowhere\" }\n"));
}

inline void write_providers(const std::filesystem::path& to) {
  write_file(to / "text.so", "this is no shared library\n");
  write_file(to / "syntax.py", "from plumbline.kernels import kernel\n\ndef broken(:\n    pass\n");
  write_file(to / "no_kernel.py", "import plumbline.kernels\n");
  write_file(to / "no_module.py", "import a_module_that_is_not_there\n");
  write_file(to / "leaves.py", "import sys\nsys.exit(7)\n");
  write_file(to / "broken" / "contracts.toml", "this is no TOML\n");
  write_file(to / "broken" / "support.toml", "schema = 1\n");
}

// `header` is the JSON of a safetensors file.
inline std::string safetensors(const std::string& header, const std::string& data) {
  const std::uint64_t size = header.size();
  std::string bytes(sizeof size, '\0');
  std::memcpy(bytes.data(), &size, sizeof size);
  return bytes + header + data;
}

struct Tensor {
  std::string name, dtype, shape;
  std::size_t bytes;
};

// Returns a dump of zero tensors, with attributes as JSON members.
inline std::string dump(const std::vector<Tensor>& tensors, const std::string& attributes = "") {
  std::string header = "{\"__metadata__\":{" + attributes + "}";
  std::size_t at = 0;
  for (const Tensor& t : tensors) {
    header += ",\"" + t.name + "\":{\"dtype\":\"" + t.dtype + "\",\"shape\":" + t.shape +
              ",\"data_offsets\":[" + std::to_string(at) + "," + std::to_string(at + t.bytes) +
              "]}";
    at += t.bytes;
  }
  return safetensors(header + "}", std::string(at, '\0'));
}

inline void write_dumps(const std::filesystem::path& to) {
  const auto put = [&](const std::string& name, const std::string& bytes) {
    write_file(to / (name + ".safetensors"), bytes);
  };
  const auto all = [](const std::string& dtype, const std::string& shape, std::size_t bytes) {
    return std::vector<Tensor>{{"q", dtype, shape, bytes},
                               {"k", dtype, shape, bytes},
                               {"v", dtype, shape, bytes},
                               {"out", dtype, shape, bytes}};
  };
  const auto four = all("F32", "[1,4,2,8]", 256);
  const std::string bshd = "\"layout\":\"padded_bshd\"";
  put("good", dump(four, bshd));
  put("four_by_four", dump(all("F32", "[1,4,4,8]", 512)));  // fits two layouts
  put("truncated", dump(four, bshd).substr(0, 700));
  put("huge_header", std::string("\xff\xff\xff\xff\xff\xff\xff\x7f{}", 10));
  put("no_q", dump({four.begin() + 1, four.end()}, bshd));
  put("no_out", dump({four.begin(), four.end() - 1}, bshd));
  put("integers", dump(all("I32", "[1,4,2,8]", 256), bshd));
  auto heads = four;
  heads[1] = {"k", "F32", "[1,4,3,8]", 384}, heads[2] = {"v", "F32", "[1,4,3,8]", 384};
  put("odd_heads", dump(heads, bshd));
  auto dim = four;
  dim[1] = {"k", "F32", "[1,4,2,4]", 128};
  put("other_dim", dump(dim, bshd));
  put("bad_layout", dump(four, "\"layout\":\"bhsdd\""));
  put("misspelt", dump(four, bshd + ",\"casual\":\"true\""));
  put("mask_unknown", dump(four, bshd + ",\"mask\":\"triangular\""));
  put("is_causal", dump(four, bshd + ",\"is_causal\":\"perhaps\""));
}

// Writes a file that is not a database. test_bad_inputs.cc writes databases of other programs and
// versions.
inline void write_databases(const std::filesystem::path& to) {
  write_file(to / "text.db", "this is not a database, it only has the name of one");
}

inline void write_files(const std::filesystem::path& to) {
  std::filesystem::create_directories(to / "folder");
  std::filesystem::create_directories(to / "reports");
  write_suites(to);
  write_providers(to);
  write_dumps(to);
  write_databases(to);
}

}  // namespace plumbline::bad
