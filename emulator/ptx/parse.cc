// A scanner, and a function for each construct of a module.
#include "emulator/ptx/parse.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>

namespace plumbline::ptx {
namespace {

bool in_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$' || c == '%';
}

constexpr std::uint64_t largest_alignment = 1024, max_variable_bytes = 64U << 20U;

// Thrown only within this file; parse() returns it as an error.
struct Bad {
  Error error;
};

std::optional<Space> space_named(std::string_view word) {
  if (word == ".reg") return Space::reg;
  if (word == ".param") return Space::param;
  if (word == ".shared") return Space::shared;
  if (word == ".local") return Space::local;
  if (word == ".global") return Space::global;
  if (word == ".const") return Space::constant;
  return std::nullopt;
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}
  Module run();
  void head(Module& module);

 private:
  [[noreturn]] void fail(std::string what) const { throw Bad{{line_, std::move(what)}}; }
  void step() {
    if (text_[at_] == '\n') ++line_;
    ++at_;
  }
  void skip_blanks();
  [[nodiscard]] char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool take(char c);
  void expect(char c);
  std::string word();           // ".align", "%r1", "foo.bar"; empty if something else follows
  std::string_view see_word();  // the same, without consuming it
  std::uint64_t number();
  std::string until(std::string_view ends);  // text without spaces and comments, brackets matched
  std::vector<std::string> list(char end);   // operands up to `end`, which is consumed
  void skip_line();
  void skip_statement() {
    until(";");
    expect(';');
  }

  Variable variable(Space space, bool external, bool parameter);
  void name_of(Variable& variable);
  std::vector<std::string> initial();
  void file(Module& module);
  Function function(bool entry, bool external);
  std::vector<Variable> parameters();
  void performance_directives(Function& function);
  void body(Function& function);
  void statement(std::vector<Statement>& to);
  void directive(std::vector<Statement>& to, Statement of);
  void instruction(std::vector<Statement>& to, Statement of);

  std::string_view text_;
  std::size_t at_ = 0;
  int line_ = 1;
  std::uint64_t bytes_ = 0;  // of all variables so far
  // Number of .loc directives still to keep; nullopt outside LLVM's inline assembly.
  std::optional<int> inline_locations_;
};

void Parser::skip_blanks() {
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (std::isspace(static_cast<unsigned char>(c)) != 0 || c == '\0') {
      step();
    } else if (text_.substr(at_, 2) == "//") {
      const std::string_view comment = text_.substr(at_, text_.find('\n', at_) - at_);
      if (comment.starts_with("// begin inline asm")) inline_locations_ = 1;
      if (comment.starts_with("// end inline asm")) inline_locations_.reset();
      skip_line();
    } else if (text_.substr(at_, 2) == "/*") {
      const std::size_t end = text_.find("*/", at_ + 2);
      if (end == std::string_view::npos) fail("a comment /* has no end");
      while (at_ < end + 2) step();
    } else {
      return;
    }
  }
}

bool Parser::take(char c) {
  skip_blanks();
  if (peek() != c) return false;
  step();
  return true;
}

void Parser::expect(char c) {
  if (!take(c))
    fail(fmt::format("'{}' is expected{}", c,
                     at_ < text_.size() ? fmt::format(", not '{}'", peek()) : " before the end"));
}

std::string_view Parser::see_word() {
  skip_blanks();
  std::size_t end = at_;
  while (end < text_.size()) {
    const char c = text_[end];
    const bool scope = text_.substr(end, 2) == "::";
    if (scope) {
      end += 2;
    } else if (in_name(c) || c == '.') {
      ++end;
    } else {
      break;
    }
  }
  return text_.substr(at_, end - at_);
}

std::string Parser::word() {
  const std::string_view seen = see_word();
  at_ += seen.size();  // a word has no newline
  return std::string(seen);
}

std::uint64_t Parser::number() {
  const std::string text = word();
  std::uint64_t value = 0;
  const bool hex = text.starts_with("0x") || text.starts_with("0X");
  const char* const end = text.data() + text.size();
  const auto [rest, error] =
      std::from_chars(text.data() + (hex ? 2 : 0), end, value, hex ? 16 : 10);
  if (error != std::errc() || (rest != end && *rest != 'U'))
    fail(fmt::format("a number is expected, not '{}'", text));
  return value;
}

std::string Parser::until(std::string_view ends) {
  std::string taken;
  int depth = 0;
  while (true) {
    skip_blanks();
    if (at_ >= text_.size()) fail("the text ends within a statement");
    const char c = peek();
    if (depth == 0 && ends.find(c) != std::string_view::npos) return taken;
    if (c == '{' || c == '[' || c == '(') ++depth;
    if (c == '}' || c == ']' || c == ')') --depth;
    if (depth < 0) fail(fmt::format("'{}' without its opening bracket", c));
    if (c == '"') {
      do {
        taken += peek();
        step();
        if (at_ >= text_.size()) fail("a text in quotes has no end");
      } while (peek() != '"');
    }
    taken += peek();
    step();
  }
}

std::vector<std::string> Parser::list(char end) {
  std::vector<std::string> items;
  const std::string ends{',', end};
  if (take(end)) return items;
  while (true) {
    items.push_back(until(ends));
    if (take(end)) return items;
    expect(',');
  }
}

void Parser::skip_line() {
  while (at_ < text_.size() && text_[at_] != '\n') step();
}

std::vector<std::string> Parser::initial() {
  skip_blanks();
  if (!take('{')) return {until(";,")};
  std::vector<std::string> all;
  for (std::string& item : list('}')) {
    if (item.starts_with('{')) fail("initializers of more than one dimension are not supported");
    all.push_back(std::move(item));
  }
  return all;
}

// "%single" or "%r<17>"
void Parser::name_of(Variable& variable) {
  variable.name = word();
  if (variable.name.empty()) fail("a variable has no name");
  variable.numbered = take('<');
  variable.count = variable.numbered ? number() : 1;
  if (variable.numbered) expect('>');
}

// Parses what follows the state space, up to but not including the ';' or ','.
Variable Parser::variable(Space space, bool external, bool parameter) {
  Variable made;
  made.space = space;
  made.external = external;
  made.line = line_;
  while (see_word().starts_with('.')) {
    std::string directive = word();
    // After a parameter's type, .align is that of the memory pointed to:
    // ".param .u64 .ptr .global .align 16 out".
    if (directive == ".align") {
      const std::uint64_t align = number();
      if (!parameter || made.type.empty()) made.align = align;
    } else if (directive == ".v2" || directive == ".v4") {
      made.vector = directive[2] - '0';
    } else if (bytes_of(directive.substr(1)) >= 0) {
      made.type = directive.substr(1);
    } else if (directive != ".ptr" && !(parameter && space_named(directive))) {
      fail(fmt::format("{}: not a type", directive));
    }
  }
  if (made.type.empty()) fail("a variable has no type");
  name_of(made);
  while (take('[')) {
    skip_blanks();
    const std::uint64_t extent = peek() == ']' ? 0 : number();
    if (extent > max_variable_bytes)
      fail(fmt::format("{}: an extent of {} is too large", made.name, extent));
    made.count *= extent;
    if (made.count > max_variable_bytes)
      fail(fmt::format("{}: {} elements are too many", made.name, made.count));
    expect(']');
  }
  if (take('=')) {
    made.initial = initial();
    if (made.count == 0) made.count = made.initial.size();
  }
  if (made.align > largest_alignment || (made.align & (made.align - 1)) != 0)
    fail(fmt::format("{}: an alignment of {} is not supported", made.name, made.align));
  if (space != Space::reg &&
      (made.count > max_variable_bytes || (bytes_ += bytes_of(made)) > max_variable_bytes))
    fail(fmt::format("{}: more than {} MiB of variables", made.name, max_variable_bytes >> 20U));
  return made;
}

void Parser::file(Module& module) {
  const std::uint64_t at = number();
  expect('"');
  std::string name;
  while (at_ < text_.size() && peek() != '"') {
    name += peek();
    step();
  }
  expect('"');
  while (take(',')) number();  // time and size
  if (at > 100000) fail("the number of a .file is too large");
  if (module.files.size() <= at) module.files.resize(at + 1);
  module.files[at] = std::move(name);
}

std::vector<Variable> Parser::parameters() {
  std::vector<Variable> all;
  expect('(');
  if (take(')')) return all;
  do {
    const std::string space = word();
    const auto named = space_named(space);
    if (!named) fail(fmt::format("a parameter begins with .param or .reg, not '{}'", space));
    all.push_back(variable(*named, false, true));
  } while (take(','));
  expect(')');
  return all;
}

void Parser::performance_directives(Function& function) {
  while (see_word().starts_with('.')) {
    const std::string directive = word();
    if (directive == ".noreturn" || directive == ".blocksareclusters") continue;
    if (directive == ".pragma") {
      skip_statement();
      continue;
    }
    std::uint64_t product = number();
    while (take(',')) product *= number();
    const auto value = static_cast<unsigned>(product);
    if (directive == ".maxntid") {
      function.max_threads = value;
    } else if (directive == ".reqntid") {
      function.required_threads = value;
    } else if (directive == ".minnctapersm") {
      function.min_blocks = value;
    } else if (directive != ".maxnreg" && directive != ".maxnctapersm" &&
               directive != ".reqnctapercluster" && directive != ".maxclusterrank" &&
               directive != ".abi_preserve" && directive != ".abi_preserve_control") {
      fail(fmt::format("{}: not a directive of a function", directive));
    }
  }
}

Function Parser::function(bool entry, bool external) {
  Function made;
  made.entry = entry;
  made.external = external;
  made.line = line_;
  skip_blanks();
  if (!entry && peek() == '(') made.results = parameters();
  made.name = word();
  if (made.name.empty()) fail("a function has no name");
  skip_blanks();
  if (peek() == '(') made.parameters = parameters();
  performance_directives(made);
  if (take(';')) {
    made.external = true;
    return made;
  }
  expect('{');
  body(made);
  return made;
}

void Parser::body(Function& function) {
  int depth = 1;
  while (true) {
    skip_blanks();
    if (at_ >= text_.size()) fail(fmt::format("{} has no end", function.name));
    Statement brace;
    brace.line = line_;
    if (take('{')) {
      ++depth;
      brace.kind = Statement::Kind::open;
    } else if (take('}')) {
      if (--depth == 0) return;
      brace.kind = Statement::Kind::close;
    } else {
      if (!take(';')) statement(function.body);
      continue;
    }
    function.body.push_back(std::move(brace));
  }
}

void Parser::statement(std::vector<Statement>& to) {
  Statement made;
  made.line = line_;
  if (take('@')) {
    made.guard_negated = take('!');
    made.guard = word();
    if (made.guard.empty()) fail("'@' without a predicate");
    return instruction(to, std::move(made));
  }
  const std::string_view seen = see_word();
  if (seen.empty()) fail(fmt::format("a statement cannot begin with '{}'", peek()));
  if (seen.starts_with('.')) return directive(to, std::move(made));
  const std::size_t begin = at_;
  const int line = line_;
  std::string name = word();
  if (take(':')) {
    made.kind = Statement::Kind::label;
    made.label = std::move(name);
    to.push_back(std::move(made));
    return;
  }
  at_ = begin;
  line_ = line;
  instruction(to, std::move(made));
}

void Parser::directive(std::vector<Statement>& to, Statement of) {
  const std::string name = word();
  if (name == ".loc") {
    of.kind = Statement::Kind::location;
    of.file = static_cast<int>(number());
    of.source_line = static_cast<int>(number());
    skip_line();  // column, and where it was inlined
    // LLVM gives each line of inline assembly its own source line, although all stem from one.
    if (inline_locations_ && (*inline_locations_)-- <= 0) return;
    to.push_back(std::move(of));
    return;
  }
  if (name == ".pragma") return skip_statement();
  const auto space = space_named(name);
  if (!space) {  // .branchtargets, .callprototype: used by instructions that the translator refuses
    of.opcode = name;
    of.parts = {name};
    of.operands = {until(";")};
    expect(';');
    to.push_back(std::move(of));
    return;
  }
  of.kind = Statement::Kind::variable;
  of.variable = variable(*space, false, false);
  to.push_back(of);
  while (take(',')) {  // .reg .b32 a, b;
    name_of(of.variable);
    to.push_back(of);
  }
  expect(';');
}

void Parser::instruction(std::vector<Statement>& to, Statement of) {
  of.kind = Statement::Kind::instruction;
  of.opcode = word();
  if (of.opcode.empty() || of.opcode.front() == '%')
    fail(fmt::format("an instruction is expected, not '{}'", of.opcode));
  for (std::size_t begin = 0; begin <= of.opcode.size();) {
    const std::size_t end = std::min(of.opcode.find('.', begin), of.opcode.size());
    of.parts.push_back(of.opcode.substr(begin, end - begin));
    begin = end + 1;
  }
  of.operands = list(';');
  to.push_back(std::move(of));
}

// Reads .version and .target, in this order, and nothing else.
void Parser::head(Module& module) {
  if (see_word() == ".version") {
    word();
    module.version = word();
  }
  if (see_word() == ".target") {
    word();
    module.target = word();
    while (take(',')) word();  // texmode, debug
  }
}

Module Parser::run() {
  Module module;
  bool external = false;
  while (true) {
    head(module);
    skip_blanks();
    if (at_ >= text_.size()) return module;
    const std::string name = word();
    const bool linkage = name == ".visible" || name == ".weak" || name == ".common";
    if (name == ".extern") {
      external = true;
      continue;
    }
    if (linkage) continue;
    if (name == ".address_size") {
      if (number() != 64) fail("addresses of 64 bits are needed");
    } else if (name == ".file") {
      file(module);
    } else if (name == ".entry" || name == ".func") {
      module.functions.push_back(function(name == ".entry", external));
    } else if (name == ".section") {
      until("{");
      expect('{');
      until("}");
      expect('}');
    } else if (const auto space = space_named(name)) {
      module.variables.push_back(variable(*space, external, false));
      expect(';');
    } else if (name == ".alias" || name == ".pragma") {
      skip_statement();
    } else {
      fail(name.empty() ? fmt::format("'{}' does not begin a directive", peek())
                        : fmt::format("{}: not a directive of a module", name));
    }
    external = false;
  }
}

}  // namespace

tl::expected<Module, Error> parse(std::string_view text) {
  try {
    return Parser(text).run();
  } catch (Bad& bad) {
    return tl::unexpected(std::move(bad.error));
  }
}

Module parse_head(std::string_view text) {
  Module module;
  try {
    Parser(text).head(module);
  } catch (const Bad&) {  // an unterminated comment
  }
  return module;
}

}  // namespace plumbline::ptx
