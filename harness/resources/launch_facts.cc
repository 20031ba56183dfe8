// Reads launch facts from TOML, and predicts registers and shared memory from the tiles.
#include "harness/resources/launch_facts.h"

#include <fmt/format.h>

#include <array>

#include "harness/base/config.h"
#include "harness/base/table_reader.h"
#include "harness/resources/files.h"

namespace plumbline {
namespace {

using Kind = ConfigNode::Kind;

constexpr std::array<std::string_view, 11> launch_keys{
    "kernel",      "name",        "threads", "dynamic_shared_bytes", "tile_q",      "tile_kv",
    "head_dim_qk", "head_dim_vo", "stages",  "element_bytes",        "tensor_cores"};
constexpr std::array<std::string_view, 4> needed_for_tiles{"tile_q", "tile_kv", "head_dim_qk",
                                                           "element_bytes"};
constexpr std::array<std::string_view, 2> useless_without_tiles{"head_dim_vo", "stages"};
constexpr double most = 1 << 30;

class FactsReader {
 public:
  FactsReader(const ConfigNode& table, Errors& errors) : table_(table), errors_(errors) {}

  LaunchFacts read() {
    reject_unknown_keys(table_, launch_keys, errors_);
    TableReader reader(table_, errors_);
    LaunchFacts facts;
    facts.kernel = reader.text("kernel", true);
    facts.name = reader.text("name");
    facts.threads = whole("threads", 1, 1024, std::nullopt);
    facts.dynamic_shared_bytes = whole("dynamic_shared_bytes", 0, most, 0);
    facts.tensor_cores = reader.boolean("tensor_cores");
    facts.tiles = tiles();
    return facts;
  }

 private:
  // Returns `otherwise` if the key is absent. Without `otherwise` the key is required.
  int whole(std::string_view key, int least, double largest, std::optional<int> otherwise) {
    const ConfigNode* node = table_.find(key);
    if (node == nullptr) {
      if (!otherwise)
        errors_.push_back(
            table_.error(fmt::format("{} is missing", key), fmt::format("add {} = …", key)));
      return otherwise.value_or(0);
    }
    if (node->kind == Kind::integer && node->number >= least && node->number <= largest)
      return static_cast<int>(node->number);
    errors_.push_back(node->error(fmt::format("{}: \"{}\" is not a whole number from {} to {}", key,
                                              node->text, least, largest),
                                  "write a number in that range"));
    return 0;
  }

  std::optional<Tiles> tiles() {
    bool any = false;
    for (const auto key : needed_for_tiles) any = any || table_.find(key) != nullptr;
    for (const auto key : useless_without_tiles) any = any || table_.find(key) != nullptr;
    if (!any) return std::nullopt;
    Tiles tiles;
    tiles.tile_q = whole("tile_q", 1, most, std::nullopt);
    tiles.tile_kv = whole("tile_kv", 1, most, std::nullopt);
    tiles.head_dim_qk = whole("head_dim_qk", 1, most, std::nullopt);
    tiles.head_dim_vo = whole("head_dim_vo", 1, most, tiles.head_dim_qk);
    tiles.stages = whole("stages", 0, most, 1);
    tiles.element_bytes = whole("element_bytes", 1, 8, std::nullopt);
    return tiles;
  }

  const ConfigNode& table_;
  Errors& errors_;
};

Result<std::vector<LaunchFacts>> facts_of(const Result<ConfigNode>& file) {
  if (!file) return tl::unexpected(file.error());
  Errors errors;
  reject_unknown_keys(*file, std::array<std::string_view, 2>{"schema", "launch"}, errors);
  require_schema(*file, errors);
  std::vector<LaunchFacts> all;
  for (const ConfigNode* table : TableReader(*file, errors).tables("launch"))
    all.push_back(FactsReader(*table, errors).read());
  if (!errors.empty()) return tl::unexpected(errors);
  return all;
}

}  // namespace

Result<std::vector<LaunchFacts>> read_launch_facts(const std::filesystem::path& path) {
  return facts_of(read_config(path));
}
Result<std::vector<LaunchFacts>> parse_launch_facts(std::string_view text,
                                                    const std::string& file) {
  return facts_of(parse_config(text, file));
}

Prediction predict(const Tiles& t, int threads) {
  const std::int64_t s = std::int64_t{t.tile_q} * t.tile_kv,
                     o = std::int64_t{t.tile_q} * t.head_dim_vo;
  const std::int64_t q_elements = std::int64_t{t.tile_q} * t.head_dim_qk;
  const std::int64_t kv_elements = std::int64_t{t.tile_kv} * (t.head_dim_qk + t.head_dim_vo);
  return {static_cast<double>(s + o) / threads,
          (q_elements + kv_elements * t.stages) * t.element_bytes};
}

}  // namespace plumbline
