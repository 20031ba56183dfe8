// Reads and checks the tables that span a group's problems, before any expansion.
#include "harness/suite/suite_space.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "harness/base/text.h"
#include "harness/suite/suite.h"

namespace plumbline {
namespace {

bool is_field(std::string_view key) {
  const auto names = field_names();
  return std::ranges::find(names, key) != names.end();
}

void sort_canonically(std::vector<Dimension>& dimensions) {
  const auto names = field_names();
  const auto position = [&](const Dimension& d) { return std::ranges::find(names, d.key); };
  std::ranges::sort(dimensions, [&](const Dimension& a, const Dimension& b) {
    return position(a) < position(b);
  });
}

void reject_unknown_fields(const ConfigNode& table, Errors& errors,
                           std::span<const std::string_view> also_known) {
  std::vector<std::string_view> known(field_names().begin(), field_names().end());
  known.insert(known.end(), also_known.begin(), also_known.end());
  reject_unknown_keys(table, known, errors);
}

bool expect_table(const ConfigNode& node, std::string_view what, Errors& errors) {
  if (node.kind == ConfigNode::Kind::table) return true;
  errors.push_back(node.error(fmt::format("{} is not a table", what),
                              fmt::format("write {} = {{ field = value }}", what)));
  return false;
}

// Appends the value's text if the field accepts it.
void read_value(const std::string& key, const ConfigNode& value, Dimension& dimension,
                Errors& errors) {
  if (!value.is_scalar()) {
    errors.push_back(value.error(fmt::format("{} takes a string, number or boolean here", key),
                                 "put alternatives into one list"));
    return;
  }
  Problem scratch;
  if (const auto message = set_field(scratch, key, value.text)) {
    errors.push_back(value.error(*message, key == "inputs" ? "name a recorded file that can be read"
                                                           : "write an allowed value"));
  } else {
    dimension.values.push_back(value.text);
  }
}

// Returns a dimension for each member of `table` that is a field, with the values of its list or
// its single value.
std::vector<Dimension> read_lists(const ConfigNode& table, Errors& errors) {
  std::vector<Dimension> dimensions;
  for (const auto& [key, value] : table.members) {
    if (!is_field(key)) continue;
    Dimension dimension{key, {}, &value};
    if (value.kind != ConfigNode::Kind::array) {
      read_value(key, value, dimension, errors);
    } else if (value.items.empty()) {
      errors.push_back(value.error(fmt::format("{} has no values", key),
                                   "list at least one, or remove the field"));
    } else {
      for (const ConfigNode& item : value.items) read_value(key, item, dimension, errors);
    }
    dimensions.push_back(std::move(dimension));
  }
  sort_canonically(dimensions);
  return dimensions;
}

void check_zip(const std::vector<Dimension>& zip, Errors& errors) {
  for (const Dimension& dimension : zip) {
    if (dimension.values.size() == zip.front().values.size()) continue;
    errors.push_back(dimension.node->error(
        fmt::format("zipped lists differ in length: {} has {}, {} has {}", zip.front().key,
                    zip.front().values.size(), dimension.key, dimension.values.size()),
        "give all lists of zip the same length, or use product"));
  }
}

// Reports fields that are in two tables, because their value would be ambiguous.
void check_given_once(const ProblemSpace& space, Errors& errors) {
  const std::array<std::pair<std::string_view, const std::vector<Dimension>*>, 4> tables{
      {{"set", &space.set},
       {"product", &space.product},
       {"zip", &space.zip},
       {"pairwise", &space.pairwise}}};
  for (std::size_t later = 1; later < tables.size(); ++later) {
    for (const Dimension& dimension : *tables[later].second) {
      for (std::size_t earlier = 0; earlier < later; ++earlier) {
        for (const Dimension& other : *tables[earlier].second) {
          if (other.key != dimension.key) continue;
          errors.push_back(
              dimension.node->error(fmt::format("{} is both in {} and in {}", dimension.key,
                                                tables[earlier].first, tables[later].first),
                                    "keep it in one of them"));
        }
      }
    }
  }
}

// Reports a space that is too large, for example because of one list too many. Its expansion would
// fill the memory or search for pairs all day.
void check_size(const ConfigNode& owner, const ProblemSpace& space, Errors& errors) {
  constexpr std::size_t most = 100000, max_paired = 256;
  if (fixed_combinations(space, most) > most) {
    errors.push_back(
        owner.error(fmt::format("product and zip span more than {} combinations", most),
                    "use pairwise, or split the group"));
  }
  std::size_t paired = 0;
  for (const Dimension& dimension : space.pairwise) paired += dimension.values.size();
  if (space.pairwise.size() > 1 && paired > max_paired) {
    errors.push_back(owner.error(
        fmt::format("the lists of pairwise have {} values, more than {}", paired, max_paired),
        "every pair of them has to occur: split the group"));
  }
}

void check_excluded_kernel(const ConfigNode& node, std::span<const std::string> kernels,
                           Errors& errors) {
  const bool matches =
      std::ranges::any_of(kernels, [&](const std::string& k) { return glob_match(node.text, k); });
  if (node.kind != ConfigNode::Kind::string || !matches) {
    errors.push_back(node.error(
        fmt::format("exclude names kernel \"{}\", which matches no entry of kernels", node.text),
        "list that kernel as an entry of its own: exclude compares the texts of entries"));
  }
}

std::vector<Exclusion> read_exclude(const ConfigNode& owner, std::span<const std::string> kernels,
                                    Errors& errors) {
  const ConfigNode* list = owner.find("exclude");
  std::vector<Exclusion> exclusions;
  if (list == nullptr) return exclusions;
  if (list->kind != ConfigNode::Kind::array) {
    errors.push_back(
        list->error("exclude is not a list of tables", "write exclude = [{ field = value }]"));
    return exclusions;
  }
  constexpr std::array<std::string_view, 1> also_known{"kernel"};
  for (const ConfigNode& table : list->items) {
    if (table.kind != ConfigNode::Kind::table) {
      errors.push_back(table.error("exclude has an entry that is not a table",
                                   "write exclude = [{ field = value }]"));
      continue;
    }
    if (table.members.empty())
      errors.push_back(
          table.error("an empty exclude table drops every case", "name the fields to match"));
    reject_unknown_fields(table, errors, also_known);
    Exclusion exclusion;
    exclusion.fields = read_lists(table, errors);
    if (const ConfigNode* kernel = table.find("kernel")) {
      check_excluded_kernel(*kernel, kernels, errors);
      exclusion.kernel = kernel->text;
    }
    exclusions.push_back(std::move(exclusion));
  }
  return exclusions;
}

}  // namespace

std::vector<Dimension> read_single_values(const ConfigNode& table, std::string_view name,
                                          Errors& errors,
                                          std::span<const std::string_view> also_known) {
  if (!expect_table(table, name, errors)) return {};
  reject_unknown_fields(table, errors, also_known);
  std::vector<Dimension> values;
  for (const auto& [key, value] : table.members) {
    if (!is_field(key)) continue;
    if (value.kind == ConfigNode::Kind::array) {
      errors.push_back(value.error(fmt::format("{} takes one value here", key),
                                   "lists go into product, zip or pairwise"));
      continue;
    }
    Dimension dimension{key, {}, &value};
    read_value(key, value, dimension, errors);
    values.push_back(std::move(dimension));
  }
  sort_canonically(values);
  return values;
}

std::size_t fixed_combinations(const ProblemSpace& space, std::size_t most) {
  std::size_t count = space.zip.empty() ? 1 : std::min(space.zip.front().values.size(), most + 1);
  for (const Dimension& dimension : space.product)
    count = std::min(count * dimension.values.size(), most + 1);
  return count;
}

std::vector<Dimension> read_field_lists(const ConfigNode& owner, std::string_view name,
                                        Errors& errors) {
  const ConfigNode* table = owner.find(name);
  if (table == nullptr || !expect_table(*table, name, errors)) return {};
  reject_unknown_fields(*table, errors, {});
  return read_lists(*table, errors);
}

ProblemSpace read_space(const ConfigNode& owner, std::span<const std::string> kernels,
                        Errors& errors) {
  ProblemSpace space;
  if (const ConfigNode* set = owner.find("set"))
    space.set = read_single_values(*set, "set", errors);
  space.product = read_field_lists(owner, "product", errors);
  space.zip = read_field_lists(owner, "zip", errors);
  space.pairwise = read_field_lists(owner, "pairwise", errors);
  space.exclude = read_exclude(owner, kernels, errors);
  check_zip(space.zip, errors);
  check_given_once(space, errors);
  check_size(owner, space, errors);
  return space;
}

}  // namespace plumbline
