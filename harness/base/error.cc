// Writes errors as text: file and line, message, remedy.
#include "harness/base/error.h"

#include <fmt/format.h>

namespace plumbline {

std::string Error::to_string() const {
  std::string place = file;
  if (line > 0) place += fmt::format("{}{}", file.empty() ? "line " : ":", line);
  if (!place.empty()) place += ": ";
  return remedy.empty() ? place + message
                        : fmt::format("{}{}\n  remedy: {}", place, message, remedy);
}

std::string to_string(const Errors& errors) {
  std::string text;
  for (const Error& error : errors) {
    if (!text.empty()) text += '\n';
    text += error.to_string();
  }
  return text;
}

}  // namespace plumbline
