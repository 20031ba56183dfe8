// Reads and checks devices, architectures and tensor-core modes of a group or side.
#include "harness/suite/suite_devices.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "harness/base/table_reader.h"
#include "harness/base/text.h"
#include "harness/problem/arch.h"

namespace plumbline {
namespace {

constexpr std::array<std::string_view, 3> tensor_core_words{"on", "off", "none"};

bool is_device(std::string_view text) {
  const auto parts = split(text, ':');
  if (parts.size() == 1) return text == "cpu";
  if (parts.size() != 2) return false;
  return parts[0] == "cuda" && parse_unsigned(parts[1]);
}

void check_device(const ConfigNode& device, Errors& errors) {
  if (device.text.starts_with("emulated:")) {
    const std::string arch = device.text.substr(device.text.find(':') + 1);
    const auto known = emulated_archs();
    if (std::ranges::find(known, arch) != known.end()) return;
    errors.push_back(device.error(
        fmt::format("\"{}\" is not emulated: there are {}", device.text, fmt::join(known, ", ")),
        suggestion(arch, known)));
    return;
  }
  if (is_device(device.text)) return;
  errors.push_back(device.error(fmt::format("\"{}\" is not a device", device.text),
                                "use cpu, cuda:N or emulated:ARCH"));
}

void check_word(const ConfigNode& node, std::string_view what,
                std::span<const std::string_view> known, Errors& errors) {
  if (std::ranges::find(known, node.text) != known.end()) return;
  errors.push_back(node.error(
      fmt::format("{}: \"{}\" is not one of {}", what, node.text, fmt::join(known, ", ")),
      suggestion(node.text, known)));
}

// Adds an error if `arch` is combined with `other`, which states the same in another way.
void reject_both(const ConfigNode& table, std::string_view other, Errors& errors) {
  const ConfigNode* arch = table.find("arch");
  if (arch == nullptr || table.find(other) == nullptr) return;
  errors.push_back(arch->error(fmt::format("arch and {} are both given", other),
                               "remove one; arch = [\"sm_90\"] is short for devices = "
                               "[\"emulated:sm_90\"]"));
}

}  // namespace

std::vector<std::string> read_devices(const ConfigNode& group, Errors& errors) {
  reject_both(group, "devices", errors);
  std::vector<std::string> devices;
  for (const ConfigNode* device : TableReader(group, errors).texts("devices")) {
    check_device(*device, errors);
    devices.push_back(device->text);
  }
  const auto archs = TableReader(group, errors).texts("arch");
  if (archs.size() == 1 && archs[0]->text == "all") {
    for (const std::string_view arch : emulated_archs())
      devices.push_back(fmt::format("emulated:{}", arch));
    return devices;
  }
  for (const ConfigNode* arch : archs) {
    check_word(*arch, "arch", emulated_archs(), errors);
    devices.push_back("emulated:" + arch->text);
  }
  return devices.empty() ? std::vector<std::string>{"cpu"} : devices;
}

std::string read_device(const ConfigNode& side, Errors& errors) {
  reject_both(side, "device", errors);
  if (const ConfigNode* arch = side.find("arch")) {
    check_word(*arch, "arch", emulated_archs(), errors);
    return "emulated:" + arch->text;
  }
  const ConfigNode* device = side.find("device");
  if (device == nullptr) return "cpu";
  check_device(*device, errors);
  return device->text;
}

std::vector<std::string> read_tensor_cores(const ConfigNode& group, Errors& errors) {
  std::vector<std::string> words;
  for (const ConfigNode* word : TableReader(group, errors).texts("tensor_cores")) {
    check_word(*word, "tensor_cores", tensor_core_words, errors);
    words.push_back(word->text);
  }
  return words;
}

std::vector<std::string> read_side_tensor_cores(const ConfigNode& side, Errors& errors) {
  const ConfigNode* word = side.find("tensor_cores");
  if (word == nullptr) return {};
  check_word(*word, "tensor_cores", tensor_core_words, errors);
  return {word->text};
}

}  // namespace plumbline
