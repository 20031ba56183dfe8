// Registers the options that state attributes that a dump's metadata leaves out.
#include "harness/cli/commands/dump_options.h"

#include <algorithm>

#include "harness/report/format.h"

namespace plumbline::cli {

void AttributeOptions::add_to(Command command, const std::string& group) {
  for (const auto& [name, sentence] : attribute_names()) {
    std::string option = "--" + name;
    std::ranges::replace(option, '_', '-');
    const auto flag = flags_.find(name);
    const Option added = flag != flags_.end()
                             ? command.add_flag(option, flag->second, sentence)
                             : command.add_option(option, texts_[name], "", sentence);
    if (!group.empty()) added.group(group);
  }
}

Attributes AttributeOptions::stated() const {
  Attributes stated = texts_;
  std::erase_if(stated, [](const auto& attribute) { return attribute.second.empty(); });
  for (const auto& [name, is_set] : flags_) {
    if (is_set) stated[name] = "true";
  }
  return stated;
}

std::string AttributeOptions::as_typed() const {
  std::string text;
  for (const auto& [name, value] : stated()) {
    std::string option = " --" + name;
    std::ranges::replace(option, '_', '-');
    text += flags_.contains(name) ? option : option + " " + shell_word(value);
  }
  return text;
}

}  // namespace plumbline::cli
