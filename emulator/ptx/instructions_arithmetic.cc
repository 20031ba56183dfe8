// add, mul, fma, min, ex2 … and the bit operations. Chapters 9.7.1 to 9.7.5 and 9.7.8 of the PTX
// ISA.
#include <fmt/format.h>

#include <algorithm>
#include <ranges>
#include <span>

#include "emulator/ptx/translator.h"

namespace plumbline::ptx {
namespace {

std::string_view truth(bool value) { return value ? "true" : "false"; }

bool rounds_otherwise(const std::vector<std::string>& parts) {
  return has(parts, "rz") || has(parts, "rm") || has(parts, "rp");
}

void need(const std::vector<std::string>& operands, std::size_t count) {
  if (operands.size() != count)
    refuse(fmt::format("{} operands; {} are supported", operands.size(), count));
}

// The C++ code of an opcode; the instruction must have all of the modifiers in `opcode`, so
// "mul.hi" precedes "mul". Translator::meaning defines placeholders such as "{x1}".
struct Formula {
  std::string_view opcode;
  std::string_view code;
  std::string_view refusal = {};  // refuses the instruction with this reason instead
};

constexpr Formula float_formulas[] = {{"add", "add<{ftz}>({x1}, {x2})"},
                                      {"sub", "sub<{ftz}>({x1}, {x2})"},
                                      {"mul", "mul<{ftz}>({x1}, {x2})"},
                                      {"fma", "fma<{ftz}>({x1}, {x2}, {x3})"},
                                      {"mad", "fma<{ftz}>({x1}, {x2}, {x3})"},
                                      {"min.xorsign", "", "xorsign"},
                                      {"max.xorsign", "", "xorsign"},
                                      {"min.abs", "", "abs"},
                                      {"max.abs", "", "abs"},
                                      {"min", "smaller<{ftz}, {NaN}>({x1}, {x2})"},
                                      {"max", "larger<{ftz}, {NaN}>({x1}, {x2})"},
                                      {"div.full", "divide_full<{ftz}>(t, {x1}, {x2})"},
                                      {"div.approx", "divide_approx<{ftz}>(t, {x1}, {x2})"},
                                      {"div.rn", "divide<{ftz}>({x1}, {x2})"},
                                      {"div", "", "a division of this kind"},
                                      {"neg", "B(flush<{ftz}>({x1})) ^ 0x80000000U"},
                                      {"abs", "B(flush<{ftz}>({x1})) & 0x7fffffffU"},
                                      {"copysign", "B(__builtin_copysignf({x2}, {x1}))"},
                                      {"testp.finite", "__builtin_isfinite({x1})"},
                                      {"testp.infinite", "__builtin_isinf({x1})"},
                                      {"testp.number", "!__builtin_isnan({x1})"},
                                      {"testp.notanumber", "__builtin_isnan({x1})"}};

constexpr Formula float_formulas_of_three[] = {
    {"min", "smaller<{ftz}, {NaN}>(F(smaller<{ftz}, {NaN}>({x1}, {x2})), {x3})"},
    {"max", "larger<{ftz}, {NaN}>(F(larger<{ftz}, {NaN}>({x1}, {x2})), {x3})"}};

constexpr Formula double_formulas[] = {{"add", "B({x1} + {x2})"},
                                       {"sub", "B({x1} - {x2})"},
                                       {"mul", "B({x1} * {x2})"},
                                       {"div", "B({x1} / {x2})"},
                                       {"fma", "B(__builtin_fma({x1}, {x2}, {x3}))"},
                                       {"mad", "B(__builtin_fma({x1}, {x2}, {x3}))"},
                                       {"neg", "B(-{x1})"},
                                       {"abs", "B(__builtin_fabs({x1}))"},
                                       {"min", "B(__builtin_fmin({x1}, {x2}))"},
                                       {"max", "B(__builtin_fmax({x1}, {x2}))"}};

// {x1} is the 16-bit operand as an fp64 number, {h1} its bits.
constexpr Formula half_formulas[] = {
    {"neg", "u16({h1} ^ 0x8000)"},
    {"abs", "u16({h1} & 0x7fff)"},
    {"add", "{to}(sum_to_odd({x1}, {x2}))"},
    {"sub", "{to}(sum_to_odd({x1}, -{x2}))"},
    {"mul", "{to}({x1} * {x2})"},
    {"fma", "{to}(sum_to_odd({x1} * {x2}, {x3}))"},
    {"min", "{to}(F(smaller<false, {NaN}>(f32({x1}), f32({x2}))))"},
    {"max", "{to}(F(larger<false, {NaN}>(f32({x1}), f32({x2}))))"}};

// Division by zero gives all ones; the ISA leaves it undefined.
constexpr Formula integer_formulas[] = {
    {"add.sat", "clamp_integer<{T}>({wide}({x1}) + {wide}({x2}))"},
    {"sub.sat", "clamp_integer<{T}>({wide}({x1}) - {wide}({x2}))"},
    {"add", "{word}({w1} + {w2})"},
    {"sub", "{word}({w1} - {w2})"},
    {"mul.sat", "", "this product"},
    {"mad.sat", "", "this product"},
    {"mul24", "", "this product"},
    {"mad24", "", "this product"},
    {"mul.wide", "{wide}({x1}) * {wide}({x2})"},
    {"mad.wide", "{wide_word}({wide}({x1}) * {wide}({x2})) + {d3}"},
    {"mul.hi", "{word}({wide}({x1}) * {wide}({x2}) >> {bits})"},
    {"mad.hi", "{word}({word}({wide}({x1}) * {wide}({x2}) >> {bits}) + {w3})"},
    {"mul", "{word}({wide_word}({w1}) * {wide_word}({w2}))"},
    {"mad", "{word}({word}({wide_word}({w1}) * {wide_word}({w2})) + {w3})"},
    {"div", "{x2} == 0 ? {T}(-1) : {T}({wide}({x1}) / {wide}({x2}))"},
    {"rem", "{x2} == 0 ? {T}(-1) : {T}({wide}({x1}) % {wide}({x2}))"},
    {"min", "{x1} < {x2} ? {x1} : {x2}"},
    {"max", "{x1} > {x2} ? {x1} : {x2}"},
    {"neg", "{word}(0 - {w1})"},
    {"abs", "{x1} < 0 ? {word}(0 - {w1}) : {w1}"},
    {"sad", "{word}(({x1} < {x2} ? {w2} - {w1} : {w1} - {w2}) + {w3})"}};

constexpr Formula special_formulas[] = {
    {"rcp.rn", "divide<{ftz}>(1.0F, {x1})"},        {"sqrt.rn", "root<{ftz}>({x1})"},
    {"sqrt.approx", "sqrt_approx<{ftz}>(t, {x1})"}, {"sin.approx", "t.machine->sin(B({x1}))"},
    {"cos.approx", "t.machine->cos(B({x1}))"},      {"tanh.approx", "t.machine->tanh(B({x1}))"},
    {"ex2.approx", "ex2<{ftz}>(t, {x1})"},          {"lg2.approx", "lg2<{ftz}>(t, {x1})"},
    {"rcp.approx", "rcp<{ftz}>(t, {x1})"},          {"rsqrt.approx", "rsqrt<{ftz}>(t, {x1})"}};

constexpr Formula special_double_formulas[] = {{"sqrt.rn", "B(__builtin_sqrt({x1}))"},
                                               {"rcp.rn", "B(1.0 / {x1})"}};

constexpr Formula logic_formulas[] = {
    {"and.pred", "{p1} && {p2}"},
    {"or.pred", "{p1} || {p2}"},
    {"xor.pred", "{p1} != {p2}"},
    {"not.pred", "!{x1}"},
    {"and", "{x1} & {x2}"},
    {"or", "{x1} | {x2}"},
    {"xor", "{x1} ^ {x2}"},
    {"not", "~{x1}"},
    {"cnot", "{x1} == 0 ? 1 : 0"},
    {"shl", "shift_left<{T}>({x1}, {u2})"},
    {"shr", "shift_right<{T}>({x1}, {u2})"},
    {"shf.l.wrap", "u32((u64({u2}) << 32 | {u1}) << ({u3} & 31) >> 32)"},
    {"shf.l", "u32((u64({u2}) << 32 | {u1}) << ({u3} > 32 ? 32 : {u3}) >> 32)"},
    {"shf.wrap", "u32((u64({u2}) << 32 | {u1}) >> ({u3} & 31))"},
    {"shf", "u32((u64({u2}) << 32 | {u1}) >> ({u3} > 32 ? 32 : {u3}))"},
    {"lop3", "lop3({u1}, {u2}, {u3}, {u4})"},
    {"prmt", "permute({u1}, {u2}, {u3})"},
    {"bfe", "extract<{T}>({x1}, {u2}, {u3})"},
    {"bfi", "insert<{T}>({x1}, {x2}, {u3}, {u4})"},
    {"bfind.shiftamt", "highest<{T}>({x1}) == ~0U ? ~0U : {last_bit}U - highest<{T}>({x1})"},
    {"bfind", "highest<{T}>({x1})"},
    {"clz", "std::countl_zero({x1})"},
    {"popc", "std::popcount({x1})"},
    {"brev.b32", "reverse_bits({u1})"},
    {"brev", "", "type of 64 bits"}};

bool is_of(std::string_view opcode, const std::vector<std::string>& parts) {
  if (opcode.substr(0, opcode.find('.')) != parts.front()) return false;
  for (const auto name : std::views::split(opcode, '.')) {
    if (!has(parts, std::string_view(name.begin(), name.end()))) return false;
  }
  return true;
}

std::string_view code_of(std::span<const Formula> formulas, const std::vector<std::string>& parts,
                         const std::string& otherwise) {
  const auto found = std::find_if(formulas.begin(), formulas.end(), [&](const Formula& formula) {
    return is_of(formula.opcode, parts);
  });
  if (found == formulas.end()) refuse(otherwise);
  if (!found->refusal.empty()) refuse(std::string(found->refusal));
  return found->code;
}

// Returns the code with each "{name}" replaced by meaning(name).
template <class Meaning>
std::string filled(std::string_view code, Meaning meaning) {
  std::string text;
  for (std::size_t open = code.find('{'); open != std::string_view::npos; open = code.find('{')) {
    const std::size_t close = code.find('}', open);
    text += code.substr(0, open);
    text += meaning(code.substr(open + 1, close - open - 1));
    code.remove_prefix(close + 1);
  }
  return text += code;
}

// Returns the number of operands of a formula, including the destination.
std::size_t operands_of(std::string_view code) {
  std::size_t count = 1;
  while (code.find(fmt::format("{}}}", count)) != std::string_view::npos) ++count;
  return count;
}

}  // namespace

// Returns an operand as a number of the instruction's type ({x1}), as u32 ({u1}), as bits ({w1}),
// as bits of twice the size ({d1}) or as a predicate ({p1}); or a type; or true if the modifier is
// present.
std::string Translator::meaning(std::string_view name, const Parts& parts, const Parts& a) {
  const std::string& type = parts.back();
  const int bits = 8 * bytes_of(type);
  if (name == "ftz" || name == "NaN") return std::string(truth(has(parts, name)));
  if (name == "T") return cpp_type(type);
  if (name == "word") return unsigned_type(type);
  if (name == "wide") return fmt::format("{}{}", is_signed(type) ? "s" : "u", 2 * bits);
  if (name == "wide_word") return fmt::format("u{}", 2 * bits);
  if (name == "bits") return fmt::format("{}", bits);
  if (name == "last_bit") return fmt::format("{}", bits - 1);
  const std::string& operand = a.at(static_cast<std::size_t>(name.back() - '0'));
  switch (name.front()) {
    case 'p':
      return predicate(operand);
    case 'u':
      return value(operand, "u32");
    case 'w':
      return value(operand, fmt::format("b{}", bits));
    case 'd':
      return value(operand, fmt::format("b{}", 2 * bits));
    default:
      return value(operand, type);
  }
}

std::string Translator::by_formula(std::string_view code, const Parts& parts, const Parts& a) {
  return filled(code, [&](std::string_view name) { return meaning(name, parts, a); });
}

std::string Translator::fused(const Contraction& c) {
  const std::string result =
      fmt::format("fma<{}>({}{}, {}, {}{})", truth(c.flush), c.negate_a ? "-" : "",
                  value(c.a, "f32"), value(c.b, "f32"), c.negate_c ? "-" : "", value(c.c, "f32"));
  return assign(c.destination, c.saturate ? fmt::format("saturate({})", result) : result);
}

std::string Translator::arithmetic(const Parts& parts, const Parts& a) {
  const std::string& type = parts.back();
  if (has(parts, "cc")) return with_carry(parts, a);
  if (type == "f32") return float_arithmetic(parts, a);
  if (type == "f64") {
    if (rounds_otherwise(parts)) refuse("rounding other than to nearest");
    return assign(a.at(0),
                  by_formula(code_of(double_formulas, parts, "operation on f64"), parts, a));
  }
  if (type == "f16" || type == "bf16" || type == "f16x2" || type == "bf16x2")
    return half_arithmetic(parts, a);
  if (!is_integer(type)) refuse(fmt::format("type {}", type));
  const std::string_view code = code_of(integer_formulas, parts, "operation on integers");
  const bool multiplies = parts.front() == "mul" || parts.front() == "mad";
  if (multiplies && has(parts, "wide") && bytes_of(type) > 4) refuse("wide products of 64 bits");
  return assign(a.at(0), by_formula(code, parts, a));
}

std::string Translator::float_arithmetic(const Parts& parts, const Parts& a) {
  // libdevice's expf uses fma.rm.
  const bool down = parts.front() == "fma" && has(parts, "rm") && !has(parts, "sat");
  if (!down && rounds_otherwise(parts)) refuse("rounding other than to nearest");
  const std::string otherwise =
      parts.front() == "testp" ? fmt::format("testp.{}", parts.at(1)) : "operation on f32";
  std::string_view code = code_of(float_formulas, parts, otherwise);
  if (down) code = "fma_down<{ftz}>({x1}, {x2}, {x3})";
  if (a.size() == 4 && (parts.front() == "min" || parts.front() == "max"))
    code = code_of(float_formulas_of_three, parts, otherwise);
  need(a, operands_of(code));
  const std::string result = by_formula(code, parts, a);
  return assign(a.at(0), has(parts, "sat") ? fmt::format("saturate({})", result) : result);
}

// fp16 and bf16, single or in pairs: each computed in fp64 and rounded once.
std::string Translator::half_arithmetic(const Parts& parts, const Parts& a) {
  const std::string& type = parts.back();
  if (rounds_otherwise(parts) || has(parts, "sat") || has(parts, "relu") || has(parts, "xorsign"))
    refuse("this rounding or clamping of 16-bit numbers");
  if (has(parts, "ftz")) refuse("ftz of 16-bit numbers");
  const bool pair = type.ends_with("x2"), brain = type.starts_with('b');
  const std::string_view code = code_of(half_formulas, parts, fmt::format("operation on {}", type));
  // Returns the code for element `shift / 16`.
  const auto one = [&](int shift) {
    return filled(code, [&](std::string_view name) -> std::string {
      if (name == "NaN") return meaning(name, parts, a);
      if (name == "to") return brain ? "to_brain" : "to_half";
      const std::string& operand = a.at(static_cast<std::size_t>(name.back() - '0'));
      const std::string bits =
          fmt::format("u16({} >> {})", value(operand, pair ? "b32" : "b16"), shift);
      return name.front() == 'h' ? bits : fmt::format("{}({})", brain ? "brain" : "half", bits);
    });
  };
  if (!pair) return assign(a.at(0), one(0));
  return assign(a.at(0), fmt::format("u32({}) | u32({}) << 16", one(0), one(16)));
}

std::string Translator::with_carry(const Parts& parts, const Parts& a) {
  const std::string& name = parts.front();
  const std::string& type = parts.back();
  if (type != "u32" && type != "s32" && type != "b32" && type != "u64" && type != "s64" &&
      type != "b64") {
    refuse("a carry of this type");
  }
  const std::string bits = fmt::format("b{}", 8 * bytes_of(type)),
                    wide = fmt::format("u{}", 16 * bytes_of(type));
  const std::string word = unsigned_type(type);
  const auto w = [&](std::size_t i) { return value(a.at(i), bits); };
  const bool takes = name.back() == 'c';  // addc, subc, madc
  const std::string in = takes ? "carry" : "false";
  std::string sum;
  if (name == "add" || name == "addc") {
    sum = fmt::format("{}({}) + {} + {}", wide, w(1), w(2), in);
  } else if (name == "sub" || name == "subc") {  // the carry is the borrow
    sum = fmt::format("{}({}) - {} - {}", wide, w(1), w(2), in);
  } else if (name == "mad" || name == "madc") {
    const std::string product =
        is_signed(type) && has(parts, "hi")
            ? fmt::format("s{}({}) * s{}({})", 16 * bytes_of(type), value(a.at(1), type),
                          16 * bytes_of(type), value(a.at(2), type))
            : fmt::format("{}({}) * {}", wide, w(1), w(2));
    sum = fmt::format("{}({}({}{})) + {} + {}", wide, word, product,
                      has(parts, "hi") ? fmt::format(" >> {}", 8 * bytes_of(type)) : "", w(3), in);
  } else {
    refuse("a carry");
  }
  return fmt::format(
      "{{ const {} sum_ = {}; {}{} }}", wide, sum,
      has(parts, "cc") ? fmt::format("carry = (sum_ >> {} & 1) != 0; ", 8 * bytes_of(type)) : "",
      assign(a.at(0), fmt::format("{}(sum_)", word)));
}

std::string Translator::special(const Parts& parts, const Parts& a) {
  const std::string& type = parts.back();
  need(a, 2);
  if (rounds_otherwise(parts)) refuse("rounding other than to nearest");
  // The hardware's ex2.approx of 16-bit numbers is not published.
  if (type != "f32" && type != "f64") refuse(fmt::format("operation on {}", type));
  return assign(a.at(0),
                by_formula(type == "f32" ? code_of(special_formulas, parts, "this variant")
                                         : code_of(special_double_formulas, parts, "f64 variant"),
                           parts, a));
}

std::string Translator::logic(const Parts& parts, const Parts& a) {
  if (parts.front() == "prmt" && parts.back() != "b32")
    refuse(fmt::format("prmt.{}", parts.back()));
  if (parts.front() == "lop3" && parts.size() != 2) refuse("lop3 with a predicate");
  return assign(a.at(0), by_formula(code_of(logic_formulas, parts, "unknown opcode"), parts, a));
}

}  // namespace plumbline::ptx
