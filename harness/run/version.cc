// Combines the program's version with those of the judge, the reference and the schema.
#include "harness/run/version.h"

#include <fmt/format.h>

#include "harness/base/build_info.h"
#include "harness/judge/judge.h"
#include "harness/reference/version.h"
#include "harness/store/store.h"

namespace plumbline {

std::string version() {
  return fmt::format("plumbline {} (judge {}, reference {}, schema {})", build::version,
                     judge_version, reference_version, schema_version);
}

}  // namespace plumbline
