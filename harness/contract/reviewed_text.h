// The reviewed text on which a run's verdicts depend: contracts.toml and support.toml.
#pragma once

#include "harness/contract/contract.h"
#include "harness/contract/support.h"

namespace plumbline {

struct ReviewedText {
  Contracts contracts;
  SupportTable support;
};

}  // namespace plumbline
