#include "harness/problem/config.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "harness/problem/text.h"
#define TOML_EXCEPTIONS 0
#include <toml++/toml.h>

namespace plumbline {
namespace {

class Converter {
 public:
  explicit Converter(std::string file) : file_(std::move(file)) {}

  ConfigNode convert(const toml::node& node) {
    ConfigNode result;
    result.file = file_;
    result.line = static_cast<int>(node.source().begin.line);
    if (const auto* table = node.as_table()) {
      convert_table(*table, result);
    } else if (const auto* array = node.as_array()) {
      result.kind = ConfigNode::Kind::array;
      for (const toml::node& item : *array) result.items.push_back(convert(item));
    } else {
      convert_scalar(node, result);
    }
    return result;
  }

  Errors errors;

 private:
  // toml++ hands members over alphabetically; their places restore the order of the file.
  void convert_table(const toml::table& table, ConfigNode& result) {
    struct Member {
      toml::source_position place;
      std::string_view key;
      const toml::node* value;
    };
    std::vector<Member> members;
    for (const auto& [key, value] : table) members.push_back({key.source().begin, key.str(), &value});
    std::stable_sort(members.begin(), members.end(), [](const Member& a, const Member& b) { return a.place < b.place; });
    result.kind = ConfigNode::Kind::table;
    for (const Member& member : members) {
      ConfigNode value = convert(*member.value);
      if (value.line == 0) value.line = static_cast<int>(member.place.line);  // tables that only a dotted key implies
      result.members.emplace_back(std::string(member.key), std::move(value));
    }
  }

  void convert_scalar(const toml::node& node, ConfigNode& result) {
    if (const auto* text = node.as_string()) {
      result.kind = ConfigNode::Kind::string;
      result.text = text->get();
    } else if (const auto* integer = node.as_integer()) {
      result.kind = ConfigNode::Kind::integer;
      result.text = fmt::format("{}", integer->get());
      result.number = static_cast<double>(integer->get());
    } else if (const auto* real = node.as_floating_point()) {
      result.kind = ConfigNode::Kind::real;
      result.text = fmt::format("{}", real->get());
      result.number = real->get();
    } else if (const auto* boolean = node.as_boolean()) {
      result.kind = ConfigNode::Kind::boolean;
      result.text = boolean->get() ? "true" : "false";
      result.boolean = boolean->get();
    } else {
      result.kind = ConfigNode::Kind::string;
      errors.push_back(result.error("dates and times have no meaning here", "put the value in quotes"));
    }
  }

  std::string file_;
};

}  // namespace

const ConfigNode* ConfigNode::find(std::string_view key) const {
  for (const auto& [name, value] : members) {
    if (name == key) return &value;
  }
  return nullptr;
}

Result<ConfigNode> parse_config(std::string_view text, const std::string& file_name) {
  const toml::parse_result parsed = toml::parse(text, std::string_view(file_name));
  if (!parsed) {
    const toml::parse_error& error = parsed.error();
    return fail({file_name, static_cast<int>(error.source().begin.line), std::string(error.description()), "correct the TOML syntax"});
  }
  Converter converter(file_name);
  ConfigNode root = converter.convert(parsed.table());
  if (!converter.errors.empty()) return tl::unexpected(std::move(converter.errors));
  return root;
}

Result<ConfigNode> read_config(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream text;
  std::error_code ignored;
  if (!stream || std::filesystem::is_directory(path, ignored) || !(text << stream.rdbuf() || stream.peek() == EOF)) {
    return fail({path.string(), 0, "the file cannot be read", "check that it exists and that you may read it"});
  }
  return parse_config(text.str(), path.string());
}

void reject_unknown_keys(const ConfigNode& table, std::span<const std::string_view> known, Errors& errors) {
  for (const auto& [key, value] : table.members) {
    if (std::find(known.begin(), known.end(), key) == known.end()) {
      errors.push_back(value.error(fmt::format("unknown key \"{}\"", key), suggestion(key, known)));
    }
  }
}

}  // namespace plumbline
