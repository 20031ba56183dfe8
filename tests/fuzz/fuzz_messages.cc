// Fuzz target: a message between plumbline and worker is unchanged after sending, or is refused.
#include "harness/provider/client/failure_reason.h"
#include "harness/provider/description_check.h"
#include "harness/provider/protocol.h"
#include "tests/fuzz/target.h"

namespace plumbline::fuzz {
namespace {

// Requires that reading an invalid message throws an exception that both sides catch, and that a
// valid one is unchanged after sending.
template <class Message>
void survives(const nlohmann::json& json) {
  std::string line;
  try {
    line = protocol::to_line(protocol::read_message<Message>(json));
  } catch (const nlohmann::json::exception&) {
    return;
  }
  require(line.find('\n') == line.size() - 1, "a message is one line");
  require(protocol::to_line(protocol::read_message<Message>(nlohmann::json::parse(line))) == line,
          "a message survives being sent: " + line);
}

void description(const nlohmann::json& json) {
  plumbline_description wire{};
  try {
    wire = protocol::read_message<plumbline_description>(json);
  } catch (const nlohmann::json::exception&) {
    return;
  }
  if (!description_fault(wire).empty()) return;
  const Description read = to_description(wire);
  const auto back = parse_spec_text(spec_text(read.spec));
  require(back.has_value() && *back == read.spec,
          "the text of a valid spec reads back as the same spec");
  require(!name(read.padding_policy).empty() && !name(read.promises.batch).empty(),
          "the padding policy and batch promise of a valid description have names");
}

}  // namespace

void messages(std::string_view input) {
  crash_text(std::string(input));
  const nlohmann::json json = nlohmann::json::parse(input, nullptr, false);
  if (json.is_discarded()) return;
  survives<protocol::HelloRequest>(json);
  survives<protocol::HelloReply>(json);
  survives<protocol::RunRequest>(json);
  survives<protocol::AgainRequest>(json);
  survives<protocol::RunReply>(json);
  survives<protocol::CrashReply>(json);
  description(json.is_object() && json.contains("description") ? json["description"] : json);
}

}  // namespace plumbline::fuzz
