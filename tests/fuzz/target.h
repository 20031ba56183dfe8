// Fuzz targets: one function for each of our parsers. libFuzzer calls it through entry.cc
// (ci/fuzz.sh). In the ordinary build, test_replay.cc calls it on the seeds and on every input that
// once failed.
#pragma once

#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>

#include "harness/base/error.h"

namespace plumbline::fuzz {

// Each accepts any bytes and returns, or throws Failure if a promise does not hold.
void suite(std::string_view input);        // a suite file without the files that it includes
void ids(std::string_view input);          // problem, case and device ids, single fields, globs
void spec(std::string_view input);         // rounding specs and the fields that contracts pin
void safetensors(std::string_view input);  // headers, and the facts of recorded inputs
void dump(std::string_view input);         // safetensors files as `plumbline check` reads them
void contracts(std::string_view input);    // contracts.toml and support.toml
void catalogue(std::string_view input);    // mutants.toml and audit.toml
void resources(std::string_view input);    // approved resources and launch facts
void ptxas(std::string_view input);        // ptxas's report
void messages(std::string_view input);     // lines between plumbline and its workers
void stored(std::string_view input);       // JSON texts in the database
void ptx(std::string_view input);          // PTX, and its translation
void fat_binary(std::string_view input);   // fat binaries of PTX, compressed or not

class Failure : public std::logic_error {
  using std::logic_error::logic_error;
};
inline void require(bool holds, const std::string& promise) {
  if (!holds) throw Failure(promise);
}

// Requires each error to have the file, the line (unless `lines` is Lines::none, for formats
// without lines), what is wrong and what to do.
enum class Lines { known, none };
void require_helpful(const Errors& errors, const std::string& file, Lines lines);

// Writes a file with these bytes into a directory of this process that has no other file, and
// returns its path. The next call overwrites it.
std::filesystem::path input_file(std::string_view input);

}  // namespace plumbline::fuzz
