// The JSON document that every command with --format json prints; docs/json.md describes it.
#pragma once

#include <string>
#include <utility>

#include "harness/base/error.h"

namespace plumbline::cli {

// The version of the envelope and of each command's data. It is raised when a name is removed or
// changes its meaning, not when one is added.
inline constexpr int json_version = 1;

// The JSON output of this process. Commands set their data, report_errors() adds errors, and
// run_program() prints it at the end.
class Envelope {
 public:
  // Finds the name of the command, and a request for JSON. Call it before the arguments are
  // parsed, so that a usage error is JSON as well.
  void read_arguments(int argc, const char* const* argv);
  bool is_requested() const { return is_requested_; }
  void withdraw() { is_requested_ = false; }

  void set_data(std::string json) { data_ = std::move(json); }
  void add(const Errors& errors);

  // Returns {"schema": {"name": "plumbline.run", "version": 1}, "plumbline": "1.2.3", "command":
  // "run", "exit_code": 0, "data": {…}, "errors": [{"error": …, "file": …, "line": …, "remedy":
  // …}]}. `data` is null if there are only errors; `file` and `line` are null if the error has no
  // file.
  std::string text(int exit_code) const;

 private:
  bool is_requested_ = false;
  std::string command_;
  std::string data_ = "null";
  Errors errors_;
};

// The envelope of this process.
Envelope& envelope();

// Sets the envelope's data, the only output of a command on stdout with --format json.
void print_json(std::string data);

}  // namespace plumbline::cli
