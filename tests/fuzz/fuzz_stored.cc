// Fuzz target: the JSON lists of a stored row come back as they were, or throw what readers catch.
#include <nlohmann/json.hpp>

#include "harness/store/json_text.h"
#include "tests/fuzz/target.h"

namespace plumbline::fuzz {
namespace {

// What plumbline did not write throws what the store's readers catch; what it reads it writes in a
// form that it reads again.
template <class Value>
void survives(const std::string& text, std::vector<Value> (*parse)(const std::string&),
              std::string (*write)(const std::vector<Value>&)) {
  std::string written;
  try {
    written = write(parse(text));
  } catch (const nlohmann::json::exception&) {
    return;
  }
  require(write(parse(written)) == written, "what was stored comes back: " + written);
}

}  // namespace

void stored(std::string_view input) {
  const std::string text(input);
  survives(text, parse_findings, findings_text);
  survives(text, parse_notes, notes_text);
  survives(text, parse_per_head, per_head_text);
}

}  // namespace plumbline::fuzz
