// gcoordctl member forget-directory: what a stopped node remembers of another node's data
// directory.
//
// A node refuses a peer that comes with another directory than it remembers, or with a generation
// that no rejoin leads to (docs/adr/0012, 0120). This is an operator's word that the memory is
// wrong. It works on the data directory of a node of this machine that does not run. One thread.
#pragma once

#include "cli/terminal/command.h"

#include <cstdint>
#include <string>

namespace gcoord::cli {

struct ForgetDirectoryFlags {
  std::uint32_t node = 0;
  std::string data_dir;
};

// The exit code.
int forget_directory(Context& context, const ForgetDirectoryFlags& flags);

}  // namespace gcoord::cli
