// Reads suite files and their includes into cases and diffs, and collects all errors.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <unordered_map>

#include "harness/base/table_reader.h"
#include "harness/base/text.h"
#include "harness/suite/suite.h"
#include "harness/suite/suite_devices.h"
#include "harness/suite/suite_expected_failures.h"
#include "harness/suite/suite_space.h"

namespace plumbline {
namespace {

namespace fs = std::filesystem;
using Kind = ConfigNode::Kind;

bool is_kernel_name(std::string_view text, bool glob) {
  const auto parts = split(text, '/');
  return parts.size() == 2 && std::ranges::all_of(parts, [&](std::string_view part) {
           std::string letters(part);
           std::ranges::replace(letters, '.', '_');
           if (glob)
             std::ranges::replace(letters, '*', '_'), std::ranges::replace(letters, '?', '_');
           return is_plain_name(letters);
         });
}

// Reads one suite file after another into one Suite, and collects the errors of all.
class SuiteReader {
 public:
  Suite suite;
  Errors errors;

  void read(const fs::path& path, const ConfigNode* included_from) {
    std::error_code unreachable;  // such as a name that is too long; reading reports it
    const fs::path canonical = fs::weakly_canonical(path, unreachable);
    const std::string identity = unreachable ? path.string() : canonical.string();
    if (std::ranges::find(open_files_, identity) != open_files_.end()) {
      errors.push_back(included_from->error(
          fmt::format("include cycle: {} is being read already", path.string()),
          "remove this include"));
      return;
    }
    if (!read_files_.insert(identity).second) {
      // A file that two files include belongs to both.
      const std::vector<NamedCase> again = cases_of_file_[identity];
      named_cases_.insert(named_cases_.end(), again.begin(), again.end());
      return;
    }
    const std::size_t first_named = named_cases_.size();
    auto file = read_config(path);
    if (!file) {
      if (included_from)
        errors.push_back(included_from->error(fmt::format("cannot include {}", path.string()),
                                              "see the error that follows"));
      errors.insert(errors.end(), file.error().begin(), file.error().end());
      return;
    }
    suite.files.push_back(path.string());
    open_files_.push_back(identity);
    read_file(*file, path);
    open_files_.pop_back();
    cases_of_file_[identity] = {named_cases_.begin() + static_cast<std::ptrdiff_t>(first_named),
                                named_cases_.end()};
  }

 private:
  struct FileContext {
    std::string suite_name;
    Tier tier = Tier::smoke;
    Problem base;  // includes the file's defaults
  };

  void read_file(const ConfigNode& file, const fs::path& path) {
    constexpr std::array<std::string_view, 9> known{"schema",  "name",     "description",
                                                    "include", "defaults", "tier",
                                                    "group",   "diff",     "expect_failure"};
    reject_unknown_keys(file, known, errors);
    const std::size_t first_named = named_cases_.size(), first_diff = suite.diffs.size();
    TableReader reader(file, errors);
    check_schema(file);
    FileContext context;
    context.suite_name = reader.plain_name("name");
    const std::string description = reader.text("description");
    if (open_files_.size() == 1) suite.name = context.suite_name, suite.description = description;
    context.tier = read_tier(file, Tier::smoke);
    const std::size_t errors_before = errors.size();
    if (const ConfigNode* defaults = file.find("defaults")) {
      const auto values = read_single_values(*defaults, "defaults", errors);
      if (errors.size() == errors_before) context.base = with_values(context.base, values);
    }
    const auto includes =
        file.find("include") ? reader.texts("include") : std::vector<const ConfigNode*>{};
    for (const ConfigNode* include : includes)
      read((path.parent_path() / include->text).lexically_normal(), include);

    std::set<std::string> group_names, diff_names;
    for (const ConfigNode* group : reader.tables("group")) read_group(*group, context, group_names);
    for (const ConfigNode* diff : reader.tables("diff")) read_diff(*diff, context, diff_names);
    if (includes.empty() && !file.find("group") && !file.find("diff")) {
      errors.push_back(file.error("the suite has no group, diff or include", "add a [[group]]"));
    }
    // the cases of a group with a mistake are unknown
    const bool expanded = errors.size() == errors_before;
    const auto entries = read_expected_failures(file, errors);
    if (expanded) expect_failures(entries, first_named, first_diff);
  }

  Tier read_tier(const ConfigNode& table, Tier otherwise) {
    return static_cast<Tier>(
        TableReader(table, errors)
            .word("tier", names_of<Tier>, static_cast<std::size_t>(otherwise)));
  }

  void check_schema(const ConfigNode& file) {
    const ConfigNode* schema = file.find("schema");
    if (schema == nullptr)
      errors.push_back(file.error("schema is missing", "add schema = 1 as the first line"));
    if (schema != nullptr && schema->text != "1") {
      errors.push_back(schema->error(fmt::format("schema {} is not known", schema->text),
                                     "this plumbline reads schema = 1"));
    }
  }

  // Reads the parts that groups and diffs have in common.
  SuiteCase read_head(const ConfigNode& table, const FileContext& context,
                      std::set<std::string>& names) {
    TableReader reader(table, errors);
    SuiteCase head;
    head.suite = context.suite_name;
    head.group = reader.plain_name("name");
    head.reason = reader.text("reason", true);
    head.tier = read_tier(table, context.tier);
    head.timed = reader.boolean("timed");
    head.file = table.file;
    head.line = table.line;
    if (!head.group.empty() && !names.insert(head.group).second) {
      errors.push_back(
          table.find("name")->error(fmt::format("the name \"{}\" is taken", head.group),
                                    "give each group and each diff its own"));
    }
    return head;
  }

  // Returns each kernel with its line.
  std::vector<std::pair<std::string, int>> read_kernels(const ConfigNode& group) {
    std::vector<std::pair<std::string, int>> kernels;
    for (const ConfigNode* kernel : TableReader(group, errors).texts("kernels", true)) {
      kernels.emplace_back(kernel->text, kernel->line);
      if (is_kernel_name(kernel->text, true)) continue;
      errors.push_back(kernel->error(fmt::format("\"{}\" is not a kernel", kernel->text),
                                     "write provider/name; * and ? match any characters"));
    }
    return kernels;
  }

  void read_group(const ConfigNode& group, const FileContext& context,
                  std::set<std::string>& names) {
    constexpr std::array<std::string_view, 13> known{
        "name",  "reason", "tier",    "kernels", "devices",  "arch",   "tensor_cores",
        "timed", "set",    "product", "zip",     "pairwise", "exclude"};
    const std::size_t errors_before = errors.size();
    reject_unknown_keys(group, known, errors);
    SuiteCase head = read_head(group, context, names);
    const auto kernels = read_kernels(group);
    std::vector<std::string> kernel_names;
    kernel_names.reserve(kernels.size());
    for (const auto& [name, line] : kernels) kernel_names.push_back(name);
    const std::vector<std::string> devices = read_devices(group, errors);
    head.tensor_cores = read_tensor_cores(group, errors);
    const ProblemSpace space = read_space(group, kernel_names, errors);
    check_size(group, kernels.size() * devices.size(), space);
    if (errors.size() == errors_before)
      expand_group(group, head, kernels, devices, space, context.base);
  }

  // Maximum number of a group's cases, as far as they can be counted before expansion.
  static constexpr std::size_t max_cases = 100000;
  // Maximum number of combinations that the expansion tries, which takes some seconds.
  static constexpr std::size_t max_tries = 1 << 18;

  void check_size(const ConfigNode& group, std::size_t runs, const ProblemSpace& space) {
    const std::size_t fixed = fixed_combinations(space, max_cases);
    // read_space has already reported fixed > max_cases.
    if (fixed > max_cases || fixed * std::min(runs, max_cases + 1) <= max_cases) return;
    errors.push_back(group.error(
        fmt::format("kernels, devices, product and zip make more than {} cases", max_cases),
        "shorten the lists, or split the group"));
  }

  void expand_group(const ConfigNode& group, const SuiteCase& head,
                    const std::vector<std::pair<std::string, int>>& kernels,
                    const std::vector<std::string>& devices, const ProblemSpace& space,
                    const Problem& base) {
    std::vector<std::string> invalid;
    std::vector<std::vector<bool>> used;
    std::size_t problems = 0, tries_left = max_tries;
    for (const auto& [kernel, line] : kernels) {
      SuiteCase with_line = head;
      with_line.kernel_line = line;
      const Expansion expansion = expand(space, base, kernel, tries_left);
      problems += expansion.problems.size();
      invalid.insert(invalid.end(), expansion.invalid.begin(), expansion.invalid.end());
      merge_used(used, expansion.used);
      for (const std::string& device : devices) {
        for (const Problem& problem : expansion.problems)
          add_case(with_line, kernel, device, problem);
      }
    }
    // report an error of several kernels once
    const std::set<std::string> sentences(invalid.begin(), invalid.end());
    for (const std::string& sentence : sentences) {
      errors.push_back(group.error(
          fmt::format("group \"{}\" contains an invalid problem: {}", head.group, sentence),
          "change the values or drop the combination with exclude"));
    }
    if (tries_left == 0) {
      errors.push_back(group.error(
          fmt::format(
              "group \"{}\": too few of the combinations of pairwise are valid to find all pairs",
              head.group),
          "correct the values that make them invalid, or split the group"));
      return;
    }
    if (problems == 0 && invalid.empty()) {
      errors.push_back(group.error(fmt::format("group \"{}\" expands to nothing", head.group),
                                   "exclude drops every combination: narrow it"));
    }
    if (problems > 0 && invalid.empty()) check_all_used(space, used);
  }

  static void merge_used(std::vector<std::vector<bool>>& used,
                         const std::vector<std::vector<bool>>& more) {
    if (used.empty()) used = more;
    for (std::size_t d = 0; d < more.size(); ++d) {
      for (std::size_t value = 0; value < more[d].size(); ++value)
        used[d][value] = used[d][value] || more[d][value];
    }
  }

  // A listed value that no case has would be untested without notice.
  void check_all_used(const ProblemSpace& space, const std::vector<std::vector<bool>>& used) {
    std::size_t d = 0;
    for (const auto* dimensions : {&space.product, &space.zip, &space.pairwise}) {
      for (const Dimension& dimension : *dimensions) {
        for (std::size_t value = 0; value < dimension.values.size(); ++value) {
          if (used[d][value]) continue;
          errors.push_back(dimension.node->error(
              fmt::format("{} = {} occurs in no case", dimension.key, dimension.values[value]),
              "every combination with it is invalid or excluded: remove the value"));
        }
        ++d;
      }
    }
  }

  // A case that already exists keeps its place. It is timed if either is, and has the lower tier of
  // both.
  void add_case(SuiteCase head, const std::string& kernel, const std::string& device,
                const Problem& problem) {
    head.kernel_pattern = kernel;
    head.device = device;
    head.problem = problem;
    const std::string identity =
        fmt::format("{} {}", case_id(full_case(head)), fmt::join(head.tensor_cores, " "));
    const auto [found, is_new] = case_index_.try_emplace(identity, suite.cases.size());
    named_cases_.push_back({found->second, head.group});
    if (is_new) {
      suite.cases.push_back(std::move(head));
      return;
    }
    SuiteCase& standing = suite.cases[found->second];
    standing.timed = standing.timed || head.timed;
    standing.tier = std::min(standing.tier, head.tier);
  }

  // Gives each entry to the cases that it may cover, among the cases and diffs of the file and its
  // includes.
  void expect_failures(const std::vector<FailureEntry>& entries, std::size_t first_named,
                       std::size_t first_diff) {
    for (const FailureEntry& entry : entries) {
      bool occurs = false;
      const auto offer = [&](SuiteCase& c, const std::string& group) {
        if (!concerns(entry, c, group)) return;
        occurs = true;
        if (std::ranges::find(c.failures, entry.rule) == c.failures.end())
          c.failures.push_back(entry.rule);
      };
      for (std::size_t i = first_named; i < named_cases_.size(); ++i)
        offer(suite.cases[named_cases_[i].index], named_cases_[i].group);
      for (std::size_t i = first_diff; i < suite.diffs.size(); ++i) {
        for (SuiteCase* side : {&suite.diffs[i].a, &suite.diffs[i].b})
          offer(*side, suite.diffs[i].name);
      }
      if (occurs) continue;
      errors.push_back(entry.node->error("the expected failure occurs in no case",
                                         "correct kernels, groups, devices or match, or remove the "
                                         "entry; `plumbline list` shows the cases"));
    }
  }

  struct Side {
    std::string kernel, device = "cpu";
    int kernel_line = 0;
    std::vector<std::string> tensor_cores;
    std::vector<Dimension> fields;
  };

  Side read_side(const ConfigNode& diff, std::string_view name) {
    constexpr std::array<std::string_view, 4> also_known{"kernel", "device", "arch",
                                                         "tensor_cores"};
    Side side;
    const ConfigNode* table = diff.find(name);
    if (table == nullptr || table->kind != Kind::table) {
      errors.push_back(
          (table ? *table : diff)
              .error(fmt::format("{} is not given as a table", name),
                     fmt::format("write {} = {{ kernel = \"provider/name\" }}", name)));
      return side;
    }
    side.fields = read_single_values(*table, name, errors, also_known);
    side.kernel = TableReader(*table, errors).text("kernel", true);
    if (!side.kernel.empty() && !is_kernel_name(side.kernel, false)) {
      errors.push_back(
          table->find("kernel")->error(fmt::format("\"{}\" is not one kernel", side.kernel),
                                       "write provider/name without * or ?"));
    }
    if (const ConfigNode* kernel = table->find("kernel")) side.kernel_line = kernel->line;
    side.device = read_device(*table, errors);
    side.tensor_cores = read_side_tensor_cores(*table, errors);
    return side;
  }

  void read_diff(const ConfigNode& table, const FileContext& context,
                 std::set<std::string>& names) {
    constexpr std::array<std::string_view, 10> known{"name",    "reason", "tier",  "expect", "set",
                                                     "product", "zip",    "timed", "a",      "b"};
    const std::size_t errors_before = errors.size();
    reject_unknown_keys(table, known, errors);
    const SuiteCase head = read_head(table, context, names);
    const auto expect =
        static_cast<DiffExpect>(TableReader(table, errors).word("expect", names_of<DiffExpect>, 0));
    const ProblemSpace space = read_space(table, {}, errors);
    const Side a = read_side(table, "a"), b = read_side(table, "b");
    if (errors.size() != errors_before) return;
    for (const Problem& common : expand_fixed(space, context.base)) {
      SuiteDiff diff{head.suite,
                     head.group,
                     head.reason,
                     head.tier,
                     side_case(head, a, common),
                     side_case(head, b, common),
                     expect,
                     head.file,
                     head.line};
      if (check_diff(table, diff)) suite.diffs.push_back(std::move(diff));
    }
  }

  static SuiteCase side_case(SuiteCase head, const Side& side, const Problem& common) {
    head.kernel_pattern = side.kernel;
    head.kernel_line = side.kernel_line;
    head.device = side.device;
    head.tensor_cores = side.tensor_cores;
    head.problem = canonical(with_values(common, side.fields));
    return head;
  }

  bool check_diff(const ConfigNode& table, const SuiteDiff& diff) {
    const std::size_t errors_before = errors.size();
    for (const auto& [name, side] : {std::pair{"a", &diff.a}, std::pair{"b", &diff.b}}) {
      for (const std::string& sentence : validate(side->problem)) {
        errors.push_back(table.error(fmt::format("side {} of diff \"{}\" is an invalid problem: {}",
                                                 name, diff.name, sentence),
                                     "change the values"));
      }
    }
    const Problem &a = diff.a.problem, &b = diff.b.problem;
    if (a.batch != b.batch || a.heads_q != b.heads_q || a.head_dim_vo != b.head_dim_vo) {
      errors.push_back(
          table.error(fmt::format("the outputs of diff \"{}\" have no common rows", diff.name),
                      "batch, heads_q and head_dim_vo must be the same in a and b"));
    }
    if (full_case(diff.a) == full_case(diff.b)) {
      errors.push_back(
          table.error(fmt::format("a and b of diff \"{}\" are the same case", diff.name),
                      "let them differ in the kernel, the device or a field"));
    }
    return errors.size() == errors_before;
  }

  // A case and one of its groups. suite.cases may list the case under an earlier group.
  struct NamedCase {
    std::size_t index;
    std::string group;
  };

  static Case full_case(const SuiteCase& c) { return {c.kernel_pattern, c.device, c.problem}; }

  std::vector<std::string> open_files_;  // from the suite down to the file being read
  std::set<std::string> read_files_;
  std::unordered_map<std::string, std::size_t> case_index_;
  std::vector<NamedCase> named_cases_;  // in the order of the files
  std::map<std::string, std::vector<NamedCase>> cases_of_file_;
};

// Sorts errors by file, in the order of the files' first errors, and by line.
void sort_by_place(Errors& errors) {
  std::map<std::string, std::size_t> file_order;
  for (const Error& error : errors) file_order.try_emplace(error.file, file_order.size());
  std::ranges::stable_sort(errors, [&](const Error& a, const Error& b) {
    return std::pair(file_order[a.file], a.line) < std::pair(file_order[b.file], b.line);
  });
}

}  // namespace

Result<Suite> read_suite(const std::filesystem::path& path) {
  SuiteReader reader;
  reader.read(path, nullptr);
  sort_by_place(reader.errors);
  if (!reader.errors.empty()) return tl::unexpected(std::move(reader.errors));
  return std::move(reader.suite);
}

}  // namespace plumbline
