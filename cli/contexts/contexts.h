// Contexts: named sets of options that say which cluster a user means, and how to talk to it.
//
// A value of one option comes from the command line, else from a context that the command line
// names, else from the environment, else from a context that the environment or the file names,
// else from a default. Pure; thread-safe.
#pragma once

#include "common/status.h"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace gcoord::cli {

// The options that a context may have, by their names without dashes, with their values as they are
// typed: endpoints, timeout, output, tls, cacert, cert, key, user, password-file, token-file,
// insecure-credentials. Files of keys are named, never held, and no context has a password.
using ContextValues = std::map<std::string, std::string>;

const std::vector<std::string>& context_options();

struct Contexts {
  std::string current;  // Empty: none.
  std::map<std::string, ContextValues> by_name;

  // GC1001 when there is no context of this name; it lists those that there are.
  Result<ContextValues> find(const std::string& name) const;
};

// 1 to 64 letters, digits, '-', '_' and '.'.
bool is_context_name(std::string_view name);

// Where a value was found.
enum class ValueSource : std::uint8_t { CommandLine, Context, Environment, Default };

// "command line", "context", "environment", "default".
std::string_view value_source_name(ValueSource source);

// What the command line and the environment say; empty values say nothing.
struct GivenValues {
  ContextValues typed;
  ContextValues environment;
  std::string context_typed;        // --context.
  std::string context_environment;  // GCOORD_CONTEXT.
};

struct ChosenValue {
  std::string text;
  ValueSource source = ValueSource::Default;
};

struct ChosenValues {
  std::string context;                           // Empty: none is in use.
  std::map<std::string, ChosenValue> by_option;  // Without those that only a default has.
};

// GC1001 when the named context is not there.
Result<ChosenValues> choose_values(const GivenValues& given, const Contexts& contexts);

}  // namespace gcoord::cli
