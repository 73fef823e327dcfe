#include "cli/contexts/contexts.h"

#include "protocol/error_codes.h"

#include <algorithm>
#include <cctype>

namespace gcoord::cli {
namespace {

const std::string* value_in(const ContextValues& values, const std::string& option) {
  const auto found = values.find(option);
  return found != values.end() && !found->second.empty() ? &found->second : nullptr;
}

}  // namespace

const std::vector<std::string>& context_options() {
  static const std::vector<std::string> options{"endpoints",
                                                "timeout",
                                                "output",
                                                "tls",
                                                "cacert",
                                                "cert",
                                                "key",
                                                "user",
                                                "password-file",
                                                "token-file",
                                                "insecure-credentials"};
  return options;
}

Result<ContextValues> Contexts::find(const std::string& name) const {
  const auto found = by_name.find(name);
  if (found != by_name.end()) {
    return found->second;
  }
  std::string names;
  for (const auto& [each, values] : by_name) {
    names += (names.empty() ? "" : ", ") + each;
  }
  return protocol::make_error(protocol::ErrorCode::OptionInvalid,
                              "there is no context '" + name + "'" +
                                  (names.empty() ? ", nor any other" : ", but " + names));
}

bool is_context_name(std::string_view name) {
  return !name.empty() && name.size() <= 64 && std::ranges::all_of(name, [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.';
  });
}

std::string_view value_source_name(ValueSource source) {
  switch (source) {
    case ValueSource::CommandLine:
      return "command line";
    case ValueSource::Context:
      return "context";
    case ValueSource::Environment:
      return "environment";
    case ValueSource::Default:
      break;
  }
  return "default";
}

Result<ChosenValues> choose_values(const GivenValues& given, const Contexts& contexts) {
  const bool typed_context = !given.context_typed.empty();
  const std::string& named = typed_context                        ? given.context_typed
                             : !given.context_environment.empty() ? given.context_environment
                                                                  : contexts.current;
  ChosenValues chosen{.context = named, .by_option = {}};
  ContextValues of_context;
  if (!named.empty()) {
    GCOORD_TRY(of_context, contexts.find(named));
  }
  for (const std::string& option : context_options()) {
    const std::string* typed = value_in(given.typed, option);
    const std::string* kept = value_in(of_context, option);
    const std::string* variable = value_in(given.environment, option);
    if (typed != nullptr) {
      chosen.by_option[option] = {*typed, ValueSource::CommandLine};
    } else if (kept != nullptr && (typed_context || variable == nullptr)) {
      chosen.by_option[option] = {*kept, ValueSource::Context};
    } else if (variable != nullptr) {
      chosen.by_option[option] = {*variable, ValueSource::Environment};
    }
  }
  return chosen;
}

}  // namespace gcoord::cli
