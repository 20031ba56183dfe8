// The frame of a translated kernel: parameters, variables, registers, labels and operands.
#include "emulator/ptx/translate.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cctype>
#include <charconv>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "emulator/ptx/flush.h"
#include "emulator/ptx/translator.h"

namespace plumbline::ptx {
namespace {

std::size_t round_up(std::size_t value, std::size_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

// Parses "0." or "-1.5e3". A number with a point is a 64-bit number, rounded to the instruction's
// type.
std::optional<double> decimal(std::string_view text) {
  if (text.find('.') == std::string_view::npos) return std::nullopt;
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<std::uint64_t> integer(std::string_view text) {
  bool negative = false;
  if (text.starts_with('-')) {
    negative = true;
    text.remove_prefix(1);
  }
  if (text.ends_with('U')) text.remove_suffix(1);
  int base = 10;
  if (text.starts_with("0x") || text.starts_with("0X")) {
    base = 16;
    text.remove_prefix(2);
  } else if (text.starts_with("0b") || text.starts_with("0B")) {
    base = 2;
    text.remove_prefix(2);
  } else if (text.size() > 1 && text.front() == '0') {
    base = 8;
  }
  std::uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value, base);
  if (error != std::errc{} || rest != end) return std::nullopt;
  return negative ? 0 - value : value;
}

// Parses 0f3F800000 or 0d3FF0000000000000; sets `bytes` to 4 or 8.
std::optional<std::uint64_t> float_bits(std::string_view text, int& bytes) {
  if (text.size() < 3 || text[0] != '0') return std::nullopt;
  const char kind = static_cast<char>(text[1] | 0x20);
  if (!((kind == 'f' && text.size() == 10) || (kind == 'd' && text.size() == 18)))
    return std::nullopt;
  bytes = kind == 'f' ? 4 : 8;
  return integer(fmt::format("0x{}", text.substr(2)));
}

}  // namespace

void refuse(std::string reason) { throw Refused{std::move(reason)}; }

bool has(const std::vector<std::string>& parts, std::string_view part) {
  return std::find(parts.begin(), parts.end(), part) != parts.end();
}
bool is_float(std::string_view type) { return type == "f32" || type == "f64"; }
bool is_integer(std::string_view type) {
  return type.size() >= 2 && (type[0] == 'u' || type[0] == 's' || type[0] == 'b') &&
         std::isdigit(static_cast<unsigned char>(type[1])) != 0 && bytes_of(type) > 0 &&
         type.find('x') == std::string_view::npos;
}
bool is_signed(std::string_view type) { return type[0] == 's'; }

std::string unsigned_type(std::string_view type) {
  const int bytes = bytes_of(type);
  if (bytes < 0) refuse(fmt::format("{} is not a type", type));
  return bytes == 0 ? "bool" : fmt::format("u{}", 8 * bytes);
}
std::string cpp_type(std::string_view type) {
  if (type == "f32" || type == "f64") return std::string(type);
  if (is_integer(type) && is_signed(type)) return std::string(type);
  return unsigned_type(type);
}

std::string identifier(std::string_view name) {
  std::string made;
  for (const char c : name) {
    if (c == '%') {
      made += "v_";
    } else if (c == '$') {
      made += "S_";
    } else {
      made += c == '.' ? '_' : c;
    }
  }
  return made;
}

std::size_t dynamic_shared_offset(const Translation& translation) {
  return round_up(translation.static_shared_bytes, 16);
}

ModuleMemory module_memory(const Module& module) {
  ModuleMemory memory;
  for (const Variable& variable : module.variables) {
    if (variable.space != Space::global && variable.space != Space::constant) continue;
    const std::size_t offset = round_up(memory.initial.size(), alignment_of(variable));
    memory.offsets[variable.name] = offset;
    memory.initial.resize(offset + bytes_of(variable));
    const auto element = static_cast<std::size_t>(bytes_of(variable.type));
    for (std::size_t i = 0; i < variable.initial.size(); ++i) {
      int bytes = static_cast<int>(element);
      std::optional<std::uint64_t> bits = float_bits(variable.initial[i], bytes);
      if (!bits) bits = integer(variable.initial[i]);
      if (!bits || bytes != static_cast<int>(element) || element > 8 ||
          (i + 1) * element > bytes_of(variable)) {
        memory.unknown[variable.name] = variable.line;
        break;
      }
      std::memcpy(memory.initial.data() + offset + i * element, &*bits, element);
    }
    if (variable.external) memory.unknown[variable.name] = variable.line;
  }
  return memory;
}

Translator::Translator(const Module& module, const ModuleMemory& memory, const Function& function,
                       const Options& options)
    : module_(module),
      memory_(memory),
      function_(function),
      contractions_(options.contract ? find_contractions(function) : Contractions{}) {
  made_.symbol = "entry_" + identifier(function.name);
  made_.module_bytes = memory.initial.size();
  made_.max_threads = std::max(function.max_threads, function.required_threads);
  made_.min_blocks = function.min_blocks;
}

void Translator::layout_parameters() {
  for (const Variable& parameter : function_.parameters) {
    made_.parameter_bytes = round_up(made_.parameter_bytes, alignment_of(parameter));
    made_.parameters.push_back({parameter.name, made_.parameter_bytes, bytes_of(parameter)});
    made_.parameter_bytes += bytes_of(parameter);
  }
}

void Translator::open() {
  Scope scope;
  if (!scopes_.empty()) scope.suffix = fmt::format("_{}", ++scope_count_);
  scopes_.push_back(std::move(scope));
}

void Translator::declare(const Variable& variable) {
  Scope& scope = scopes_.back();
  if (variable.space == Space::reg) {
    scope.registers[variable.name] = variable;
  } else if (variable.space == Space::shared) {
    if (variable.count == 0) {
      scope.symbols[variable.name] = "dynamic_shared";
      return;
    }
    made_.static_shared_bytes = round_up(made_.static_shared_bytes, alignment_of(variable));
    scope.symbols[variable.name] = fmt::format("u64{{{}}}", made_.static_shared_bytes);
    made_.static_shared_bytes += bytes_of(variable);
  } else if (variable.space == Space::local || variable.space == Space::param) {
    local_bytes_ = round_up(local_bytes_, std::max<std::size_t>(alignment_of(variable), 16));
    scope.symbols[variable.name] =
        variable.space == Space::local
            ? fmt::format("u64{{{}}}", local_bytes_)
            : fmt::format("(reinterpret_cast<u64>(local) + {})", local_bytes_);
    local_bytes_ += bytes_of(variable);
  }
}

void Translator::statement(const Statement& s, std::size_t at) {
  switch (s.kind) {
    case Statement::Kind::open:
      return open();
    case Statement::Kind::close:
      scopes_.pop_back();
      return;
    case Statement::Kind::variable:
      return declare(s.variable);
    case Statement::Kind::label:
      finish_products();
      body_.push_back(fmt::format("{}:;", label(s.label)));
      return;
    case Statement::Kind::location:
      location_ = {s.file, s.source_line};
      return;
    case Statement::Kind::instruction:
      return instruction(s, at);
  }
}

// Searches the scopes from the innermost outward.
std::string Translator::label(std::string_view name) const {
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
    const auto found = scope->labels.find(std::string(name));
    if (found != scope->labels.end()) return found->second;
  }
  refuse(fmt::format("no label {}", name));
}

void Translator::instruction(const Statement& s, std::size_t at) {
  ++made_.instructions;
  if (location_.second != 0) made_.source_lines[s.line] = location_;
  std::string code;
  try {
    if (s.parts.front() == "mma" && s.guard.empty()) return multiply_with_others(s);
    code = translated(s, at);
    if (!s.guard.empty() && !code.empty()) {
      code =
          fmt::format("if ({}{}) {{ {} }}", s.guard_negated ? "!" : "", predicate(s.guard), code);
    }
  } catch (const std::out_of_range&) {
    code = refused(s, "too few operands");
  } catch (const Refused& why) {
    code = refused(s, why.reason);
  }
  if (code.empty()) return;
  finish_products();
  body_.push_back(fmt::format("#line {}\n  {}", s.line, code));
}

// Returns the code that replaces an instruction that is not translated.
std::string Translator::refused(const Statement& s, const std::string& reason) {
  made_.refused.push_back({s.line, s.opcode, reason});
  return fmt::format("t.machine->fail(\"not translated: {}: {}\", no_detail, Where::current());",
                     s.opcode, reason);
}

std::string Translator::translated(const Statement& s, std::size_t at) {
  if (contractions_.products.contains(at)) return {};
  if (const auto sum = contractions_.sums.find(at); sum != contractions_.sums.end()) {
    ++made_.contracted;
    return fused(sum->second);
  }
  using Method = std::string (Translator::*)(const Parts&, const Parts&);
  struct Family {
    Method method;
    std::vector<std::string_view> names;
  };
  static const std::array families{
      Family{&Translator::arithmetic,
             {"add", "sub", "mul", "mad", "fma", "div", "rem", "min", "max", "neg", "abs", "mul24",
              "mad24", "sad", "testp", "copysign", "dp4a"}},
      Family{&Translator::with_carry, {"addc", "subc", "madc"}},
      Family{&Translator::special, {"sqrt", "rcp", "rsqrt", "ex2", "lg2", "sin", "cos", "tanh"}},
      Family{&Translator::logic,
             {"and", "or", "xor", "not", "cnot", "shl", "shr", "shf", "lop3", "prmt", "bfe", "bfi",
              "bfind", "clz", "popc", "brev"}},
      Family{&Translator::compare, {"setp", "set"}},
      Family{&Translator::select, {"selp", "slct"}},
      Family{&Translator::convert, {"cvt"}},
      Family{&Translator::move, {"mov"}},
      Family{&Translator::memory, {"ld", "ldu", "st"}},
      Family{&Translator::atomic, {"atom", "red"}},
      Family{&Translator::async_copy, {"cp"}},
      Family{&Translator::address_space, {"cvta", "isspacep", "createpolicy"}},
      Family{&Translator::control,
             {"bra", "ret", "exit", "trap", "call", "membar", "fence", "nanosleep", "prefetch",
              "prefetchu", "discard", "applypriority", "griddepcontrol", "setmaxnreg", "pmevent"}},
      Family{&Translator::barrier, {"bar", "barrier"}},
      Family{&Translator::warp, {"shfl", "vote", "match", "redux"}},
      Family{&Translator::matrix, {"ldmatrix", "stmatrix", "movmatrix"}},
      Family{&Translator::multiply_alone, {"mma"}}};
  for (const Family& family : families) {
    if (std::find(family.names.begin(), family.names.end(), s.parts.front()) != family.names.end())
      return (this->*family.method)(s.parts, s.operands);
  }
  refuse("unknown opcode");
}

std::optional<Translator::Register> Translator::find_register(std::string_view name) {
  const std::string whole(name);
  std::size_t digits = name.size();
  while (digits > 0 && std::isdigit(static_cast<unsigned char>(name[digits - 1])) != 0) --digits;
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
    auto found = scope->registers.find(whole);
    if (found == scope->registers.end() || found->second.numbered) {
      found = scope->registers.find(whole.substr(0, digits));
      if (found == scope->registers.end() || !found->second.numbered || digits == name.size())
        continue;
      const auto number = integer(name.substr(digits));
      if (!number || *number >= found->second.count) continue;
    }
    if (found->second.vector != 1) refuse("vector registers");
    const int bytes = bytes_of(found->second.type);
    const Register made{identifier(name) + scope->suffix, bytes};
    declared_[made.name] = bytes;
    return made;
  }
  return std::nullopt;
}

std::optional<std::string> Translator::symbol(std::string_view name) const {
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
    const auto found = scope->symbols.find(std::string(name));
    if (found != scope->symbols.end()) return found->second;
  }
  const auto variable = memory_.offsets.find(std::string(name));
  if (variable == memory_.offsets.end()) return std::nullopt;
  if (memory_.unknown.contains(variable->first))
    refuse(fmt::format("the initial value of {} is not known", name));
  return fmt::format("(t.module + {})", variable->second);
}

std::string Translator::register_value(const Register& of, std::string_view type) const {
  if (type == "pred") return of.name;
  const std::string wanted = cpp_type(type);
  if (type == "f32") return fmt::format("F({})", of.bytes == 4 ? of.name : "u32(" + of.name + ")");
  if (type == "f64") return fmt::format("D({})", of.name);
  return wanted == fmt::format("u{}", 8 * of.bytes) ? of.name
                                                    : fmt::format("{}({})", wanted, of.name);
}

std::optional<std::string> Translator::literal(std::string_view text, std::string_view type) const {
  int bytes = 0;
  if (const auto bits = float_bits(text, bytes)) {
    if (type == "f32" && bytes == 4) return fmt::format("F({:#x}U)", *bits);
    if (type == "f64" && bytes == 8) return fmt::format("D({:#x}ULL)", *bits);
    if (is_float(type)) refuse("a literal whose size is not the type's");
    return fmt::format("{}({:#x}ULL)", cpp_type(type), *bits);
  }
  if (const auto number = decimal(text)) {
    if (type == "f64") return fmt::format("D({:#x}ULL)", std::bit_cast<std::uint64_t>(*number));
    if (type == "f32")
      return fmt::format("F({:#x}U)", std::bit_cast<std::uint32_t>(static_cast<float>(*number)));
  }
  const auto whole = integer(text);
  if (!whole) return std::nullopt;
  if (type == "pred") return *whole != 0 ? "true" : "false";
  if (is_float(type)) return fmt::format("{}({})", type, static_cast<std::int64_t>(*whole));
  return fmt::format("{}({:#x}ULL)", cpp_type(type), *whole);
}

std::optional<std::string> Translator::special_register(std::string_view operand) const {
  static const std::map<std::string_view, std::string_view> names{
      {"%laneid", "t.lane"},
      {"%warpid", "t.warp"},
      {"%nwarpid", "32U"},
      {"%lanemask_eq", "(1U << t.lane)"},
      {"%lanemask_lt", "((1U << t.lane) - 1U)"},
      {"%lanemask_le", "((2U << t.lane) - 1U)"},
      {"%lanemask_gt", "(~1U << t.lane)"},
      {"%lanemask_ge", "(~0U << t.lane)"},
      {"%clock", "0U"},
      {"%clock64", "u64{0}"},
      {"%globaltimer", "u64{0}"},
      {"%dynamic_smem_size", "(t.shared_bytes - u32(dynamic_shared))"},
      {"%total_smem_size", "t.shared_bytes"},
      {"%cluster_ctarank", "0U"},
      {"%cluster_nctarank", "1U"},
      {"WARP_SZ", "32U"}};
  if (const auto found = names.find(operand); found != names.end())
    return std::string(found->second);
  const std::size_t dot = operand.rfind('.');
  if (dot == std::string_view::npos || dot + 2 != operand.size()) return std::nullopt;
  const std::string_view base = operand.substr(0, dot);
  const char axis = operand.back();
  if (axis != 'x' && axis != 'y' && axis != 'z') return std::nullopt;
  if (base == "%tid" || base == "%ntid" || base == "%ctaid" || base == "%nctaid")
    return fmt::format("t.{}.{}", base.substr(1), axis);
  if (base == "%clusterid") return fmt::format("t.ctaid.{}", axis);
  if (base == "%nclusterid") return fmt::format("t.nctaid.{}", axis);
  if (base == "%cluster_ctaid") return "0U";
  if (base == "%cluster_nctaid") return "1U";
  return std::nullopt;
}

std::string Translator::value(std::string_view operand, std::string_view type) {
  if (bytes_of(type) < 0) refuse(fmt::format("{} is not a type", type));
  if (const auto found = find_register(operand)) return register_value(*found, type);
  if (const auto number = literal(operand, type)) return *number;
  if (is_float(type)) refuse(fmt::format("operand {} as {}", operand, type));
  if (const auto special = special_register(operand))
    return fmt::format("{}({})", cpp_type(type), *special);
  std::string offset;
  std::string_view name = operand;
  if (const std::size_t plus = operand.find('+'); plus != std::string_view::npos) {
    offset = fmt::format(" + u64(s64({}))", operand.substr(plus + 1));
    name = operand.substr(0, plus);
  }
  if (const auto found = symbol(name))
    return fmt::format("{}({}{})", cpp_type(type), *found, offset);
  for (const Parameter& parameter : made_.parameters) {
    if (parameter.name == name)
      return fmt::format("{}(P + {}{})", cpp_type(type), parameter.offset, offset);
  }
  refuse(fmt::format("operand {}", operand));
}

std::string Translator::predicate(std::string_view operand) {
  if (operand.starts_with('!')) return "!" + value(operand.substr(1), "pred");
  return value(operand, "pred");
}

std::string Translator::assign(std::string_view destination, std::string_view bits) {
  if (destination == "_") return fmt::format("(void)({});", bits);
  const auto found = find_register(destination);
  if (!found) refuse(fmt::format("destination {}", destination));
  if (found->bytes == 0) return fmt::format("{} = {};", found->name, bits);
  return fmt::format("{} = u{}({});", found->name, 8 * found->bytes, bits);
}

std::vector<std::string> Translator::elements(std::string_view operand) {
  if (!operand.starts_with('{')) return {std::string(operand)};
  std::vector<std::string> all;
  operand = operand.substr(1, operand.size() - 2);
  while (true) {
    const std::size_t comma = operand.find(',');
    all.emplace_back(operand.substr(0, comma));
    if (comma == std::string_view::npos) return all;
    operand.remove_prefix(comma + 1);
  }
}

std::pair<std::string, std::string> Translator::two_results(std::string_view operand) {
  const std::size_t bar = operand.find('|');
  if (bar == std::string_view::npos) return {std::string(operand), {}};
  return {std::string(operand.substr(0, bar)), std::string(operand.substr(bar + 1))};
}

Translation Translator::run() {
  layout_parameters();
  open();
  for (const Variable& variable : module_.variables)
    if (variable.space == Space::shared) declare(variable);
  // Labels may be used before they are defined, so all scopes are scanned first, in their order.
  std::vector<std::map<std::string, std::string>> labels(1);
  std::vector<std::size_t> stack{0};
  for (const Statement& s : function_.body) {
    if (s.kind == Statement::Kind::open) {
      stack.push_back(labels.size());
      labels.emplace_back();
    } else if (s.kind == Statement::Kind::close) {
      stack.pop_back();
    } else if (s.kind == Statement::Kind::label) {
      labels[stack.back()][s.label] = fmt::format("L{}_{}", stack.back(), identifier(s.label));
    }
  }
  scopes_.back().labels = labels[0];
  std::size_t opened = 0;
  for (std::size_t at = 0; at < function_.body.size(); ++at) {
    statement(function_.body[at], at);
    if (function_.body[at].kind == Statement::Kind::open) scopes_.back().labels = labels[++opened];
  }
  finish_products();
  made_.host_flushes = host_flushes(function_);
  std::string& source = made_.source;
  source = fmt::format("extern \"C\" void {}(const Thread& t, const std::byte* parameters) {{\n",
                       made_.symbol);
  source += fmt::format("  [[maybe_unused]] constexpr u64 dynamic_shared = {};\n",
                        dynamic_shared_offset(made_));
  source +=
      "  [[maybe_unused]] const u64 P = reinterpret_cast<u64>(parameters);\n"
      "  [[maybe_unused]] Access last = Access::none;\n"
      "  [[maybe_unused]] bool carry = false;\n";
  source +=
      fmt::format("  [[maybe_unused]] constexpr std::size_t local_bytes = {};\n", local_bytes_);
  source += fmt::format("  alignas(128) [[maybe_unused]] std::byte local[{}];\n",
                        std::max<std::size_t>(local_bytes_, 1));
  for (const auto& [name, bytes] : declared_) {
    source += bytes == 0 ? fmt::format("  bool {} = false;\n", name)
                         : fmt::format("  u{} {} = 0;\n", 8 * bytes, name);
  }
  for (const std::string& line : body_) source += line + "\n";
  source += "}\n";
  return std::move(made_);
}

tl::expected<Translation, Error> translate(const Module& module, const Function& entry,
                                           const Options& options) {
  const ModuleMemory memory = module_memory(module);
  try {
    return Translator(module, memory, entry, options).run();
  } catch (const Refused& refused) {
    return tl::unexpected(Error{entry.line, fmt::format("{}: {}", entry.name, refused.reason)});
  }
}

}  // namespace plumbline::ptx
