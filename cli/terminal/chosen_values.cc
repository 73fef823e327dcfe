#include "cli/terminal/chosen_values.h"

#include "cli/contexts/file.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>

namespace gcoord::cli {
namespace {

std::string variable(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value == nullptr ? "" : value;
}

std::string variable_of(const std::string& option) {
  return variable(variable_name(option));
}

}  // namespace

std::string variable_name(const std::string& option) {
  std::string name = "GCOORD_" + option;
  std::ranges::transform(name, name.begin(), [](unsigned char letter) {
    return letter == '-' ? '_' : static_cast<char>(std::toupper(letter));
  });
  return name;
}

std::filesystem::path own_contexts_path() {
  return contexts_path([](const std::string& name) { return std::optional{variable(name)}; });
}

ContextValues typed_values(const Command& program, const ContextValues& parsed) {
  ContextValues typed;
  for (const auto& [option, value] : parsed) {
    if (program.typed("--" + option)) {
      typed[option] = value;
    }
  }
  return typed;
}

Result<ChosenValues> choose_own_values(const Command& program, const ContextValues& parsed) {
  return choose_own_values(typed_values(program, parsed));
}

Result<ChosenValues> choose_own_values(ContextValues typed) {
  GivenValues given{.typed = std::move(typed),
                    .environment = {},
                    .context_typed = {},
                    .context_environment = variable_of("context")};
  given.context_typed = given.typed["context"];
  for (const std::string& option : context_options()) {
    given.environment[option] = variable_of(option);
  }
  GCOORD_TRY(const Contexts contexts, read_contexts(own_contexts_path()));
  return choose_values(given, contexts);
}

}  // namespace gcoord::cli
