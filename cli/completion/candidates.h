// Candidates for the end of an unfinished command line, from the table of verbs itself, so that
// they are never out of date. Pure; any thread.
#pragma once

#include "cli/terminal/command_line.h"

#include <span>
#include <string>
#include <vector>

namespace gcoord::cli {

struct Candidates {
  std::vector<std::string> words;  // Verbs, options and values that begin with what is there.
  bool files = false;              // Names of files belong there, which the shell knows.
  bool commands = false;           // So do words of another command line, behind `lock run ... --`.
  NamesOf names_of = NamesOf::Nothing;  // So do names that the cluster knows.
  std::string beginning;                // Of the file or the name, as far as it is there.
  std::string before;                   // Stands before it in the same word: "--prefix=".
};

// `words` is the line without the program's name; the last one, which may be empty, is unfinished.
Candidates candidates_of(const Command& program, std::span<const std::string> words);

// What the line gives the option of this name, as its own word or behind "="; else empty.
std::string given_value(std::span<const std::string> words, const std::string& option);

}  // namespace gcoord::cli
