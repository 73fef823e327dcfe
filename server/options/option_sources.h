// Sources of option values: arguments, the environment, a TOML file. All end as text with the name
// of their source; what they mean is the option table's business.
//
// parse_toml is given the text of a file, so that it can be fuzzed. Pure apart from
// read_config_file; thread-safe.
#pragma once

#include "common/status.h"
#include "server/options/option_table.h"
#include "server/options/options.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gcoord::server {

struct ParsedArguments {
  Verb verb = Verb::Run;
  Purpose purpose = Purpose::Serve;
  ForceFlags force = {};
  std::string text;         // Of Help and Version.
  std::string config_file;  // Empty: none.
  std::vector<GivenOption> given;
};

// OptionInvalid for what no option is called or misses its value.
Result<ParsedArguments> parse_arguments(std::span<const std::string> arguments);

std::vector<GivenOption> parse_environment(const Environment& environment);

// `file` only names the source. ConfigInvalid for bad TOML, unknown keys and values of a wrong
// type.
Result<std::vector<GivenOption>> parse_toml(std::string_view text, const std::string& file);

// The same, with every key that can be read although others cannot; what is wrong with those is
// appended to `problems`.
std::vector<GivenOption> examine_toml(std::string_view text,
                                      const std::string& file,
                                      std::vector<Status>& problems);

// ConfigUnreadable when the file cannot be read or is larger than 1 MiB.
Result<std::string> read_config_file(const std::string& file);

}  // namespace gcoord::server
