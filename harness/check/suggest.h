// What kind of fault the pattern of an unexplained error suggests. Words for people; nothing here decides.
#pragma once

#include <string>
#include <vector>

#include "harness/check/examine.h"

namespace plumbline {

// What the counts of faults, the place of the error and its spread over heads say.
std::vector<std::string> suggest_from_pattern(const Examination& examination);

// A second look: would another mask, window, scale or padding explain the output? One sentence for each that does.
std::vector<std::string> suggest_other_questions(const Dump& dump, const RoundingSpec& spec);

}  // namespace plumbline
