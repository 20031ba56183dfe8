// The one JSON document that every command with --format json prints. docs/json.md describes it for
// who reads it.
#pragma once

#include <string>
#include <utility>

#include "harness/base/error.h"

namespace plumbline::cli {

// Of the envelope, and of the data of every command: raised when a name goes or changes its
// meaning, not when one is added.
inline constexpr int json_version = 1;

// What this process answers. Commands give it their data and report_errors() their errors; main
// prints it when all is known.
class Envelope {
 public:
  // Whether these arguments ask for JSON, and of which command. Looked at before they are parsed,
  // so that a usage error is answered in JSON, too.
  void read_arguments(int argc, const char* const* argv);
  bool is_asked_for() const { return asked_; }
  void withdraw() { asked_ = false; }

  void set_data(std::string json) { data_ = std::move(json); }
  void add(const Errors& errors);

  // {"schema": {"name": "plumbline.run", "version": 1}, "plumbline": "1.2.3", "command": "run",
  // "exit_code": 0, "data": {…}, "errors": [{"error": …, "file": …, "line": …, "remedy": …}]}.
  // `data` is null where there is nothing but errors; `file` and `line` are null where no file is
  // to blame.
  std::string text(int exit_code) const;

 private:
  bool asked_ = false;
  std::string command_;
  std::string data_ = "null";
  Errors errors_;
};

// That of this process.
Envelope& envelope();

// What a command has to say on stdout under --format json: the data of its envelope, which main
// prints.
void print_json(std::string data);

}  // namespace plumbline::cli
