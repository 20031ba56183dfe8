// Fuzz target: ids of problems and cases parse back to themselves; refused fields change nothing.
#include "harness/problem/problem.h"
#include "harness/provider/client/device_name.h"
#include "harness/suite/suite.h"
#include "tests/fuzz/target.h"

namespace plumbline::fuzz {
namespace {

void require_messages(const Errors& errors) {
  require(!errors.empty(), "a refusal names an error");
  for (const Error& error : errors) require(!error.message.empty(), "an error says what is wrong");
}

void problem(std::string_view input) {
  const auto parsed = parse_problem_id(input);
  if (!parsed) return require_messages(parsed.error());
  const std::string id = problem_id(*parsed);
  const auto back = parse_problem_id(id);
  require(back.has_value() && *back == *parsed && problem_id(*back) == id,
          "the id of a problem gives the problem: " + id);
  require(canonical(*parsed) == *parsed, "an id gives the one spelling of a problem: " + id);
  for (const std::string& sentence : validate(*parsed))
    require(!sentence.empty(), "what is wrong is said");
}

void whole_case(std::string_view input) {
  const auto parsed = parse_case_id(input);
  if (!parsed) return require_messages(parsed.error());
  const std::string id = case_id(*parsed);
  const auto back = parse_case_id(id);
  require(back.has_value() && *back == *parsed && case_id(*back) == id,
          "the id of a case gives the case: " + id);
}

// "key=value", as in segments of ids and in options.
void field(std::string_view input) {
  const std::size_t equals = input.find('=');
  if (equals == std::string_view::npos) return;
  const std::string_view key = input.substr(0, equals), value = input.substr(equals + 1);
  Problem changed;
  const auto message = set_field(changed, key, value);
  require(!message || (!message->empty() && changed == Problem{}),
          "a value that is refused changes nothing");
  require(message || key == "inputs" || has_field(changed, key, value),
          "a field has the value that it was given");
}

}  // namespace

void ids(std::string_view input) {
  problem(input);
  whole_case(input);
  field(input);
  if (const auto device = parse_device(input))
    require(device->name == input, "a device keeps its name");
  const std::size_t middle = input.size() / 2;
  glob_match(input.substr(0, middle), input.substr(middle));
}

}  // namespace plumbline::fuzz
