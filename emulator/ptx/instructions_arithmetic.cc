// add, mul, fma, min, ex2 … and the bit operations. Chapters 9.7.1 to 9.7.5 and 9.7.8 of the PTX
// ISA.
#include <fmt/format.h>

#include <algorithm>

#include "emulator/ptx/translator.h"

namespace plumbline::ptx {
namespace {

std::string_view truth(bool value) { return value ? "true" : "false"; }

bool rounds_otherwise(const std::vector<std::string>& parts) {
  return has(parts, "rz") || has(parts, "rm") || has(parts, "rp");
}

void need(const std::vector<std::string>& operands, std::size_t count) {
  if (operands.size() != count)
    refuse(fmt::format("{} operands, where {} are known", operands.size(), count));
}

}  // namespace

std::string Translator::fused(const Contraction& c) {
  const std::string result =
      fmt::format("fma<{}>({}{}, {}, {}{})", truth(c.flush), c.negate_a ? "-" : "",
                  value(c.a, "f32"), value(c.b, "f32"), c.negate_c ? "-" : "", value(c.c, "f32"));
  return assign(c.destination, c.saturate ? fmt::format("saturate({})", result) : result);
}

std::string Translator::arithmetic(const Parts& parts, const Parts& a) {
  const std::string& type = parts.back();
  const std::string& name = parts.front();
  if (name == "addc" || name == "subc" || name == "madc" || has(parts, "cc"))
    return with_carry(parts, a);
  if (name == "ex2" || name == "lg2" || name == "rcp" || name == "rsqrt" || name == "sqrt" ||
      name == "sin" || name == "cos" || name == "tanh") {
    return special(parts, a);
  }
  if (type == "f32") return float_arithmetic(parts, a);
  if (type == "f64") return double_arithmetic(parts, a);
  if (type == "f16" || type == "bf16" || type == "f16x2" || type == "bf16x2")
    return half_arithmetic(parts, a);
  if (is_integer(type)) return integer_arithmetic(parts, a);
  refuse(fmt::format("type {}", type));
}

std::string Translator::float_arithmetic(const Parts& parts, const Parts& a) {
  const std::string& name = parts.front();
  const std::string_view flush = truth(has(parts, "ftz"));
  const auto x = [&](std::size_t i) { return value(a.at(i), "f32"); };
  // What libdevice's expf takes a logarithm apart with.
  if (name == "fma" && has(parts, "rm") && !has(parts, "sat")) {
    need(a, 4);
    return assign(a.at(0), fmt::format("fma_down<{}>({}, {}, {})", flush, x(1), x(2), x(3)));
  }
  if (rounds_otherwise(parts)) refuse("rounding other than to nearest");
  std::string result;
  if (name == "add" || name == "sub" || name == "mul") {
    need(a, 3);
    result = fmt::format("{}<{}>({}, {})", name, flush, x(1), x(2));
  } else if (name == "fma" || name == "mad") {
    need(a, 4);
    result = fmt::format("fma<{}>({}, {}, {})", flush, x(1), x(2), x(3));
  } else if (name == "min" || name == "max") {
    if (has(parts, "xorsign")) refuse("xorsign");
    const std::string call = fmt::format("{}<{}, {}>", name == "min" ? "smaller" : "larger", flush,
                                         truth(has(parts, "NaN")));
    if (a.size() == 4) {
      result = fmt::format("{}(F({}({}, {})), {})", call, call, x(1), x(2), x(3));
    } else {
      need(a, 3);
      result = fmt::format("{}({}, {})", call, x(1), x(2));
    }
    if (has(parts, "abs")) refuse("abs");
  } else if (name == "div") {
    need(a, 3);
    const std::string_view kind = has(parts, "full")     ? "divide_full"
                                  : has(parts, "approx") ? "divide_approx"
                                  : has(parts, "rn")     ? "divide"
                                                         : "";
    if (kind.empty()) refuse("a division of this kind");
    result =
        fmt::format("{}<{}>({}{}, {})", kind, flush, kind == "divide" ? "" : "t, ", x(1), x(2));
  } else if (name == "neg" || name == "abs") {
    need(a, 2);
    result = fmt::format("B(flush<{}>({})) {}", flush, x(1),
                         name == "neg" ? "^ 0x80000000U" : "& 0x7fffffffU");
  } else if (name == "copysign") {
    need(a, 3);
    result = fmt::format("B(__builtin_copysignf({}, {}))", x(2), x(1));
  } else if (name == "testp") {
    need(a, 2);
    const std::string_view asked = parts.at(1);
    const std::string_view test = asked == "finite"       ? "__builtin_isfinite({})"
                                  : asked == "infinite"   ? "__builtin_isinf({})"
                                  : asked == "number"     ? "!__builtin_isnan({})"
                                  : asked == "notanumber" ? "__builtin_isnan({})"
                                                          : "";
    if (test.empty()) refuse(fmt::format("testp.{}", asked));
    result = fmt::format(fmt::runtime(test), x(1));
  } else {
    refuse("of f32");
  }
  return assign(a.at(0), has(parts, "sat") ? fmt::format("saturate({})", result) : result);
}

std::string Translator::double_arithmetic(const Parts& parts, const Parts& a) {
  const std::string& name = parts.front();
  if (rounds_otherwise(parts)) refuse("rounding other than to nearest");
  const auto x = [&](std::size_t i) { return value(a.at(i), "f64"); };
  static const std::map<std::string_view, char> operators{
      {"add", '+'}, {"sub", '-'}, {"mul", '*'}, {"div", '/'}};
  if (const auto found = operators.find(name); found != operators.end())
    return assign(a.at(0), fmt::format("B({} {} {})", x(1), found->second, x(2)));
  if (name == "fma" || name == "mad")
    return assign(a.at(0), fmt::format("B(__builtin_fma({}, {}, {}))", x(1), x(2), x(3)));
  if (name == "neg") return assign(a.at(0), fmt::format("B(-{})", x(1)));
  if (name == "abs") return assign(a.at(0), fmt::format("B(__builtin_fabs({}))", x(1)));
  if (name == "min" || name == "max")
    return assign(a.at(0), fmt::format("B(__builtin_f{}({}, {}))", name, x(1), x(2)));
  refuse("of f64");
}

// fp16 and bf16, alone or in pairs: each in f64, rounded once.
std::string Translator::half_arithmetic(const Parts& parts, const Parts& a) {
  const std::string& name = parts.front();
  const std::string& type = parts.back();
  if (rounds_otherwise(parts) || has(parts, "sat") || has(parts, "relu") || has(parts, "xorsign"))
    refuse("this rounding or clamping of 16-bit numbers");
  if (has(parts, "ftz")) refuse("ftz of 16-bit numbers");
  const bool pair = type.ends_with("x2"), brain = type.starts_with('b');
  const std::string_view read = brain ? "brain" : "half", write = brain ? "to_brain" : "to_half";
  const std::string_view whole = pair ? "b32" : "b16";
  // Of element `shift / 16`.
  const auto one = [&](int shift) {
    const auto bits = [&](std::size_t i) {
      return fmt::format("u16({} >> {})", value(a.at(i), whole), shift);
    };
    const auto x = [&](std::size_t i) { return fmt::format("{}({})", read, bits(i)); };
    if (name == "neg") return fmt::format("u16({} ^ 0x8000)", bits(1));
    if (name == "abs") return fmt::format("u16({} & 0x7fff)", bits(1));
    if (name == "add" || name == "sub")
      return fmt::format("{}(sum_to_odd({}, {}{}))", write, x(1), name == "sub" ? "-" : "", x(2));
    if (name == "mul") return fmt::format("{}({} * {})", write, x(1), x(2));
    if (name == "fma") return fmt::format("{}(sum_to_odd({} * {}, {}))", write, x(1), x(2), x(3));
    if (name == "min" || name == "max")
      return fmt::format("{}(F({}<false, {}>(f32({}), f32({}))))", write,
                         name == "min" ? "smaller" : "larger", truth(has(parts, "NaN")), x(1),
                         x(2));
    refuse(fmt::format("of {}", type));
  };
  if (!pair) return assign(a.at(0), one(0));
  return assign(a.at(0), fmt::format("u32({}) | u32({}) << 16", one(0), one(16)));
}

std::string Translator::integer_arithmetic(const Parts& parts, const Parts& a) {
  const std::string& name = parts.front();
  const std::string& type = parts.back();
  const std::string own = cpp_type(type), word = unsigned_type(type);
  const std::string bits = fmt::format("b{}", 8 * bytes_of(type));
  const std::string wide = fmt::format("{}{}", is_signed(type) ? "s" : "u", 16 * bytes_of(type));
  const std::string wide_word = fmt::format("u{}", 16 * bytes_of(type));
  const auto x = [&](std::size_t i) { return value(a.at(i), type); };
  const auto w = [&](std::size_t i) { return value(a.at(i), bits); };
  if (name == "add" || name == "sub") {
    if (!has(parts, "sat"))
      return assign(a.at(0),
                    fmt::format("{}({} {} {})", word, w(1), name == "add" ? '+' : '-', w(2)));
    return assign(a.at(0), fmt::format("clamp_integer<{}>({}({}) {} {}({}))", own, wide, x(1),
                                       name == "add" ? '+' : '-', wide, x(2)));
  }
  if (name == "mul" || name == "mad" || name == "mul24" || name == "mad24") {
    if (has(parts, "sat") || name.ends_with("24")) refuse("this product");
    std::string product = fmt::format("{}({}) * {}({})", wide, x(1), wide, x(2));
    if (has(parts, "wide")) {
      if (bytes_of(type) > 4) refuse("wide products of 64 bits");
      if (name == "mad")
        product = fmt::format("{}({}) + {}", wide_word, product,
                              value(a.at(3), fmt::format("b{}", 16 * bytes_of(type))));
      return assign(a.at(0), product);
    }
    const std::string half =
        has(parts, "hi")
            ? fmt::format("{}({} >> {})", word, product, 8 * bytes_of(type))
            : fmt::format("{}({}({}) * {}({}))", word, wide_word, w(1), wide_word, w(2));
    if (name == "mul") return assign(a.at(0), half);
    return assign(a.at(0), fmt::format("{}({} + {})", word, half, w(3)));
  }
  if (name == "div" || name == "rem") {
    const char sign = name == "div" ? '/' : '%';
    // By zero: what ptxas's sequences give is not defined by the ISA; all bits here.
    return assign(a.at(0), fmt::format("{} == 0 ? {}(-1) : {}({}({}) {} {}({}))", x(2), own, own,
                                       wide, x(1), sign, wide, x(2)));
  }
  if (name == "min" || name == "max")
    return assign(a.at(0), fmt::format("{} {} {} ? {} : {}", x(1), name == "min" ? '<' : '>', x(2),
                                       x(1), x(2)));
  if (name == "neg") return assign(a.at(0), fmt::format("{}(0 - {})", word, w(1)));
  if (name == "abs")
    return assign(a.at(0), fmt::format("{} < 0 ? {}(0 - {}) : {}", x(1), word, w(1), w(1)));
  if (name == "sad")
    return assign(a.at(0), fmt::format("{}(({} < {} ? {} - {} : {} - {}) + {})", word, x(1), x(2),
                                       w(2), w(1), w(1), w(2), w(3)));
  refuse("of integers");
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
  const std::string& name = parts.front();
  const std::string& type = parts.back();
  need(a, 2);
  const std::string_view flush = truth(has(parts, "ftz"));
  if (rounds_otherwise(parts)) refuse("rounding other than to nearest");
  if (type == "f64") {
    if (name == "sqrt" && has(parts, "rn"))
      return assign(a.at(0), fmt::format("B(__builtin_sqrt({}))", value(a.at(1), "f64")));
    if (name == "rcp" && has(parts, "rn"))
      return assign(a.at(0), fmt::format("B(1.0 / {})", value(a.at(1), "f64")));
    refuse("of f64");
  }
  // ex2.approx of 16-bit numbers: nobody has published what the hardware's tables are for them.
  if (type != "f32") refuse(fmt::format("of {}", type));
  const std::string x = value(a.at(1), "f32");
  if (has(parts, "rn")) {
    if (name == "rcp") return assign(a.at(0), fmt::format("divide<{}>(1.0F, {})", flush, x));
    if (name == "sqrt") return assign(a.at(0), fmt::format("root<{}>({})", flush, x));
  }
  if (!has(parts, "approx")) refuse("of this kind");
  if (name == "sqrt") return assign(a.at(0), fmt::format("sqrt_approx<{}>(t, {})", flush, x));
  if (name == "sin" || name == "cos" || name == "tanh")
    return assign(a.at(0), fmt::format("t.machine->{}(B({}))", name, x));
  return assign(a.at(0), fmt::format("{}<{}>(t, {})", name, flush, x));
}

std::string Translator::logic(const Parts& parts, const Parts& a) {
  const std::string& name = parts.front();
  const std::string& type = parts.back();
  const auto x = [&](std::size_t i) { return value(a.at(i), type); };
  const auto u = [&](std::size_t i) { return value(a.at(i), "u32"); };
  if (name == "and" || name == "or" || name == "xor") {
    const std::string_view sign = name == "and" ? "&" : name == "or" ? "|" : "^";
    if (type != "pred") return assign(a.at(0), fmt::format("{} {} {}", x(1), sign, x(2)));
    return assign(a.at(0), fmt::format("{} {} {}", predicate(a.at(1)),
                                       name == "and"  ? "&&"
                                       : name == "or" ? "||"
                                                      : "!=",
                                       predicate(a.at(2))));
  }
  if (name == "not") return assign(a.at(0), fmt::format("{}{}", type == "pred" ? "!" : "~", x(1)));
  if (name == "cnot") return assign(a.at(0), fmt::format("{} == 0 ? 1 : 0", x(1)));
  if (name == "shl" || name == "shr")
    return assign(a.at(0), fmt::format("shift_{}<{}>({}, {})", name == "shl" ? "left" : "right",
                                       cpp_type(type), x(1), u(2)));
  if (name == "shf") {
    const std::string count = has(parts, "wrap") ? fmt::format("({} & 31)", u(3))
                                                 : fmt::format("({} > 32 ? 32 : {})", u(3), u(3));
    const std::string both = fmt::format("(u64({}) << 32 | {})", u(2), u(1));
    return assign(a.at(0), has(parts, "l") ? fmt::format("u32({} << {} >> 32)", both, count)
                                           : fmt::format("u32({} >> {})", both, count));
  }
  if (name == "lop3") {
    if (parts.size() != 2) refuse("lop3 with a predicate");
    return assign(a.at(0), fmt::format("lop3({}, {}, {}, {})", u(1), u(2), u(3), u(4)));
  }
  if (name == "prmt") {
    if (type != "b32") refuse(fmt::format("prmt.{}", type));
    return assign(a.at(0), fmt::format("permute({}, {}, {})", u(1), u(2), u(3)));
  }
  if (name == "bfe")
    return assign(a.at(0),
                  fmt::format("extract<{}>({}, {}, {})", cpp_type(type), x(1), u(2), u(3)));
  if (name == "bfi")
    return assign(
        a.at(0), fmt::format("insert<{}>({}, {}, {}, {})", cpp_type(type), x(1), x(2), u(3), u(4)));
  if (name == "bfind") {
    const std::string place = fmt::format("highest<{}>({})", cpp_type(type), x(1));
    if (!has(parts, "shiftamt")) return assign(a.at(0), place);
    return assign(a.at(0),
                  fmt::format("{} == ~0U ? ~0U : {}U - {}", place, 8 * bytes_of(type) - 1, place));
  }
  if (name == "clz") return assign(a.at(0), fmt::format("std::countl_zero({})", x(1)));
  if (name == "popc") return assign(a.at(0), fmt::format("std::popcount({})", x(1)));
  if (name == "brev") {
    if (type != "b32") refuse("of 64 bits");
    return assign(a.at(0), fmt::format("reverse_bits({})", u(1)));
  }
  refuse("unknown opcode");
}

}  // namespace plumbline::ptx
