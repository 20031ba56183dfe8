// The translator of one kernel. Names and operands are in translate.cc, instructions in
// instructions_*.cc.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "emulator/ptx/contraction.h"
#include "emulator/ptx/translate.h"

namespace plumbline::ptx {

// The reason for refusing an instruction. Thrown during its translation, caught by
// Translator::instruction.
struct Refused {
  std::string reason;
};
[[noreturn]] void refuse(std::string reason);

class Translator {
 public:
  Translator(const Module&, const ModuleMemory&, const Function&, const Options&);
  Translation run();

 private:
  using Parts = std::vector<std::string>;
  struct Scope {
    std::map<std::string, Variable> registers;
    std::map<std::string, std::string> symbols;  // the C++ expression of each symbol's address
    std::map<std::string, std::string> labels;
    std::string suffix;
  };
  // A register by its C++ name.
  struct Register {
    std::string name;
    int bytes;  // 0: a predicate
  };

  // translate.cc
  void layout_parameters();
  void statement(const Statement&, std::size_t at);
  void declare(const Variable&);
  void open();
  void instruction(const Statement&, std::size_t at);
  std::string translated(const Statement&, std::size_t at);
  std::string refused(const Statement&, const std::string& reason);
  std::optional<Register> find_register(std::string_view name);
  std::string label(std::string_view name) const;
  std::optional<std::string> symbol(std::string_view name) const;

  // Operands. `type` is a PTX type, "u32"; the result is an expression of the corresponding C++
  // type.
  std::string value(std::string_view operand, std::string_view type);
  std::string register_value(const Register&, std::string_view type) const;
  std::optional<std::string> literal(std::string_view operand, std::string_view type) const;
  std::optional<std::string> special_register(std::string_view operand) const;
  std::string predicate(std::string_view operand);  // "%p1", "!%p1"
  std::string assign(std::string_view destination, std::string_view bits);
  // Returns the elements of "{%r1,%r2}", or the operand itself.
  static std::vector<std::string> elements(std::string_view operand);
  // Splits "%r1|%p1"; the second is empty if missing.
  static std::pair<std::string, std::string> two_results(std::string_view operand);

  // instructions_arithmetic.cc
  std::string meaning(std::string_view name, const Parts&, const Parts& operands);
  std::string by_formula(std::string_view code, const Parts&, const Parts& operands);
  std::string arithmetic(const Parts&, const Parts&);
  std::string float_arithmetic(const Parts&, const Parts&);
  std::string half_arithmetic(const Parts&, const Parts&);
  std::string with_carry(const Parts&, const Parts&);
  std::string special(const Parts&, const Parts&);
  std::string logic(const Parts&, const Parts&);
  std::string fused(const Contraction&);
  // instructions_convert.cc
  std::string convert(const Parts&, const Parts&);
  std::string pack_conversion(const Parts&, const Parts&);
  std::string move(const Parts&, const Parts&);
  std::string compare(const Parts&, const Parts&);
  std::string select(const Parts&, const Parts&);
  // instructions_memory.cc
  std::string memory(const Parts&, const Parts&);
  std::string address(std::string_view operand, std::string_view space, std::size_t bytes,
                      std::string_view access);
  std::string raw_address(std::string_view operand);
  std::string atomic(const Parts&, const Parts&);
  std::string async_copy(const Parts&, const Parts&);
  std::string address_space(const Parts&, const Parts&);
  // instructions_warp.cc
  std::string control(const Parts&, const Parts&);
  std::string barrier(const Parts&, const Parts&);
  std::string warp(const Parts&, const Parts&);
  std::string matrix(const Parts&, const Parts&);
  // An mma.sync: its call, the words that a lane contributes, and the registers that the lane reads
  // and writes, by C++ name.
  struct Multiplication {
    std::string call;
    Parts a, b, c, d, reads;
  };
  Multiplication multiplication(const Parts&, const Parts&);
  // Returns true if the mma.sync can be executed together with products_: if these have room for
  // one more, are the same instruction, and compute none of its operands.
  [[nodiscard]] bool joins(const Multiplication&) const;
  static std::string multiply(const std::vector<Multiplication>&);
  std::string multiply_alone(const Parts& parts, const Parts& operands) {
    return multiply({multiplication(parts, operands)});
  }
  // Collects consecutive mma.sync without a guard in products_.
  void multiply_with_others(const Statement&);
  void finish_products();

  const Module& module_;
  const ModuleMemory& memory_;
  const Function& function_;
  const Contractions contractions_;
  Translation made_;
  std::vector<Scope> scopes_;
  std::map<std::string, int> declared_;  // C++ name and bytes of each register
  std::vector<std::string> body_;
  std::vector<Multiplication> products_;
  int products_line_ = 0;  // of the first product
  std::size_t local_bytes_ = 0;
  int scope_count_ = 0;
  std::pair<int, int> location_{0, 0};
};

bool has(const std::vector<std::string>& parts, std::string_view part);
bool is_float(std::string_view type);
bool is_integer(std::string_view type);  // u, s, b
bool is_signed(std::string_view type);
// Returns the C++ type: "u32" for b32 and u32, "bool" for pred.
std::string cpp_type(std::string_view type);
std::string unsigned_type(std::string_view type);  // of the same size
std::string identifier(std::string_view name);

}  // namespace plumbline::ptx
