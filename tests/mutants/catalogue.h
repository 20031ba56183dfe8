// The contents of kernels/mutants/mutants.toml, or of the file of another provider of mutants.
#pragma once

#include <string>
#include <vector>

#include "harness/provider/plumbline_provider.h"

namespace plumbline::testing {

struct Mutant {
  std::string name, mutant_class, what, zoo, diagnosis;
  std::vector<std::string> needs;
  std::vector<std::string> modes;  // fp16, bf16, fp32, tf32, e4m3: modes in which some bit changes
};
struct Breaker {
  std::string name, breaks, what, zoo;
};
struct Catalogue {
  std::vector<Mutant> mutants;
  std::vector<Breaker> breakers;
  std::vector<std::string> legal;
};
// Fails the test if the file does not match its header.
Catalogue read_catalogue(const std::string& file = PLUMBLINE_MUTANTS_TOML);

// Returns the provider's reply to the query of its first kernel. Every query reports wrong options.
std::string answer_to_any_query(const plumbline_provider& provider);

}  // namespace plumbline::testing
