// Fuzz target: the JSON lists of a stored row are unchanged after a round trip, or throw an
// exception that readers catch.
#include <nlohmann/json.hpp>

#include "harness/store/json_text.h"
#include "tests/fuzz/target.h"

namespace plumbline::fuzz {
namespace {

// Requires that invalid text throws an exception that the store's readers catch, and that the text
// written for a valid value can be read again.
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
