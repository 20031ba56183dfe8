// The kernels of an audit: mutants (known bugs), legal variants, and survivors that people
// reviewed.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "harness/suite/plan.h"

namespace plumbline {

struct Mutant {
  std::string provider;   // the family's, "mutants"
  std::string name;       // within its provider: "mask_drops_tail"
  std::string bug_class;  // "mask"
  std::string what;       // one line
  // Diagnoses of which any is right; empty: none is expected.
  std::vector<std::string> diagnosis;
  // Modes in which it changes any bit: fp16, bf16, fp32, tf32, e4m3; empty: all.
  std::vector<std::string> modes;
};

// A kernel that is correct in the case's own call, but gives other bits or wrong results in the
// calls of one invariance.
struct Breaker {
  std::string name;    // within its provider: "varies_solo"
  std::string breaks;  // the invariance
  std::string what;
};

// A provider and its variants in other precisions: "mutants" includes mutants_tf32.
struct Family {
  std::string provider = "mutants";
  std::string correct;  // the kernel with which the provider's mutants are compared, bit by bit
  bool owns(std::string_view kernel) const;  // "mutants_tf32/mask_drops_tail"
};

struct Catalogue {
  std::vector<Family> families;
  std::vector<Mutant> mutants;
  std::vector<Breaker> breakers;  // not run: an audit makes only a case's own call
  // Classes of which a suite must catch at least one mutant; by default all.
  std::vector<std::string> claims;

  const Family* family_of(std::string_view kernel) const;  // nullptr if none owns it
  bool owns(std::string_view kernel) const { return family_of(kernel) != nullptr; }
  const Mutant* find(std::string_view kernel) const;  // nullptr if not a mutant
  bool is_breaker(std::string_view kernel) const;
  std::string correct_of(std::string_view kernel) const;  // in the kernel's provider
};

// There is one file for each family: NAME.toml next to the library NAME.so, or mutants.toml:
//
//   provider = "mutants"        optional
//   correct = "correct"         optional: the unchanged kernel; the default is the provider's
//                               "correct" or "legal_baseline"
//   claims = ["mask", "scale"]  optional
//   [[mutant]]
//   name = "mask_drops_tail"    the kernel is provider/name or provider/class_name, also for each
//                               provider called provider_*
//   class = "mask"
//   what = "the last key of a partial tile is left out"
//   diagnosis = "edge"          or a list, of which any is right; "none" or absent: nothing is
//                               expected
//   modes = ["fp16", "e4m3"]    optional: where it changes any bit; e4m3 means P in fp8
//   zoo = …  needs = …          notes for readers, ignored
//   [[breaker]]
//   name = "varies_solo"        breaks = "solo", an invariance   what = "…"   zoo = …, for people
//   [[legal]]
//   name = "legal_tile_16"      what = "tiles of 16 keys"
//
// Errors: a name that is not offered; a kernel of the family that is not listed and not called
// correct or legal_*; a name that occurs twice, in one file or in two (names are compared without
// their providers).
Result<Catalogue> read_catalogue(const std::vector<std::filesystem::path>& files,
                                 const std::vector<OfferedKernel>& offered);

// A mutant that no case of the suite can catch, and why that is accepted.
struct ReviewedSurvivor {
  std::string name, dtype, reason;  // `dtype` is the report's: fp16, bf16, fp32, tf32, or "*"
};
// Reads baselines/audit.toml: [[survivor]] tables with name, dtype and reason. A missing file
// counts as empty.
Result<std::vector<ReviewedSurvivor>> read_reviewed_survivors(const std::filesystem::path& path);

}  // namespace plumbline
