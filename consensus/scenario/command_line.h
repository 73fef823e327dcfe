// One line of a scenario file, cut into words: "configure 1 voters=1,2,4 learners=3".
//
// Words stand in order; name=value options stand anywhere behind the command's name. Every access
// checks what it finds and fails with a sentence that names the word. Host only.
#pragma once

#include "common/ids.h"
#include "common/status.h"
#include "consensus/scenario/configuration_change.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gcoord::consensus::scenario {

struct CommandLine {
  std::string name;
  std::vector<std::string> words;
  std::map<std::string, std::string> options;

  // A word without "=" by its place, or the failure that says which one is missing.
  Result<std::string> word(std::size_t place) const;
  Result<std::uint64_t> number(std::size_t place) const;

  // An option's number, or `otherwise` where the option is not given.
  Result<std::uint64_t> option(const std::string& option_name, std::uint64_t otherwise) const;

  // Whether this bare word is somewhere on the line.
  bool has_word(std::string_view word) const;

  // "voters=1,2*3 learners=4": node 2 has weight 3.
  Result<Members> members() const;
};

// Cuts a line; an empty one is an InvalidArgument.
Result<CommandLine> parse_command(std::string_view line);

}  // namespace gcoord::consensus::scenario
