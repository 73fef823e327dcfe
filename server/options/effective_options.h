// The values that a node's options have in effect, with the source of each, as text: for
// --print-config, for its page /debug/config, and to say what a changed configuration file would
// change.
//
// Pure; thread-safe.
#pragma once

#include "server/options/option_table.h"
#include "server/options/options.h"

#include <span>
#include <string>
#include <vector>

namespace gcoord::server {

struct EffectiveOption {
  std::string name;                // As in OptionRow::name.
  std::vector<std::string> texts;  // One, but any number of an option that is a list.
  bool list = false;
  bool secret = false;  // As OptionRow::secret.
  std::string source;   // As GivenOption::source; "default" when nobody gave it.
};

// Every option of the table, in its order. Defaults that follow another option (ports) and those of
// `dev` are shown as they came out. An option without a value has the empty text.
std::vector<EffectiveOption> effective_options(const Invocation& invocation,
                                               std::span<const OptionRow> table = option_table());

// As a TOML file that gcoordd reads back, the source of each value in a comment. Options that have
// no value are commented out.
std::string effective_toml(const Invocation& invocation);

// The same for others than the operator: "(secret)" stands for each value that is.
std::string published_toml(const Invocation& invocation,
                           std::span<const OptionRow> table = option_table());

// The names of the options whose values differ, in the table's order.
std::vector<std::string> changed_options(const Invocation& before, const Invocation& after);

}  // namespace gcoord::server
