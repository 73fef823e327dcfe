// Names of locks for the end of an unfinished command line, which only the cluster knows.
//
// A person waits for them with a key pressed, and the nodes may be slow, wrong, or not there: there
// is a limit for all of it together. Blocking; any thread.
#pragma once

#include "gcoord/options.h"

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace gcoord::cli {

struct LockNameLimits {
  // More than a person looks through.
  std::size_t names = 200;

  // Each is a request. A page may hold none of the names, and say that there are more.
  int pages = 20;

  // Of connecting and asking together; nobody waits longer for a key.
  std::chrono::milliseconds time{1000};
};

// Those that begin so and that a shell would print as they are: what came within the limits, and no
// word when no node answers. `access`: endpoints, TLS and credentials.
std::vector<std::string> lock_names(client::ClientOptions access,
                                    const std::string& beginning,
                                    const LockNameLimits& limits = {});

}  // namespace gcoord::cli
