// Reads a catalogue of mutants: the names, classes and needs that the tests iterate over.
#include "tests/mutants/catalogue.h"

#include <gtest/gtest.h>

#include <array>

#include "harness/base/config.h"

namespace plumbline::testing {
namespace {

std::vector<std::string> texts(const ConfigNode* list) {
  std::vector<std::string> values;
  if (list == nullptr) return values;
  for (const ConfigNode& item : list->items) values.push_back(item.text);
  return values;
}

std::string text(const ConfigNode& table, std::string_view key) {
  const ConfigNode* node = table.find(key);
  EXPECT_NE(node, nullptr) << key << " is missing in line " << table.line;
  return node == nullptr ? "" : node->text;
}

// Returns the real bugs that an entry represents, if it names any.
std::string zoo_of(const ConfigNode& table) {
  return table.find("zoo") == nullptr ? "" : text(table, "zoo");
}

}  // namespace

Catalogue read_catalogue(const std::string& path) {
  Catalogue catalogue;
  const auto file = read_config(path);
  EXPECT_TRUE(file.has_value()) << (file ? "" : to_string(file.error()));
  if (!file) return catalogue;
  for (const ConfigNode& table : file->find("mutant")->items) {
    Mutant mutant{text(table, "name"),       text(table, "class"),
                  text(table, "what"),       zoo_of(table),
                  text(table, "diagnosis"),  texts(table.find("needs")),
                  texts(table.find("modes"))};
    if (mutant.modes.empty()) mutant.modes = {"fp16", "bf16", "fp32", "tf32", "e4m3"};
    catalogue.mutants.push_back(std::move(mutant));
  }
  if (const ConfigNode* breakers = file->find("breaker")) {
    for (const ConfigNode& table : breakers->items) {
      catalogue.breakers.push_back(
          {text(table, "name"), text(table, "breaks"), text(table, "what"), zoo_of(table)});
    }
  }
  for (const ConfigNode& table : file->find("legal")->items) {
    EXPECT_FALSE(text(table, "what").empty());
    catalogue.legal.push_back(text(table, "name"));
  }
  return catalogue;
}

std::string answer_to_any_query(const plumbline_provider& provider) {
  plumbline_problem problem{};
  problem.struct_size = sizeof problem;
  plumbline_device device{};
  device.struct_size = sizeof device;
  std::array<char, 256> reason{};
  EXPECT_NE(provider.query(0, &problem, &device, reason.data(), reason.size()), PLUMBLINE_OK);
  return reason.data();
}

}  // namespace plumbline::testing
