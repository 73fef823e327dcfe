// The values that a node's options have in effect, with the source of each, as text: for
// --print-config, and to say what a changed configuration file would change.
//
// Pure; thread-safe.
#pragma once

#include "server/options/options.h"

#include <string>
#include <vector>

namespace gcoord::server {

struct EffectiveOption {
  std::string name;                // As in OptionRow::name.
  std::vector<std::string> texts;  // One, but any number of an option that is a list.
  bool list = false;
  std::string source;  // As GivenOption::source; "default" when nobody gave it.
};

// Every option of the table, in its order. Defaults that follow another option (ports) and those of
// `dev` are shown as they came out. An option without a value has the empty text.
std::vector<EffectiveOption> effective_options(const Invocation& invocation);

// As a TOML file that gcoordd reads back, the source of each value in a comment. Options that have
// no value are commented out.
std::string effective_toml(const Invocation& invocation);

// The names of the options whose values differ, in the table's order.
std::vector<std::string> changed_options(const Invocation& before, const Invocation& after);

}  // namespace gcoord::server
