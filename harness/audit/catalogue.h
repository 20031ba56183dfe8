// What an audit runs: mutants (known bugs), legal variants, and survivors that people reviewed.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "harness/suite/plan.h"

namespace plumbline {

struct Mutant {
  std::string provider;   // its family's, "mutants"
  std::string name;       // of the kernel within its provider: "mask_drops_tail"
  std::string bug_class;  // "mask"
  std::string what;       // one line
  // what the judge should name; any of them is right; empty: nothing is expected
  std::vector<std::string> diagnosis;
  // in which it changes any bit: fp16, bf16, fp32, tf32, e4m3; empty: in all
  std::vector<std::string> modes;
};

// Right whenever it is asked in one way only, and other bits, or wrong, where one invariance asks
// in another.
struct Breaker {
  std::string name;    // of the kernel within its provider: "varies_solo"
  std::string breaks;  // the invariance
  std::string what;
};

// A provider, and those with the same kernels in other precisions: "mutants" stands for
// mutants_tf32, too.
struct Family {
  std::string provider = "mutants";
  std::string correct;  // the kernel whose bits mutants of the same provider are compared with
  bool owns(std::string_view kernel) const;  // "mutants_tf32/mask_drops_tail"
};

struct Catalogue {
  std::vector<Family> families;
  std::vector<Mutant> mutants;
  std::vector<Breaker> breakers;  // an audit asks in one way only, and does not run them
  // classes of which a suite must kill some mutant; by default every class there is
  std::vector<std::string> claims;

  const Family* family_of(std::string_view kernel) const;  // nullptr: of none
  bool owns(std::string_view kernel) const { return family_of(kernel) != nullptr; }
  const Mutant* find(std::string_view kernel) const;  // nullptr: not a mutant
  bool is_breaker(std::string_view kernel) const;
  std::string correct_of(std::string_view kernel) const;  // the correct kernel of its provider
};

// One file for each family, NAME.toml beside the library NAME.so or mutants.toml:
//
//   provider = "mutants"        optional
//   correct = "correct"         optional: the kernel without a change; else the provider's
//                               "correct" or "legal_baseline"
//   claims = ["mask", "scale"]  optional
//   [[mutant]]
//   name = "mask_drops_tail"    the kernel is provider/name or provider/class_name, and the same of
//                               each provider called provider_*
//   class = "mask"
//   what = "the last key of a partial tile is left out"
//   diagnosis = "edge"          or a list, of which any is right; "none" or absent: nothing is
//                               expected
//   modes = ["fp16", "e4m3"]    optional: where it changes any bit; e4m3 stands for P in fp8
//   zoo = …  needs = …          for people
//   [[breaker]]
//   name = "varies_solo"        breaks = "solo", an invariance   what = "…"   zoo = …, for people
//   [[legal]]
//   name = "legal_tile_16"      what = "tiles of 16 keys"
//
// Every name must be offered; kernels of the family that are neither mutants nor breakers nor in a
// [[legal]] table nor called correct or legal_* are errors. Names are told apart without their
// providers: none may come twice, in one file or in two.
Result<Catalogue> read_catalogue(const std::vector<std::filesystem::path>& files,
                                 const std::vector<OfferedKernel>& offered);

// A mutant that no case of the suite can catch, and why that is accepted.
struct ReviewedSurvivor {
  std::string name, dtype, reason;  // dtype as the report groups: fp16, bf16, fp32, tf32, or "*"
};
// baselines/audit.toml: [[survivor]] tables with name, dtype and reason. A file that is not there
// holds none.
Result<std::vector<ReviewedSurvivor>> read_reviewed_survivors(const std::filesystem::path& path);

}  // namespace plumbline
