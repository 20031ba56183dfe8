// Branches, barriers, what a warp does together, and matrix instructions. Chapters 9.7.12 to
// 9.7.14 of the PTX ISA.
#include <fmt/format.h>

#include "kernels/ptx/translator.h"

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
  return ";";  // prefetches, hints, and griddepcontrol: launches follow each other here
}

std::string Translator::barrier(const Parts& parts, const Parts& a) {
  if (has(parts, "warp"))
    return fmt::format("t.machine->sync_warp({}, Where::current());", value(a.at(0), "u32"));
  if (has(parts, "cluster")) refuse("barriers of a cluster");
  if (has(parts, "red")) refuse("barriers with a reduction");
  const std::string id = value(a.at(0), "s32");
  if (a.size() == 1) {
    if (has(parts, "arrive")) refuse("an arrival without a count");
    if (a.at(0) == "0") return "t.machine->sync_threads(Where::current());";
    return fmt::format(
        "t.machine->barrier({}, s32(t.ntid.x * t.ntid.y * t.ntid.z), Where::current());", id);
  }
  return fmt::format("t.machine->barrier{}({}, {}, Where::current());",
                     has(parts, "arrive") ? "_arrive" : "", id, value(a.at(1), "s32"));
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
    const std::string votes =
        fmt::format("t.machine->ballot({}, {}, Where::current())", u(2), predicate(a.at(1)));
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
    return fmt::format(
        "{{ const u32 lanes_ = t.machine->match_{}({}, {}, Where::current()); {}{} }}",
        has(parts, "all") ? "all" : "any", u(2), bits, assign(mask_to, "lanes_"),
        all_to.empty() ? "" : " " + assign(all_to, "lanes_ != 0"));
  }
  if (name == "redux") {
    const std::string& type = parts.back();
    std::string operation = parts.at(2);
    if (type != "u32" && type != "s32" && type != "b32") refuse(fmt::format("redux of {}", type));
    if (operation == "min" || operation == "max") operation += "_" + type;
    if (operation == "and" || operation == "or" || operation == "xor") operation += "_";
    return assign(a.at(0), fmt::format("t.machine->redux(Redux::{}, {}, {}, Where::current())",
                                       operation, u(2), u(1)));
  }
  refuse("unknown opcode");
}

// ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {…}, [address]
std::string Translator::matrix(const Parts& parts, const Parts& a) {
  const bool load = parts.front() == "ldmatrix";
  if (parts.front() == "movmatrix" || !has(parts, "m8n8") || parts.back() != "b16") refuse("shape");
  const int count = has(parts, "x4") ? 4 : has(parts, "x2") ? 2 : 1;
  const Parts registers = elements(a.at(load ? 0 : 1));
  if (static_cast<int>(registers.size()) != count) refuse("registers");
  // Not held against shared memory here: lanes beyond the matrices name no row.
  const std::string row = fmt::format("t.shared + {}", raw_address(a.at(load ? 1 : 0)));
  const std::string_view transposed = has(parts, "trans") ? "true" : "false";
  std::string code = fmt::format("touch(t, last, Access::{}); {{ ", load ? "load" : "store");
  if (load) {
    code += fmt::format("u32 r_[4]; t.machine->ldmatrix({}, {}, r_, {}, Where::current()); ", count,
                        transposed, row);
    for (int i = 0; i < count; ++i)
      code += assign(registers[static_cast<std::size_t>(i)], fmt::format("r_[{}]", i)) + " ";
    return code + "}";
  }
  std::string words;
  for (const std::string& name : registers) words += value(name, "u32") + ", ";
  return code +
         fmt::format(
             "const u32 r_[4] = {{{}}}; t.machine->stmatrix({}, {}, r_, {}, Where::current()); }}",
             words, count, transposed, row);
}

// mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 d, a, b, c
std::string Translator::multiply(const Parts& parts, const Parts& a) {
  if (parts.size() != 10 && parts.size() != 9) refuse("variant");
  if (parts[1] != "sync" || !has(parts, "row") || !has(parts, "col")) refuse("variant");
  const std::size_t types = parts.size() - 4;
  const std::string &d = parts[types], &left = parts[types + 1], &right = parts[types + 2],
                    &c = parts[types + 3];
  if (left != right || d != c) refuse("mixed formats");
  struct Known {
    std::string_view shape, format, accumulator, name;
  };
  static constexpr Known known[] = {
      {"m16n8k16", "f16", "f32", "f16_k16"},   {"m16n8k16", "f16", "f16", "f16_f16_k16"},
      {"m16n8k16", "bf16", "f32", "bf16_k16"}, {"m16n8k8", "tf32", "f32", "tf32_k8"},
      {"m16n8k32", "e4m3", "f32", "e4m3_k32"}, {"m16n8k32", "e5m2", "f32", "e5m2_k32"},
      {"m16n8k8", "f16", "f32", "f16_k8"},     {"m16n8k8", "f16", "f16", "f16_f16_k8"},
      {"m16n8k8", "bf16", "f32", "bf16_k8"},   {"m16n8k4", "tf32", "f32", "tf32_k4"},
      {"m16n8k16", "e4m3", "f32", "e4m3_k16"}, {"m16n8k16", "e5m2", "f32", "e5m2_k16"}};
  for (const Known& one : known) {
    if (!has(parts, one.shape) || left != one.format || d != one.accumulator) continue;
    const auto words = [&](const std::string& operand, std::string_view type) {
      std::string all;
      for (const std::string& name : elements(operand))
        all +=
            (type == "f32" ? fmt::format("B({})", value(name, "f32")) : value(name, "u32")) + ", ";
      return all;
    };
    const Parts to = elements(a.at(0));
    std::string code = fmt::format(
        "{{ u32 d_[4] = {{{}}}; const u32 a_[4] = {{{}}}, b_[2] = {{{}}}; "
        "t.machine->mma(Mma::{}, a_, b_, d_, Where::current()); ",
        words(a.at(3), d), words(a.at(1), "b32"), words(a.at(2), "b32"), one.name);
    for (std::size_t i = 0; i < to.size(); ++i)
      code += assign(to[i], fmt::format("d_[{}]", i)) + " ";
    return code + "}";
  }
  refuse(fmt::format("mma of {} with {}", left, d));
}

}  // namespace plumbline::ptx
