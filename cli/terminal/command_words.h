// The words of a command line as its table of verbs understands them, without running anything: for
// completion, and for saying which word of a wrong line is the wrong one. Pure; any thread.
#pragma once

#include "cli/terminal/command_line.h"
#include "common/status.h"

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace gcoord::cli {

// Up to the first word that has no meaning.
struct CommandWords {
  std::vector<const Command*> chain;  // The program and the verbs that were named; never empty.
  std::optional<OptionFacts> open;    // The last word was this option, whose value comes next.
  std::size_t positionals = 0;        // Words that are neither verbs nor options nor their values.
  bool after_dashes = false;          // Behind "--".
  std::string unknown_verb;
  std::string unknown_option;

  const Command& command() const { return *chain.back(); }
};

CommandWords read_words(const Command& program, std::span<const std::string> words);

// "gcoordctl lock acquire".
std::string path_of(const CommandWords& words);

// The option of a verb or of a group that it belongs to; nothing when there is none of that name.
std::optional<OptionFacts> option_of(const CommandWords& words, const std::string& name);

// The verb is missing, or there is none of that name: GC1002 or GC1006, with the verbs there are.
Status no_such_verb(const CommandWords& words);

// There is no option of that name: GC1001, with the nearest one.
Status no_such_option(const CommandWords& words);

}  // namespace gcoord::cli
