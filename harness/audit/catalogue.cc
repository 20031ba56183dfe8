// Reads the TOML files of mutants, which it checks against the kernels offered, and the file of
// reviewed survivors.
#include "harness/audit/catalogue.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>

#include "harness/base/table_reader.h"
#include "harness/outcome/invariance.h"

namespace plumbline {
namespace {

constexpr std::array<std::string_view, 7> file_keys{"schema", "provider", "correct", "claims",
                                                    "mutant", "breaker",  "legal"};
constexpr const char* unknown_kernel_remedy =
    "name the provider's library with --provider, or correct the name";
constexpr std::array<std::string_view, 7> mutant_keys{"name",      "class", "what", "zoo",
                                                      "diagnosis", "needs", "modes"};

std::string_view name_within(std::string_view kernel) {
  return kernel.substr(kernel.find('/') + 1);
}

// Returns true if a provider of the family has a kernel of this name.
bool offers(const std::vector<OfferedKernel>& offered, const Family& family,
            std::string_view name) {
  return std::ranges::any_of(offered, [&](const OfferedKernel& k) {
    return family.owns(k.name) && name_within(k.name) == name;
  });
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

Mutant read_mutant(const ConfigNode& table, const Family& family,
                   const std::vector<OfferedKernel>& offered, Errors& errors) {
  reject_unknown_keys(table, mutant_keys, errors);
  TableReader reader(table, errors);
  Mutant mutant;
  mutant.provider = family.provider;
  mutant.name = reader.plain_name("name");
  mutant.bug_class = reader.text("class", true);
  mutant.what = reader.text("what", true);
  mutant.diagnosis = read_diagnosis(table, reader);
  for (const ConfigNode* mode : reader.texts("modes")) mutant.modes.push_back(mode->text);
  if (mutant.name.empty()) return mutant;
  const std::string with_class = mutant.bug_class + "_" + mutant.name;
  if (!offers(offered, family, mutant.name) && !offers(offered, family, with_class)) {
    errors.push_back(table.error(fmt::format("no loaded provider has a kernel {0}/{1} or {0}/{2}",
                                             family.provider, mutant.name, with_class),
                                 unknown_kernel_remedy));
  }
  if (!offers(offered, family, mutant.name)) mutant.name = with_class;
  return mutant;
}

Breaker read_breaker(const ConfigNode& table, const Family& family,
                     const std::vector<OfferedKernel>& offered, Errors& errors) {
  reject_unknown_keys(table, std::array<std::string_view, 4>{"name", "breaks", "what", "zoo"},
                      errors);
  TableReader reader(table, errors);
  Breaker breaker{reader.plain_name("name"), reader.text("breaks", true),
                  reader.text("what", true)};
  if (!breaker.name.empty() && !offers(offered, family, breaker.name)) {
    errors.push_back(table.error(
        fmt::format("no loaded provider has a kernel {}/{}", family.provider, breaker.name),
        unknown_kernel_remedy));
  }
  if (!breaker.breaks.empty() &&
      std::ranges::find(names_of<Invariance>, breaker.breaks) == names_of<Invariance>.end()) {
    errors.push_back(table.error(fmt::format("there is no invariance \"{}\"", breaker.breaks),
                                 fmt::format("one of {}", fmt::join(names_of<Invariance>, ", "))));
  }
  return breaker;
}

void read_claims(const ConfigNode& file, TableReader& reader, const std::vector<Mutant>& mutants,
                 Catalogue& catalogue, Errors& errors) {
  std::set<std::string> classes, claims(catalogue.claims.begin(), catalogue.claims.end());
  for (const Mutant& mutant : mutants) classes.insert(mutant.bug_class);
  if (file.find("claims") == nullptr) claims.insert(classes.begin(), classes.end());
  for (const ConfigNode* claim : reader.texts("claims")) {
    claims.insert(claim->text);
    if (classes.contains(claim->text)) continue;
    errors.push_back(claim->error(fmt::format("no mutant is of class \"{}\"", claim->text),
                                  "remove the claim, or add a mutant"));
  }
  catalogue.claims.assign(claims.begin(), claims.end());
}

// Returns the names of the [[legal]] tables; each must be offered.
std::set<std::string, std::less<>> read_legal(const Family& family,
                                              const std::vector<OfferedKernel>& offered,
                                              TableReader& reader, Errors& errors) {
  std::set<std::string, std::less<>> names;
  for (const ConfigNode* table : reader.tables("legal")) {
    reject_unknown_keys(*table, std::array<std::string_view, 2>{"name", "what"}, errors);
    TableReader of_table(*table, errors);
    const std::string name = of_table.plain_name("name");
    of_table.text("what", true);
    if (!name.empty() && !offers(offered, family, name)) {
      errors.push_back(
          table->error(fmt::format("no loaded provider has a kernel {}/{}", family.provider, name),
                       unknown_kernel_remedy));
    }
    names.insert(name);
  }
  return names;
}

// Kernels of the family that are not listed must be legal, by a [[legal]] table or by their name.
void check_legal(const ConfigNode& file, const std::vector<OfferedKernel>& offered,
                 TableReader& reader, const std::vector<Mutant>& mutants,
                 const std::vector<Breaker>& breakers, Family& family, Errors& errors) {
  const auto legal = read_legal(family, offered, reader, errors);
  for (const char* name : {"correct", "legal_baseline"}) {
    if (family.correct.empty() && offers(offered, family, name)) family.correct = name;
  }
  if (family.correct.empty() || !offers(offered, family, family.correct)) {
    errors.push_back(file.error(
        fmt::format("the provider {} has no correct kernel to compare with", family.provider),
        "name it: correct = \"…\", or call it correct or legal_baseline"));
  }
  std::vector<std::string> unknown;
  for (const OfferedKernel& kernel : offered) {
    const std::string_view name = name_within(kernel.name);
    const auto is_this = [&](const auto& listed) { return listed.name == name; };
    const bool is_known =
        std::ranges::any_of(mutants, is_this) || std::ranges::any_of(breakers, is_this);
    if (!family.owns(kernel.name) || is_known) continue;
    if (name != family.correct && !name.starts_with("legal_") && !legal.contains(name))
      unknown.push_back(kernel.name);
  }
  if (unknown.empty()) return;
  errors.push_back(file.error(
      fmt::format("these kernels are neither mutants nor legal: {}", fmt::join(unknown, ", ")),
      "add a [[mutant]], [[breaker]] or [[legal]] for each"));
}

void read_family(const ConfigNode& file, const std::vector<OfferedKernel>& offered,
                 Catalogue& catalogue, Errors& errors) {
  reject_unknown_keys(file, file_keys, errors);
  TableReader reader(file, errors);
  Family family;
  if (const std::string provider = reader.text("provider"); !provider.empty())
    family.provider = provider;
  family.correct = reader.text("correct");
  std::vector<Mutant> mutants;
  const auto contains_name = [](const std::vector<Mutant>& known, const std::string& name) {
    return std::ranges::any_of(known, [&](const Mutant& m) { return m.name == name; });
  };
  for (const ConfigNode* table : reader.tables("mutant")) {
    Mutant mutant = read_mutant(*table, family, offered, errors);
    if (contains_name(mutants, mutant.name) || contains_name(catalogue.mutants, mutant.name)) {
      errors.push_back(table->error(fmt::format("{} comes twice", mutant.name),
                                    "names are compared without their providers: rename one"));
    }
    mutants.push_back(std::move(mutant));
  }
  for (const ConfigNode* table : reader.tables("breaker"))
    catalogue.breakers.push_back(read_breaker(*table, family, offered, errors));
  read_claims(file, reader, mutants, catalogue, errors);
  check_legal(file, offered, reader, mutants, catalogue.breakers, family, errors);
  catalogue.families.push_back(std::move(family));
  catalogue.mutants.insert(catalogue.mutants.end(), mutants.begin(), mutants.end());
}

}  // namespace

bool Family::owns(std::string_view kernel) const {
  const std::string_view owner = kernel.substr(0, kernel.find('/'));
  return owner == provider || owner.starts_with(provider + "_");
}

const Family* Catalogue::family_of(std::string_view kernel) const {
  const auto at =
      std::ranges::find_if(families, [&](const Family& family) { return family.owns(kernel); });
  return at == families.end() ? nullptr : &*at;
}

std::string Catalogue::correct_of(std::string_view kernel) const {
  const Family* family = family_of(kernel);
  return family == nullptr ? ""
                           : std::string(kernel.substr(0, kernel.find('/') + 1)) + family->correct;
}

const Mutant* Catalogue::find(std::string_view kernel) const {
  const Family* family = family_of(kernel);
  if (family == nullptr) return nullptr;
  const auto at = std::ranges::find_if(mutants, [&](const Mutant& m) {
    return m.name == name_within(kernel) && m.provider == family->provider;
  });
  return at == mutants.end() ? nullptr : &*at;
}

bool Catalogue::is_breaker(std::string_view kernel) const {
  return owns(kernel) && std::ranges::any_of(breakers, [&](const Breaker& b) {
           return b.name == name_within(kernel);
         });
}

Result<Catalogue> read_catalogue(const std::vector<std::filesystem::path>& files,
                                 const std::vector<OfferedKernel>& offered) {
  Errors errors;
  Catalogue catalogue;
  for (const std::filesystem::path& path : files) {
    auto file = read_config(path);
    if (file) {
      read_family(*file, offered, catalogue, errors);
    } else {
      errors.insert(errors.end(), file.error().begin(), file.error().end());
    }
  }
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
    survivors.push_back(
        {of_table.plain_name("name"), of_table.text("dtype", true), of_table.text("reason", true)});
  }
  if (!errors.empty()) return tl::unexpected(errors);
  return survivors;
}

}  // namespace plumbline
