// Reads TOML by toml++ into a tree with line numbers, and keeps hostile files from crashing it.
#include "harness/base/config.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cwchar>
#include <fstream>
#include <locale>

#include "harness/base/text.h"
#define TOML_EXCEPTIONS 0
// Its asserts fail on some files that are not TOML ("[$"), where without them it says what is
// wrong.
#define TOML_ASSERT(condition) static_cast<void>(0)
#include <toml++/toml.h>

namespace plumbline {
namespace {

constexpr std::size_t most_bytes = std::size_t{16} << 20;
constexpr int most_key_parts = 16;  // nesting by brackets is bounded by toml++, to 256

// Behind the string that starts at `at`; a string of one line ends with it.
std::size_t behind_string(std::string_view text, std::size_t at) {
  const char quote = text[at];
  const std::string triple(3, quote);
  const bool long_string = text.substr(at, 3) == triple;
  at += long_string ? 3 : 1;
  while (at < text.size()) {
    if (text[at] == '\\' && quote == '"') {
      at += 2;
    } else if (long_string && text.substr(at, 3) == triple) {
      at += 3;
      // quotes that belong to the string stand before the last three
      while (at < text.size() && text[at] == quote) ++at;
      return at;
    } else if (!long_string && (text[at] == quote || text[at] == '\n')) {
      return at + 1;
    } else {
      ++at;
    }
  }
  return text.size();
}

bool begins_string(std::string_view text, std::size_t at) {
  return at == 0 || std::string_view(" \t\n=.,[{").find(text[at - 1]) != std::string_view::npos;
}

struct Fault {
  int line;
  std::string message, remedy;
};

// A basic string with an escape for each character that is not ASCII; nothing where the bytes are
// not UTF-8.
std::optional<std::string> in_ascii(std::string_view text) {
  const auto& utf8 =
      std::use_facet<std::codecvt<char32_t, char8_t, std::mbstate_t>>(std::locale::classic());
  const auto* begin = reinterpret_cast<const char8_t*>(text.data());
  const auto* rest = begin;
  std::u32string decoded(text.size(), U'\0');
  char32_t* end = decoded.data();
  std::mbstate_t state{};
  const auto result = utf8.in(state, begin, begin + text.size(), rest, decoded.data(),
                              decoded.data() + decoded.size(), end);
  if (result != std::codecvt_base::ok || rest != begin + text.size()) return std::nullopt;
  std::string ascii;
  bool behind_backslash = false;
  for (const char32_t* c = decoded.data(); c != end; ++c) {
    if (*c < 0x80) {
      ascii += static_cast<char>(*c);
    } else if (behind_backslash) {
      ascii += '?';  // no escape, either
    } else {
      ascii += fmt::format("\\U{:08x}", static_cast<std::uint32_t>(*c));
    }
    behind_backslash = !behind_backslash && *c == U'\\';
  }
  return ascii;
}

// The same TOML, line for line, for toml++ 3.3, or what that does not survive. It makes a table of
// each part of a dotted key, and tables nested without bound overflow the stack when they are
// destroyed. Of a character that is not ASCII it asks whether it is a blank, and for most the code
// has no way out; where a quote stands amid a word it reads on to the end of the word, through
// texts, too. So comments go, and texts are written in ASCII.
tl::expected<std::string, Fault> readable(std::string_view text) {
  const std::string_view byte_order_mark = "\xEF\xBB\xBF";
  if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
  const auto refuse = [](int line, std::string why, std::string remedy) {
    return tl::unexpected(Fault{line, std::move(why), std::move(remedy)});
  };
  std::string result;
  int line = 1, dots = 0;
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    const std::size_t begin = at++;
    if (c == '#') {
      at = std::min(text.find('\n', begin), text.size());
    } else if (c == '"' || c == '\'') {
      if (!begins_string(text, begin))
        return refuse(line, "a quote amid a word",
                      "put the whole text in quotes, or remove the quote");
      at = std::min(behind_string(text, begin), text.size());
      const std::string_view quoted = text.substr(begin, at - begin);
      const auto ascii = in_ascii(quoted);
      if (!ascii) return refuse(line, "a text is not UTF-8", "save the file in UTF-8");
      if (c == '\'' && *ascii != quoted)
        return refuse(line, "a character that is not ASCII stands in single quotes",
                      "use double quotes");
      result += *ascii;
      line += static_cast<int>(std::ranges::count(quoted, '\n'));
    } else if (static_cast<unsigned char>(c) >= 0x80) {
      return refuse(line, "a character that is not ASCII stands outside of quotes",
                    "put it in double quotes, or remove it");
    } else {
      if (c == '.' && ++dots >= most_key_parts) {
        return refuse(line, fmt::format("a key of more than {} parts", most_key_parts),
                      "no table is nested as deep: shorten the key");
      }
      if (c != '.' && !is_plain_name({&c, 1}) && c != ' ' && c != '\t') dots = 0;
      line += c == '\n';
      result += c;
    }
  }
  return result;
}

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
    for (const auto& [key, value] : table)
      members.push_back({key.source().begin, key.str(), &value});
    std::stable_sort(members.begin(), members.end(),
                     [](const Member& a, const Member& b) { return a.place < b.place; });
    result.kind = ConfigNode::Kind::table;
    for (const Member& member : members) {
      ConfigNode value = convert(*member.value);
      // tables that only a dotted key implies
      if (value.line == 0) value.line = static_cast<int>(member.place.line);
      result.members.push_back({std::string(member.key), std::move(value)});
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
    } else if (const auto* date = node.as_date()) {
      result.kind = ConfigNode::Kind::date;
      result.text =
          fmt::format("{:04}-{:02}-{:02}", date->get().year, date->get().month, date->get().day);
    } else {
      result.kind = ConfigNode::Kind::string;
      errors.push_back(result.error("times have no meaning here", "put the value in quotes"));
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
  const auto ascii = readable(text);
  if (!ascii)
    return fail({file_name, ascii.error().line, ascii.error().message, ascii.error().remedy});
  const toml::parse_result parsed = toml::parse(*ascii, std::string_view(file_name));
  if (!parsed) {
    const toml::parse_error& error = parsed.error();
    return fail({file_name, static_cast<int>(error.source().begin.line),
                 std::string(error.description()), "correct the TOML syntax"});
  }
  Converter converter(file_name);
  ConfigNode root = converter.convert(parsed.table());
  if (!converter.errors.empty()) return tl::unexpected(std::move(converter.errors));
  return root;
}

Result<ConfigNode> read_config(const std::filesystem::path& path) {
  const auto cannot = [&](const char* why, const char* remedy) {
    return fail({path.string(), 0, why, remedy});
  };
  std::error_code ignored;
  std::ifstream stream(path, std::ios::binary);
  if (!stream || std::filesystem::is_directory(path, ignored)) {
    return cannot("the file cannot be read", "check that it exists and that you may read it");
  }
  std::string text;
  std::array<char, 1 << 16> chunk;
  while (stream && text.size() <= most_bytes) {  // a device or a pipe has no size to ask for
    stream.read(chunk.data(), chunk.size());
    text.append(chunk.data(), static_cast<std::size_t>(stream.gcount()));
  }
  if (stream.bad())
    return cannot("the file cannot be read", "check that it exists and that you may read it");
  if (text.size() > most_bytes)
    return cannot("the file has more than 16 MiB", "it is no file that people write: name another");
  return parse_config(text, path.string());
}

void reject_unknown_keys(const ConfigNode& table, std::span<const std::string_view> known,
                         Errors& errors) {
  for (const auto& [key, value] : table.members) {
    if (std::find(known.begin(), known.end(), key) == known.end()) {
      errors.push_back(value.error(fmt::format("unknown key \"{}\"", key), suggestion(key, known)));
    }
  }
}

}  // namespace plumbline
