// Fuzz target: PTX is read with the line of every statement, or refused with a line. Statements
// that cannot be translated are listed with their line.
#include <algorithm>

#include "emulator/ptx/translate.h"
#include "tests/fuzz/target.h"

namespace plumbline::fuzz {

void ptx(std::string_view input) {
  const auto lines = static_cast<int>(std::count(input.begin(), input.end(), '\n')) + 1;
  const auto within = [&](int line) { return line >= 1 && line <= lines; };
  const auto module = plumbline::ptx::parse(input);
  if (!module) {
    require(within(module.error().line) && !module.error().text.empty(),
            "an error names its line and says what is wrong");
    return;
  }
  for (const plumbline::ptx::Function& function : module->functions) {
    for (const plumbline::ptx::Statement& statement : function.body)
      require(within(statement.line), "a statement has a line of the text");
    if (!function.entry || function.external) continue;
    const auto made = plumbline::ptx::translate(*module, function, {});
    if (!made) {
      require(within(made.error().line) && !made.error().text.empty(),
              "a kernel that is refused says why");
      continue;
    }
    for (const plumbline::ptx::Refusal& refusal : made->refused)
      require(within(refusal.line) && !refusal.opcode.empty() && !refusal.reason.empty(),
              "an instruction that is refused has its line, opcode and reason");
  }
}

}  // namespace plumbline::fuzz
