// Finds products that are used only in sums, and fuses at most one into each sum.
#include "emulator/ptx/contraction.h"

#include <algorithm>
#include <cctype>
#include <utility>
#include <vector>

#include "emulator/ptx/translator.h"

namespace plumbline::ptx {
namespace {

// Returns true for name.f32 and name.ftz.f32, which state no rounding. With `may_saturate`, also
// returns true if they have .sat.
bool is_plain(const Statement& s, bool may_saturate) {
  for (std::size_t i = 1; i + 1 < s.parts.size(); ++i)
    if (s.parts[i] != "ftz" && !(may_saturate && s.parts[i] == "sat")) return false;
  return s.parts.back() == "f32";
}
bool is_product(const Statement& s) {
  return s.parts.front() == "mul" && is_plain(s, false) && s.operands.size() == 3;
}
bool is_sum(const Statement& s) {
  return (s.parts.front() == "add" || s.parts.front() == "sub") && is_plain(s, true) &&
         s.operands.size() == 3 && s.operands[1] != s.operands[2];
}
// Returns true if the result is the operand or its negative.
bool is_alias(const Statement& s) {
  return ((s.parts.front() == "neg" && is_plain(s, false)) || s.opcode == "mov.f32" ||
          s.opcode == "mov.b32") &&
         s.operands.size() == 2;
}
bool has_zero(const Statement& s) {
  return std::any_of(s.operands.begin(), s.operands.end(), [](const std::string& operand) {
    return operand == "0f00000000" || operand == "0f80000000";
  });
}

// Returns true if the instruction writes its first operand.
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

// Follows ptxas 13.0 as far as small kernels show its choice (tests/ptx/test_contraction.cc). Sums
// are visited in the order of the text; each takes a product whose remaining uses are all sums.
class Finder {
 public:
  explicit Finder(const Function& function) : body_(function.body) {}

  Contractions run() {
    for (std::size_t at = 0; at < body_.size(); ++at) read(at);
    for (std::size_t at = 0; at < body_.size(); ++at)
      if (blocks_[at] >= 0 && is_product(body_[at])) add_product(at);
    for (const std::size_t at : sums_) fuse(at);
    for (const auto& [at, product] : products_) {
      if (!product.fused || !product.sums.empty() || product.other_uses) continue;
      found_.products.insert(at);
      found_.products.insert(product.aliases.begin(), product.aliases.end());
    }
    return found_;
  }

 private:
  struct Product {
    std::set<std::size_t> sums;        // sums that use it and are not fused
    std::vector<std::size_t> aliases;  // statements that only rename it
    bool other_uses = false, fused = false;
  };
  struct Term {
    std::size_t product;
    bool negative;
  };

  void read(std::size_t at) {
    const Statement& s = body_[at];
    blocks_.push_back(-1);
    if (s.kind == Statement::Kind::label) ++block_;
    if (s.kind != Statement::Kind::instruction) return;
    blocks_.back() = block_;
    if (s.parts.front() == "bra") ++block_;
    const bool writer = writes(s);
    for (std::size_t i = writer ? 1 : 0; i < s.operands.size(); ++i)
      registers_in(s.operands[i], [&](const std::string& name) { uses_[name].push_back(at); });
    if (writer && !s.operands.empty())
      registers_in(s.operands[0], [&](const std::string& name) { writes_[name].push_back(at); });
    if (is_sum(s)) sums_.push_back(at);
  }

  void add_product(std::size_t at) {
    if (!body_[at].guard.empty() || writes_[body_[at].operands[0]].size() != 1) return;
    Product product;
    follow(body_[at].operands[0], false, at, product);
    products_.emplace(at, std::move(product));
  }

  // Collects the uses of the register `name`, which holds the product or its negative.
  void follow(const std::string& name, bool negative, std::size_t at, Product& product) {
    terms_[name] = {at, negative};
    for (const std::size_t use : uses_[name]) {
      const Statement& s = body_[use];
      if (is_sum(s) && has(s.parts, "ftz") == has(body_[at].parts, "ftz") &&
          is_unchanged_at(body_[at].operands[1], at, use) &&
          is_unchanged_at(body_[at].operands[2], at, use)) {
        product.sums.insert(use);
      } else if (is_alias(s) && s.guard.empty() && writes_[s.operands[0]].size() == 1 &&
                 has(s.parts, "ftz") <= has(body_[at].parts, "ftz")) {
        product.aliases.push_back(use);
        follow(s.operands[0], negative != (s.parts.front() == "neg"), at, product);
      } else {
        product.other_uses = true;
      }
    }
  }

  // Returns true if a factor still has at `use` the value that the product read. This holds for
  // registers written once, because the product is computed before each of its uses.
  [[nodiscard]] bool is_unchanged_at(const std::string& name, std::size_t product,
                                     std::size_t use) const {
    const auto found = writes_.find(name);
    if (found == writes_.end() || found->second.size() == 1) return true;
    const auto next = std::upper_bound(found->second.begin(), found->second.end(), product);
    return blocks_[product] == blocks_[use] && product < use &&
           (next == found->second.end() || *next >= use);
  }

  // Returns nullptr if the operand is not a product that can be fused into this sum.
  Product* candidate(const std::string& operand, std::size_t sum) {
    const auto term = terms_.find(operand);
    if (term == terms_.end()) return nullptr;
    Product& product = products_.at(term->second.product);
    return !product.other_uses && product.sums.contains(sum) ? &product : nullptr;
  }

  void fuse(std::size_t at) {
    const Statement& sum = body_[at];
    Product* const left = candidate(sum.operands[1], at);
    Product* const right = candidate(sum.operands[2], at);
    if (left == right) return;  // no product, or one product twice
    // Prefer the product with fewer remaining sums; if equal, the left one.
    const bool first =
        left != nullptr && (right == nullptr || left->sums.size() <= right->sums.size());
    Product& chosen = first ? *left : *right;
    chosen.sums.erase(at);
    chosen.fused = true;
    if (Product* const other = first ? right : left) other->other_uses = true;
    const Term& term = terms_.at(sum.operands[first ? 1 : 2]);
    const Statement& of = body_[term.product];
    const bool difference = sum.parts.front() == "sub";
    found_.sums[at] = {sum.operands[0],
                       of.operands[1],
                       of.operands[2],
                       sum.operands[first ? 2 : 1],
                       term.negative != (difference && !first),
                       difference && first,
                       has(sum.parts, "ftz"),
                       has(sum.parts, "sat")};
  }

  const std::vector<Statement>& body_;
  std::vector<int> blocks_;  // block of each statement; -1: not an instruction
  std::map<std::string, std::vector<std::size_t>> writes_, uses_;
  std::vector<std::size_t> sums_;
  std::map<std::size_t, Product> products_;  // by statement
  std::map<std::string, Term> terms_;        // by register
  Contractions found_;
  int block_ = 0;
};

bool calls(const Function& caller, const Function& other) {
  return std::any_of(caller.body.begin(), caller.body.end(), [&](const Statement& s) {
    return s.kind == Statement::Kind::instruction && s.parts.front() == "call" &&
           std::find(s.operands.begin(), s.operands.end(), other.name) != s.operands.end();
  });
}

void add_counts(const Function& function, bool contract, FloatCounts& counts) {
  const Contractions found = contract ? find_contractions(function) : Contractions{};
  for (std::size_t at = 0; at < function.body.size(); ++at) {
    const Statement& s = function.body[at];
    if (s.kind != Statement::Kind::instruction || s.parts.back() != "f32" ||
        found.products.contains(at)) {
      continue;
    }
    const std::string& name = s.parts.front();
    if (found.sums.contains(at)) ++counts.contracted;
    if (found.sums.contains(at) || name == "fma" || name == "mad") {
      ++counts.fma;
    } else if (name == "add" || name == "sub") {
      ++(has_zero(s) ? counts.plus_zero : counts.add);
    } else if (name == "mul") {
      ++counts.mul;
    }
  }
}

}  // namespace

Contractions find_contractions(const Function& function) { return Finder(function).run(); }

FloatCounts count_floats(const Module& module, const Function& entry, bool contract) {
  FloatCounts counts;
  std::vector<const Function*> reached{&entry};
  for (std::size_t i = 0; i < reached.size(); ++i) {
    add_counts(*reached[i], contract, counts);
    for (const Function& other : module.functions) {
      if (calls(*reached[i], other) &&
          std::find(reached.begin(), reached.end(), &other) == reached.end()) {
        reached.push_back(&other);
      }
    }
  }
  return counts;
}

}  // namespace plumbline::ptx
