// Fuzz target: a catalogue of mutants is read completely, or refused with the line of each error.
#include "harness/audit/catalogue.h"
#include "tests/fuzz/target.h"

namespace plumbline::fuzz {

void catalogue(std::string_view input) {
  const std::filesystem::path path = input_file(input);
  static const std::vector<OfferedKernel> offered{
      {"mutants/correct"}, {"mutants/mask_drops_tail"}, {"mutants_tf32/legal_tile_16"}};
  if (const auto read = read_catalogue({path}, offered)) {
    for (const Mutant& mutant : read->mutants) {
      require(!mutant.name.empty() && !mutant.bug_class.empty() && !mutant.what.empty(),
              "a mutant says what it is");
    }
    for (const OfferedKernel& kernel : offered)
      read->find(kernel.name), read->is_breaker(kernel.name), read->correct_of(kernel.name);
  } else {
    require_helpful(read.error(), path.string(), Lines::known);
  }
  if (const auto read = read_reviewed_survivors(path)) {
    for (const ReviewedSurvivor& survivor : *read) {
      require(!survivor.name.empty() && !survivor.dtype.empty() && !survivor.reason.empty(),
              "a survivor has its reason");
    }
  } else {
    require_helpful(read.error(), path.string(), Lines::known);
  }
}

}  // namespace plumbline::fuzz
