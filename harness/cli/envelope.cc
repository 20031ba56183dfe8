// Assembles the JSON document of --format json from a command's data, errors and exit code.
#include "harness/cli/envelope.h"

#include <string_view>

#include "harness/base/build_info.h"
#include "harness/report/json_value.h"

namespace plumbline::cli {
namespace {

Json error_json(const Error& error) {
  return {{"error", error.message},
          {"file", error.file.empty() ? Json(nullptr) : Json(error.file)},
          {"line", error.line > 0 ? Json(error.line) : Json(nullptr)},
          JSON_FIELDS(error, remedy)};
}

}  // namespace

void Envelope::read_arguments(int argc, const char* const* argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    const bool is_value = i + 1 < argc && argument == "--format";
    if (argument == "--format=json" || (is_value && std::string_view(argv[i + 1]) == "json"))
      is_requested_ = true;
    if (command_.empty() && !argument.starts_with("-")) command_ = argument;
  }
}

void Envelope::add(const Errors& errors) {
  errors_.insert(errors_.end(), errors.begin(), errors.end());
}

std::string Envelope::text(int exit_code) const {
  Json head = {{"schema",
                {{"name", "plumbline." + (command_.empty() ? "none" : command_)},
                 {"version", json_version}}},
               {"plumbline", build::version},
               {"command", command_},
               {"exit_code", exit_code},
               {"errors", Json::array()}};
  for (const Error& error : errors_) head["errors"].push_back(error_json(error));
  std::string text = json_text(head);
  // The data may be large, so their text is appended instead of parsed.
  text.erase(text.find_last_of('}'));
  while (text.ends_with('\n')) text.pop_back();
  return text + ",\n \"data\": " + data_ + "\n}\n";
}

Envelope& envelope() {
  static Envelope of_this_process;
  return of_this_process;
}

void print_json(std::string data) { envelope().set_data(std::move(data)); }

}  // namespace plumbline::cli
