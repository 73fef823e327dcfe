#include "cli/gcoordd/hidden_options.h"

#include "cli/environment/unknown_variables.h"
#include "common/host/hidden_secrets.h"
#include "server/options/option_table.h"

#include <unistd.h>

#include <cstdlib>
#include <map>

namespace gcoord {
namespace {

std::map<std::string, std::string>& hidden_values() {
  static std::map<std::string, std::string> values;
  return values;
}

}  // namespace

void hide_secret_options(std::span<char*> arguments) {
  for (const server::OptionRow& row : server::option_table()) {
    if (!row.secret) {
      continue;
    }
    hide_argument(arguments, "--" + std::string{row.name}, SecretPart::Whole);
    const std::string variable = server::environment_name(row.name);
    if (const char* const value = std::getenv(variable.c_str()); value != nullptr) {
      hidden_values()[variable] = value;
      hide_variable(variable, SecretPart::Whole);
      ::unsetenv(variable.c_str());
    }
  }
}

std::vector<std::string> unknown_option_lines() {
  const auto clients = cli::client_variables();
  std::vector<std::string> known{clients.begin(), clients.end()};
  known.emplace_back("GCOORD_CONFIG");
  for (const server::OptionRow& row : server::option_table()) {
    known.push_back(server::environment_name(row.name));
  }
  return cli::unknown_variables(environ, known, cli::Strictness::All);
}

std::optional<std::string> environment_value(const std::string& name) {
  if (const auto hidden = hidden_values().find(name); hidden != hidden_values().end()) {
    return hidden->second;
  }
  const char* value = std::getenv(name.c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

}  // namespace gcoord
