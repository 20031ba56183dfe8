// Counts the uses of each register, then looks for products whose one use is a sum of their block.
#include "kernels/ptx/contract.h"

#include <algorithm>
#include <cctype>
#include <utility>
#include <vector>

namespace plumbline::ptx {
namespace {

bool is_product(const Statement& s) { return s.opcode == "mul.f32" || s.opcode == "mul.ftz.f32"; }
bool is_sum(const Statement& s) {
  return s.opcode == "add.f32" || s.opcode == "add.ftz.f32" || s.opcode == "sub.f32" ||
         s.opcode == "sub.ftz.f32";
}
bool flushes(const Statement& s) { return s.parts.size() > 1 && s.parts[1] == "ftz"; }

// The first operand is what the instruction writes.
bool writes(const Statement& s) {
  const std::string& name = s.parts.front();
  return name != "st" && name != "bra" && name != "red" && name != "bar" && name != "barrier" &&
         name != "stmatrix" && name != "cp" && name != "prefetch" && name != "call";
}

template <class Use>
void registers_in(const std::string& operand, const Use& use) {
  for (std::size_t at = operand.find('%'); at != std::string::npos; at = operand.find('%', at)) {
    std::size_t end = at + 1;
    while (end < operand.size() && (std::isalnum(static_cast<unsigned char>(operand[end])) != 0 ||
                                    operand[end] == '_' || operand[end] == '$')) {
      ++end;
    }
    use(operand.substr(at, end - at));
    at = end;
  }
}

struct Product {
  std::size_t statement;
  int block;
};

class Finder {
 public:
  explicit Finder(const Function& function) : body_(function.body) {}

  Contractions run() {
    for (std::size_t at = 0; at < body_.size(); ++at) count(at);
    for (const auto& [at, block] : sums_) fuse(at, block);
    return found_;
  }

 private:
  void count(std::size_t at) {
    const Statement& s = body_[at];
    if (s.kind == Statement::Kind::label) ++block_;
    if (s.kind != Statement::Kind::instruction) return;
    if (!s.guard.empty()) ++uses_[s.guard];
    const bool writer = writes(s);
    for (std::size_t i = writer ? 1 : 0; i < s.operands.size(); ++i)
      registers_in(s.operands[i], [&](const std::string& name) { ++uses_[name]; });
    if (writer && !s.operands.empty()) {
      registers_in(s.operands[0], [&](const std::string& name) {
        products_.erase(name);
        writes_[name].push_back(at);
      });
      if (is_product(s) && s.guard.empty()) products_[s.operands[0]] = {at, block_};
    }
    if (is_sum(s) && s.guard.empty()) sums_.emplace_back(at, block_);
    if (s.parts.front() == "bra") ++block_;
  }

  void fuse(std::size_t at, int block) {
    const Statement& sum = body_[at];
    if (sum.operands.size() != 3) return;
    for (const std::size_t side : {1U, 2U}) {
      const auto product = products_.find(sum.operands[side]);
      if (product == products_.end() || uses_[product->first] != 1 ||
          product->second.block != block || product->second.statement > at) {
        continue;
      }
      const Statement& of = body_[product->second.statement];
      if (flushes(of) != flushes(sum) || of.operands.size() != 3) continue;
      if (written_between(of.operands[1], product->second.statement, at) ||
          written_between(of.operands[2], product->second.statement, at)) {
        continue;
      }
      const bool difference = sum.parts.front() == "sub";
      found_.sums[at] = {
          sum.operands[0],         of.operands[1],          of.operands[2], sum.operands[3 - side],
          difference && side == 2, difference && side == 1, flushes(sum)};
      found_.products.insert(product->second.statement);
      return;
    }
  }

  [[nodiscard]] bool written_between(const std::string& name, std::size_t begin,
                                     std::size_t end) const {
    const auto found = writes_.find(name);
    if (found == writes_.end()) return false;
    const auto next = std::upper_bound(found->second.begin(), found->second.end(), begin);
    return next != found->second.end() && *next < end;
  }

  const std::vector<Statement>& body_;
  std::map<std::string, std::vector<std::size_t>> writes_;
  Contractions found_;
  std::map<std::string, int> uses_;
  std::map<std::string, Product> products_;
  std::vector<std::pair<std::size_t, int>> sums_;
  int block_ = 0;
};

}  // namespace

Contractions find_contractions(const Function& function) { return Finder(function).run(); }

}  // namespace plumbline::ptx
