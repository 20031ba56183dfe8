// Inserts the compiled resources of kernels per architecture, as judged in one run.
#include "harness/store/resource_rows.h"

#include "harness/store/run_rows.h"

namespace plumbline {
namespace {

constexpr auto resource_columns = [](auto& columns, const JudgedResources& judged) {
  const Resources now = judged.now.value_or(Resources{});
  const LaunchFacts facts = now.facts.value_or(LaunchFacts{});
  const Occupancy occupancy = now.occupancy.value_or(Occupancy{});
  const Prediction prediction = now.prediction.value_or(Prediction{});
  columns("source", judged.source);
  columns("kernel", judged.kernel);
  columns("launch", judged.launch);
  columns("arch", judged.arch);
  columns("toolkit", judged.toolkit);
  columns("verdict", std::string(name(judged.verdict)));
  columns("why", judged.why);
  columns.measured(judged.now.has_value());
  columns.unless_minus_one("registers", now.usage.registers);
  columns("stack_bytes", now.usage.stack_bytes);
  columns("spill_store_bytes", now.usage.spill_store_bytes);
  columns("spill_load_bytes", now.usage.spill_load_bytes);
  columns("static_shared_bytes", now.usage.shared_bytes);
  columns("constant_bytes", now.usage.constant_bytes);
  columns("barriers", now.usage.barriers);
  columns.measured(now.facts.has_value());
  columns("threads", facts.threads);
  columns("dynamic_shared_bytes", facts.dynamic_shared_bytes);
  columns("tensor_cores", facts.tensor_cores);
  columns.measured(now.occupancy.has_value());
  columns("active_warps", occupancy.active_warps);
  columns("most_warps", occupancy.max_warps);
  columns("limited_by", occupancy.limited_by);
  columns.measured(now.prediction.has_value());
  columns("predicted_registers", prediction.registers);
  columns("predicted_shared_bytes", prediction.shared_bytes);
};

}  // namespace

Result<void> store_resources(SQLite::Database& db, const std::filesystem::path& path,
                             const std::string& run_id, const std::vector<JudgedResources>& rows) {
  return store_rows(db, path, "storing resources",
                    {"kernel_resources", {"run_id", "source", "kernel", "launch", "arch"}}, run_id,
                    rows, resource_columns);
}

}  // namespace plumbline
