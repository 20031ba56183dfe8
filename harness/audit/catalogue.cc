#include "harness/audit/catalogue.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>

#include "harness/measure/outcome.h"
#include "harness/problem/table_reader.h"

namespace plumbline {
namespace {

constexpr std::array<std::string_view, 7> file_keys{"schema", "provider", "correct", "claims", "mutant", "breaker", "legal"};
constexpr std::array<std::string_view, 7> mutant_keys{"name", "class", "what", "zoo", "diagnosis", "needs", "modes"};

std::string_view name_within(std::string_view kernel) { return kernel.substr(kernel.find('/') + 1); }

// Whether some provider of the family has a kernel of this name.
bool offers(const std::vector<OfferedKernel>& offered, const Catalogue& catalogue, std::string_view name) {
  return std::any_of(offered.begin(), offered.end(),
                     [&](const OfferedKernel& k) { return catalogue.owns(k.name) && name_within(k.name) == name; });
}

std::vector<std::string> read_diagnosis(const ConfigNode& table, TableReader& reader) {
  std::vector<std::string> expected;
  const ConfigNode* node = table.find("diagnosis");
  if (node != nullptr && node->kind == ConfigNode::Kind::array) {
    for (const ConfigNode* item : reader.texts("diagnosis")) expected.push_back(item->text);
  } else {
    expected.push_back(reader.text("diagnosis"));
  }
  std::erase_if(expected, [](const std::string& kind) { return kind.empty() || kind == "none"; });
  return expected;
}

Mutant read_mutant(const ConfigNode& table, const Catalogue& catalogue, const std::vector<OfferedKernel>& offered, Errors& errors) {
  reject_unknown_keys(table, mutant_keys, errors);
  TableReader reader(table, errors);
  Mutant mutant;
  mutant.name = reader.plain_name("name");
  mutant.bug_class = reader.text("class", true);
  mutant.what = reader.text("what", true);
  mutant.diagnosis = read_diagnosis(table, reader);
  for (const ConfigNode* mode : reader.texts("modes")) mutant.modes.push_back(mode->text);
  if (mutant.name.empty()) return mutant;
  const std::string with_class = mutant.bug_class + "_" + mutant.name;
  if (!offers(offered, catalogue, mutant.name) && !offers(offered, catalogue, with_class)) {
    errors.push_back(
        table.error(fmt::format("no loaded provider has a kernel {0}/{1} or {0}/{2}", catalogue.provider, mutant.name, with_class),
                    "name the provider's library with --provider, or correct the name"));
  }
  if (!offers(offered, catalogue, mutant.name)) mutant.name = with_class;
  return mutant;
}

Breaker read_breaker(const ConfigNode& table, const Catalogue& catalogue, const std::vector<OfferedKernel>& offered, Errors& errors) {
  reject_unknown_keys(table, std::array<std::string_view, 4>{"name", "breaks", "what", "zoo"}, errors);
  TableReader reader(table, errors);
  Breaker breaker{reader.plain_name("name"), reader.text("breaks", true), reader.text("what", true)};
  if (!breaker.name.empty() && !offers(offered, catalogue, breaker.name)) {
    errors.push_back(table.error(fmt::format("no loaded provider has a kernel {}/{}", catalogue.provider, breaker.name)));
  }
  if (!breaker.breaks.empty() && std::find(invariance_names.begin(), invariance_names.end(), breaker.breaks) == invariance_names.end()) {
    errors.push_back(table.error(fmt::format("there is no invariance \"{}\"", breaker.breaks),
                                 fmt::format("one of {}", fmt::join(invariance_names, ", "))));
  }
  return breaker;
}

void read_claims(const ConfigNode& file, TableReader& reader, Catalogue& catalogue, Errors& errors) {
  std::set<std::string> classes;
  for (const Mutant& mutant : catalogue.mutants) classes.insert(mutant.bug_class);
  if (file.find("claims") == nullptr) {
    catalogue.claims.assign(classes.begin(), classes.end());
    return;
  }
  for (const ConfigNode* claim : reader.texts("claims")) {
    catalogue.claims.push_back(claim->text);
    if (classes.contains(claim->text)) continue;
    errors.push_back(claim->error(fmt::format("no mutant is of class \"{}\"", claim->text), "remove the claim, or add a mutant"));
  }
}

// Names of the [[legal]] tables; each must be offered.
std::set<std::string, std::less<>> read_legal(const Catalogue& catalogue, const std::vector<OfferedKernel>& offered, TableReader& reader,
                                              Errors& errors) {
  std::set<std::string, std::less<>> names;
  for (const ConfigNode* table : reader.tables("legal")) {
    reject_unknown_keys(*table, std::array<std::string_view, 2>{"name", "what"}, errors);
    TableReader of_table(*table, errors);
    const std::string name = of_table.plain_name("name");
    of_table.text("what", true);
    if (!name.empty() && !offers(offered, catalogue, name)) {
      errors.push_back(table->error(fmt::format("no loaded provider has a kernel {}/{}", catalogue.provider, name)));
    }
    names.insert(name);
  }
  return names;
}

// The family's kernels that are no mutants: each has to say, here or by its name, that it is legal.
void check_legal(const ConfigNode& file, const std::vector<OfferedKernel>& offered, TableReader& reader, Catalogue& catalogue,
                 Errors& errors) {
  const auto legal = read_legal(catalogue, offered, reader, errors);
  for (const char* name : {"correct", "legal_baseline"}) {
    if (catalogue.correct.empty() && offers(offered, catalogue, name)) catalogue.correct = name;
  }
  if (catalogue.correct.empty() || !offers(offered, catalogue, catalogue.correct)) {
    errors.push_back(file.error(fmt::format("the provider {} has no correct kernel to compare with", catalogue.provider),
                                "name it: correct = \"…\", or call it correct or legal_baseline"));
  }
  std::vector<std::string> unknown;
  for (const OfferedKernel& kernel : offered) {
    if (!catalogue.owns(kernel.name) || catalogue.find(kernel.name) != nullptr || catalogue.is_breaker(kernel.name)) continue;
    const std::string_view name = name_within(kernel.name);
    if (name != catalogue.correct && !name.starts_with("legal_") && !legal.contains(name)) unknown.push_back(kernel.name);
  }
  if (unknown.empty()) return;
  errors.push_back(file.error(fmt::format("neither mutants nor legal: {}", fmt::join(unknown, ", ")),
                              "add a [[mutant]], [[breaker]] or [[legal]] for each"));
}

}  // namespace

bool Catalogue::owns(std::string_view kernel) const {
  const std::string_view owner = kernel.substr(0, kernel.find('/'));
  return owner == provider || owner.starts_with(provider + "_");
}

std::string Catalogue::correct_of(std::string_view kernel) const { return std::string(kernel.substr(0, kernel.find('/') + 1)) + correct; }

const Mutant* Catalogue::find(std::string_view kernel) const {
  if (!owns(kernel)) return nullptr;
  const auto at = std::find_if(mutants.begin(), mutants.end(), [&](const Mutant& m) { return m.name == name_within(kernel); });
  return at == mutants.end() ? nullptr : &*at;
}

bool Catalogue::is_breaker(std::string_view kernel) const {
  return owns(kernel) && std::any_of(breakers.begin(), breakers.end(), [&](const Breaker& b) { return b.name == name_within(kernel); });
}

Result<Catalogue> read_catalogue(const std::filesystem::path& path, const std::vector<OfferedKernel>& offered) {
  auto file = read_config(path);
  if (!file) return tl::unexpected(file.error());
  Errors errors;
  reject_unknown_keys(*file, file_keys, errors);
  TableReader reader(*file, errors);
  Catalogue catalogue;
  if (const std::string provider = reader.text("provider"); !provider.empty()) catalogue.provider = provider;
  catalogue.correct = reader.text("correct");
  for (const ConfigNode* table : reader.tables("mutant")) {
    Mutant mutant = read_mutant(*table, catalogue, offered, errors);
    const bool known =
        std::any_of(catalogue.mutants.begin(), catalogue.mutants.end(), [&](const Mutant& m) { return m.name == mutant.name; });
    if (known) errors.push_back(table->error(fmt::format("{} comes twice", mutant.name)));
    catalogue.mutants.push_back(std::move(mutant));
  }
  for (const ConfigNode* table : reader.tables("breaker")) catalogue.breakers.push_back(read_breaker(*table, catalogue, offered, errors));
  read_claims(*file, reader, catalogue, errors);
  check_legal(*file, offered, reader, catalogue, errors);
  if (!errors.empty()) return tl::unexpected(errors);
  return catalogue;
}

Result<std::vector<ReviewedSurvivor>> read_reviewed_survivors(const std::filesystem::path& path) {
  std::vector<ReviewedSurvivor> survivors;
  if (!std::filesystem::exists(path)) return survivors;
  auto file = read_config(path);
  if (!file) return tl::unexpected(file.error());
  Errors errors;
  reject_unknown_keys(*file, std::array<std::string_view, 2>{"schema", "survivor"}, errors);
  TableReader reader(*file, errors);
  for (const ConfigNode* table : reader.tables("survivor")) {
    reject_unknown_keys(*table, std::array<std::string_view, 3>{"name", "dtype", "reason"}, errors);
    TableReader of_table(*table, errors);
    survivors.push_back({of_table.plain_name("name"), of_table.text("dtype", true), of_table.text("reason", true)});
  }
  if (!errors.empty()) return tl::unexpected(errors);
  return survivors;
}

}  // namespace plumbline
