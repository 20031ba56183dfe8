// ld, st, atom, red, cp.async, cvta. Chapter 9.7.9 of the PTX ISA. Cache hints are ignored.
#include <fmt/format.h>

#include <array>

#include "emulator/ptx/translator.h"

namespace plumbline::ptx {
namespace {

// Returns the state space; "shared::cta" is "shared".
std::string space_of(const std::vector<std::string>& parts) {
  for (const std::string& part : parts) {
    const std::string base = part.substr(0, part.find("::"));
    if (base == "shared" && part == "shared::cluster") refuse("shared memory of a cluster");
    if (base == "global" || base == "shared" || base == "local" || base == "param" ||
        base == "const") {
      return base;
    }
  }
  return {};
}

}  // namespace

// Returns C++ for an operand such as "[%rd1+8]": the offset in shared or local memory, otherwise
// the address.
std::string Translator::raw_address(std::string_view operand) {
  if (!operand.starts_with('[') || !operand.ends_with(']'))
    refuse(fmt::format("address {}", operand));
  operand = operand.substr(1, operand.size() - 2);
  std::string_view base = operand, offset = "0";
  if (const std::size_t plus = operand.find('+'); plus != std::string_view::npos) {
    base = operand.substr(0, plus);
    offset = operand.substr(plus + 1);
  }
  if (base.empty()) refuse("address");
  const std::optional<Register> in = find_register(base);
  const std::string start =
      in ? register_value(*in, in->bytes == 8 ? "u64" : "u32") : value(base, "u64");
  if (offset == "0") return fmt::format("u64({})", start);
  return fmt::format("(u64({}) + u64(s64({})))", start, offset);
}

// Returns C++ that checks and computes the address of `bytes` bytes. `access`: "load" or "store".
std::string Translator::address(std::string_view operand, std::string_view space, std::size_t bytes,
                                std::string_view access) {
  const std::string raw = raw_address(operand);
  if (space == "shared") return fmt::format("shared<{}>(t, {})", bytes, raw);
  if (space == "param") return raw;
  if (space == "local") return fmt::format("in_local<{}>(t, {}, local, local_bytes)", bytes, raw);
  if (space == "global" || space == "const")
    return fmt::format("global<{}>(t, t.sites[{}], {})", bytes, made_.sites++, raw);
  if (!space.empty()) refuse(fmt::format("space {}", space));
  return fmt::format("generic<{}>(t, t.sites[{}], {}, local, local_bytes, last, Access::{})", bytes,
                     made_.sites++, raw, access);
}

// ld.global.nc.L1::no_allocate.v4.f32 {…}, [address]; st.shared.v2.b32 [address], {…}
std::string Translator::memory(const Parts& parts, const Parts& a) {
  const bool load = parts.front() != "st";
  const std::string& type = parts.back();
  if (has(parts, "async")) refuse("asynchronous stores");
  const int bytes = bytes_of(type);
  if (bytes <= 0) refuse(fmt::format("type {}", type));
  if (bytes == 16) refuse("b128");
  if (has(parts, "v8")) refuse("v8");
  const std::string space = space_of(parts);
  const Parts values = elements(a.at(load ? 0 : 1));
  const std::size_t count = has(parts, "v2") ? 2 : has(parts, "v4") ? 4 : 1;
  if (values.size() != count) refuse(fmt::format("{} elements", values.size()));
  const std::string bits = fmt::format("b{}", 8 * bytes);
  std::string code;
  if (space == "shared")
    code = fmt::format("touch(t, last, Access::{}); ", load ? "load" : "store");
  code += fmt::format("{{ const u64 at_ = {}; ",
                      address(a.at(load ? 1 : 0), space, count * static_cast<std::size_t>(bytes),
                              load ? "load" : "store"));
  for (std::size_t i = 0; i < count; ++i) {
    const std::string at = fmt::format("at_ + {}", i * static_cast<std::size_t>(bytes));
    if (!load) {
      const std::string stored =
          is_float(type) ? fmt::format("B({})", value(values[i], type)) : value(values[i], bits);
      code += fmt::format("store<u{}>({}, {}); ", 8 * bytes, at, stored);
    } else if (values[i] != "_") {
      // A narrow load is extended to its register, with the sign if the type has one.
      code += assign(values[i],
                     fmt::format("load<{}>({})",
                                 is_integer(type) ? cpp_type(type) : fmt::format("u{}", 8 * bytes),
                                 at)) +
              " ";
    }
  }
  return code + "}";
}

std::string Translator::atomic(const Parts& parts, const Parts& a) {
  const bool answers = parts.front() == "atom";
  const std::string& type = parts.back();
  const std::string space = space_of(parts);
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 10> changes{{
      {"add", "x + v_"},
      {"min", "x < v_ ? x : v_"},
      {"max", "x > v_ ? x : v_"},
      {"exch", "v_"},
      {"cas", "x == v_ ? w_ : x"},
      {"and", "x & v_"},
      {"or", "x | v_"},
      {"xor", "x ^ v_"},
      {"inc", "x >= v_ ? 0 : x + 1"},
      {"dec", "x == 0 || x > v_ ? v_ : x - 1"},
  }};
  std::string_view change;
  bool compares = false;
  for (const auto& [name, formula] : changes) {
    if (!has(parts, name)) continue;
    change = formula;
    compares = name == "cas";
  }
  if (change.empty()) refuse("this change");
  if (has(parts, "v2") || has(parts, "v4")) refuse("vectors");
  const bool floating = is_float(type);
  if (!floating && !is_integer(type)) refuse(fmt::format("type {}", type));
  if (bytes_of(type) != 4 && bytes_of(type) != 8) refuse(fmt::format("type {}", type));
  const std::string own = cpp_type(type);
  const std::size_t first = answers ? 1 : 0;
  std::string code = space == "shared" ? "touch(t, last, Access::store); " : "";
  code += fmt::format("{{ const {} v_ = {}; ", own, value(a.at(first + 1), type));
  if (compares) code += fmt::format("const {} w_ = {}; ", own, value(a.at(first + 2), type));
  code += fmt::format(
      "[[maybe_unused]] const auto before_ = atomically<{}>({}, [&]({} x) -> {} {{ return {}; "
      "}}); ",
      own, address(a.at(first), space, static_cast<std::size_t>(bytes_of(type)), "store"), own, own,
      change);
  if (answers) code += assign(a.at(0), floating ? "B(before_)" : "before_");
  return code + " }";
}

// cp.async.cg.shared.global [shared], [global], 16, source_bytes;
std::string Translator::async_copy(const Parts& parts, const Parts& a) {
  if (parts.size() < 3 || parts[1] != "async") refuse("unknown opcode");
  if (parts[2] == "commit_group") return "t.machine->cp_async_commit();";
  if (parts[2] == "wait_group")
    return fmt::format("t.machine->cp_async_wait({}, Where::current());", value(a.at(0), "s32"));
  if (parts[2] == "wait_all")
    return "t.machine->cp_async_commit(); t.machine->cp_async_wait(0, Where::current());";
  if (parts[2] != "ca" && parts[2] != "cg") refuse("this copy");
  const bool hint = has(parts, "L2::cache_hint");
  const std::size_t given = a.size() - (hint ? 1 : 0);
  if (given != 3 && given != 4) refuse("operands");
  std::string source = fmt::format("u32({})", a.at(2));
  if (given == 4) {
    const auto in = find_register(a.at(3));
    // a true predicate reads nothing
    source = in && in->bytes == 0 ? fmt::format("({} ? 0U : u32({}))", in->name, a.at(2))
                                  : value(a.at(3), "u32");
  }
  return fmt::format(
      "{{ const u32 bytes_ = {}, source_ = {}; u64 from_ = {}; "
      "if (source_ != 0) from_ = global<{}>(t, t.sites[{}], from_); "
      "t.machine->cp_async(shared<{}>(t, {}), from_, bytes_, source_, Where::current()); }}",
      a.at(2), source, raw_address(a.at(1)), a.at(2), made_.sites++, a.at(2), raw_address(a.at(0)));
}

std::string Translator::address_space(const Parts& parts, const Parts& a) {
  const std::string& name = parts.front();
  if (name == "createpolicy") return assign(a.at(0), "u64{0}");
  const std::string space = space_of(parts);
  if (space.empty()) refuse("space");
  if (name == "isspacep") {
    const std::string at = value(a.at(1), "u64");
    if (space == "shared")
      return assign(a.at(0), fmt::format("{} - t.shared < t.shared_bytes", at));
    const std::string local = fmt::format("{} - reinterpret_cast<u64>(local) < local_bytes", at);
    if (space == "local") return assign(a.at(0), local);
    if (space != "global") refuse(fmt::format("space {}", space));
    return assign(a.at(0), fmt::format("!({} - t.shared < t.shared_bytes) && !({})", at, local));
  }
  const std::string type = parts.back();
  std::string at = value(a.at(1), type);
  // As in LLVM, addresses in shared and local memory are offsets, so that they fit in 32 bits;
  // other addresses are the process's own.
  const char* const sign = has(parts, "to") ? "-" : "+";
  if (space == "shared") at = fmt::format("{} {} t.shared", at, sign);
  if (space == "local") at = fmt::format("{} {} reinterpret_cast<u64>(local)", at, sign);
  return assign(a.at(0), at);
}

}  // namespace plumbline::ptx
