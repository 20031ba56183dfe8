// Branches, barriers, collectives of a warp, and matrix instructions. Chapters 9.7.12 to 9.7.14 of
// the PTX ISA.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "emulator/machine/exchange.h"
#include "emulator/ptx/translator.h"

namespace plumbline::ptx {

std::string Translator::control(const Parts& parts, const Parts& a) {
  const std::string& name = parts.front();
  if (name == "ret" || name == "exit") return "return;";
  if (name == "bra") return fmt::format("goto {};", label(a.at(0)));
  if (name == "trap") return "t.machine->fail(\"the kernel traps\", no_detail, Where::current());";
  if (name == "membar" || name == "fence") {
    if (has(parts, "proxy")) refuse("a fence of proxies");
    return "std::atomic_thread_fence(std::memory_order_seq_cst);";
  }
  if (name == "call") {
    for (const std::string& operand : a) {
      if (operand == "__assertfail" || operand == "__assert_fail")
        return "t.machine->fail(\"an assertion of the kernel fails\", no_detail, "
               "Where::current());";
      if (operand == "vprintf") return ";";
    }
    refuse("a call of a function");
  }
  return ";";  // prefetches, hints, and griddepcontrol, since launches are sequential here
}

std::string Translator::barrier(const Parts& parts, const Parts& a) {
  if (has(parts, "warp")) return fmt::format("sync_warp(t, {});", value(a.at(0), "u32"));
  if (has(parts, "cluster")) refuse("barriers of a cluster");
  if (has(parts, "red")) refuse("barriers with a reduction");
  const std::string id = value(a.at(0), "s32");
  if (a.size() == 1) {
    if (has(parts, "arrive")) refuse("an arrival without a count");
    if (a.at(0) == "0") return "sync_threads(t);";
    return fmt::format(
        "barrier(t, Call::named_barrier_sync, {}, s32(t.ntid.x * t.ntid.y * t.ntid.z));", id);
  }
  return fmt::format("barrier(t, Call::named_barrier_{}, {}, {});",
                     has(parts, "arrive") ? "arrive" : "sync", id, value(a.at(1), "s32"));
}

std::string Translator::warp(const Parts& parts, const Parts& a) {
  const std::string& name = parts.front();
  const auto u = [&](std::size_t i) { return value(a.at(i), "u32"); };
  if (name == "shfl") {
    if (!has(parts, "sync")) refuse("without .sync");
    const char mode = has(parts, "up")     ? 'u'
                      : has(parts, "down") ? 'd'
                      : has(parts, "bfly") ? 'b'
                                           : 'i';
    const auto [value_to, inside_to] = two_results(a.at(0));
    return fmt::format(
        "{{ bool inside_ = false; const u32 got_ = shuffle(t, '{}', {}, {}, {}, {}, inside_); {}{} "
        "}}",
        mode, u(1), u(2), u(3), u(4), assign(value_to, "got_"),
        inside_to.empty() ? "" : " " + assign(inside_to, "inside_"));
  }
  if (name == "vote") {
    const std::string votes = fmt::format("ballot(t, {}, {})", u(2), predicate(a.at(1)));
    if (has(parts, "ballot")) return assign(a.at(0), votes);
    if (has(parts, "any")) return assign(a.at(0), votes + " != 0");
    if (has(parts, "all")) return assign(a.at(0), fmt::format("{} == {}", votes, u(2)));
    if (has(parts, "uni"))
      return fmt::format("{{ const u32 votes_ = {}; {} }}", votes,
                         assign(a.at(0), fmt::format("votes_ == 0 || votes_ == {}", u(2))));
  }
  if (name == "match") {
    const std::string bits = value(a.at(1), fmt::format("u{}", 8 * bytes_of(parts.back())));
    const auto [mask_to, all_to] = two_results(a.at(0));
    return fmt::format("{{ const u32 lanes_ = match_{}(t, {}, {}); {}{} }}",
                       has(parts, "all") ? "all" : "any", u(2), bits, assign(mask_to, "lanes_"),
                       all_to.empty() ? "" : " " + assign(all_to, "lanes_ != 0"));
  }
  if (name == "redux") {
    const std::string& type = parts.back();
    std::string operation = parts.at(2);
    if (type != "u32" && type != "s32" && type != "b32") refuse(fmt::format("redux of {}", type));
    if (operation == "min" || operation == "max") operation += "_" + type;
    if (operation == "and" || operation == "or" || operation == "xor") operation += "_";
    return assign(a.at(0), fmt::format("redux(t, Redux::{}, {}, {})", operation, u(2), u(1)));
  }
  refuse("unknown opcode");
}

// ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {…}, [address]
std::string Translator::matrix(const Parts& parts, const Parts& a) {
  const bool load = parts.front() == "ldmatrix";
  if (parts.front() == "movmatrix" || !has(parts, "m8n8") || parts.back() != "b16")
    refuse("variant");
  const int count = has(parts, "x4") ? 4 : has(parts, "x2") ? 2 : 1;
  const Parts registers = elements(a.at(load ? 0 : 1));
  if (static_cast<int>(registers.size()) != count) refuse("register count");
  const std::string call =
      fmt::format("Call::{}_x{}{}", parts.front(), count, has(parts, "trans") ? "_trans" : "");
  const std::string row = fmt::format("t.shared + {}", raw_address(a.at(load ? 1 : 0)));
  std::string code = fmt::format("touch(t, last, Access::{}); {{ ", load ? "load" : "store");
  if (load) {
    code += fmt::format("u32 r_[{}]; ldmatrix(t, {}, r_, {}); ", count, call, row);
    for (int i = 0; i < count; ++i)
      code += assign(registers[static_cast<std::size_t>(i)], fmt::format("r_[{}]", i)) + " ";
    return code + "}";
  }
  std::string words;
  for (const std::string& name : registers) words += value(name, "u32") + ", ";
  return code + fmt::format("const u32 r_[{}] = {{{}}}; stmatrix(t, {}, r_, {}); }}", count, words,
                            call, row);
}

// mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 d, a, b, c
Translator::Multiplication Translator::multiplication(const Parts& parts, const Parts& a) {
  if (parts.size() != 10 && parts.size() != 9) refuse("variant");
  if (parts[1] != "sync" || !has(parts, "row") || !has(parts, "col")) refuse("variant");
  const std::size_t types = parts.size() - 4;
  const std::string &d = parts[types], &left = parts[types + 1], &right = parts[types + 2],
                    &c = parts[types + 3];
  if (left != right || d != c) refuse("mixed formats");
  struct Known {
    std::string_view shape, format, accumulator, call;
    std::size_t a;  // registers of A; B has half as many
  };
  static constexpr Known known[] = {
      {"m16n8k16", "f16", "f32", "f16", 4},       {"m16n8k16", "f16", "f16", "f16_f16", 4},
      {"m16n8k16", "bf16", "f32", "bf16", 4},     {"m16n8k8", "tf32", "f32", "tf32", 4},
      {"m16n8k32", "e4m3", "f32", "e4m3", 4},     {"m16n8k32", "e5m2", "f32", "e5m2", 4},
      {"m16n8k8", "f16", "f32", "f16_k8", 2},     {"m16n8k8", "f16", "f16", "f16_f16_k8", 2},
      {"m16n8k8", "bf16", "f32", "bf16_k8", 2},   {"m16n8k4", "tf32", "f32", "tf32_k4", 2},
      {"m16n8k16", "e4m3", "f32", "e4m3_k16", 2}, {"m16n8k16", "e5m2", "f32", "e5m2_k16", 2}};
  const auto* const one = std::find_if(std::begin(known), std::end(known), [&](const Known& k) {
    return has(parts, k.shape) && left == k.format && d == k.accumulator;
  });
  if (one == std::end(known)) refuse(fmt::format("mma of {} with {}", left, d));
  Multiplication made{fmt::format("Call::mma_{}", one->call), {}, {}, {}, {}, {}};
  const auto registers = [&](const std::string& operand, std::size_t count) {
    Parts all = elements(operand);
    if (all.size() != count) refuse("register count");
    return all;
  };
  const auto words = [&](const std::string& operand, std::size_t count, bool numbers = false) {
    Parts all;
    for (const std::string& name : registers(operand, count)) {
      const auto read = find_register(name);
      if (read) made.reads.push_back(read->name);
      all.push_back(numbers && !read ? fmt::format("B({})", value(name, "f32"))
                                     : value(name, "u32"));
    }
    return all;
  };
  const std::size_t accumulators = d == "f32" ? 4 : 2;
  made.a = words(a.at(1), one->a);
  made.b = words(a.at(2), one->a / 2);
  made.c = words(a.at(3), accumulators, d == "f32");
  for (const std::string& name : registers(a.at(0), accumulators)) {
    const auto found = find_register(name);
    if (name != "_" && (!found || found->bytes != 4)) refuse(fmt::format("destination {}", name));
    made.d.push_back(found ? found->name : "");
  }
  return made;
}

bool Translator::joins(const Multiplication& next) const {
  if (products_.empty()) return true;
  if (products_.size() == emulator::max_products || next.call != products_.front().call)
    return false;
  return std::none_of(products_.begin(), products_.end(), [&](const Multiplication& before) {
    return std::any_of(before.d.begin(), before.d.end(), [&](const std::string& name) {
      return std::find(next.reads.begin(), next.reads.end(), name) != next.reads.end();
    });
  });
}

// Returns code that stores this lane's operands of all products in the exchange, then reads the
// results.
std::string Translator::multiply(const std::vector<Multiplication>& products) {
  const Multiplication& first = products.front();
  std::string code = fmt::format(
      "{{ u32 *const a_ = t.exchange->a + {} * t.lane, *const b_ = t.exchange->b + {} * t.lane, "
      "*const c_ = t.exchange->c + {} * t.lane; ",
      first.a.size(), first.b.size(), first.c.size());
  const auto bring = [&](std::string_view to, const Parts& words, std::size_t matrix) {
    for (std::size_t i = 0; i < words.size(); ++i)
      code += fmt::format("{}[{}] = {}; ", to, emulator::warp_size * words.size() * matrix + i,
                          words[i]);
  };
  // Matrices that several products share are stored once.
  const auto brought = [&](std::string_view to, std::vector<Parts>& matrices, const Parts& words) {
    const auto found = std::find(matrices.begin(), matrices.end(), words);
    const auto at = static_cast<std::size_t>(found - matrices.begin());
    if (found == matrices.end()) {
      bring(to, words, at);
      matrices.push_back(words);
    }
    return at;
  };
  std::vector<Parts> all_a, all_b;
  std::string table;
  for (std::size_t i = 0; i < products.size(); ++i) {
    const std::size_t a = brought("a_", all_a, products[i].a);
    const std::size_t b = brought("b_", all_b, products[i].b);
    bring("c_", products[i].c, i);
    table += fmt::format("{{{}, {}}}, ", a, b);
  }
  code += fmt::format("static constexpr Product products_[] = {{{}}}; multiply(t, {}, products_); ",
                      table, first.call);
  for (std::size_t i = 0; i < products.size(); ++i) {
    const Parts& to = products[i].d;
    for (std::size_t j = 0; j < to.size(); ++j) {
      if (!to[j].empty())
        code += fmt::format("{} = c_[{}]; ", to[j], emulator::warp_size * to.size() * i + j);
    }
  }
  return code + "}";
}

void Translator::multiply_with_others(const Statement& s) {
  Multiplication next = multiplication(s.parts, s.operands);
  if (!joins(next)) finish_products();
  if (products_.empty()) products_line_ = s.line;
  products_.push_back(std::move(next));
}

void Translator::finish_products() {
  if (products_.empty()) return;
  body_.push_back(fmt::format("#line {}\n  {}", products_line_, multiply(products_)));
  products_.clear();
}

}  // namespace plumbline::ptx
