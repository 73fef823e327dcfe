// Names of nodes for the end of an unfinished command line, which only the cluster knows.
//
// Blocking, for kNodeNameTime at most; any thread.
#pragma once

#include "gcoord/options.h"

#include <chrono>
#include <string>
#include <vector>

namespace gcoord::cli {

// As long as for names of locks.
inline constexpr std::chrono::milliseconds kNodeNameTime{1000};

// Those in the newest view that begin so and have not left; no word when no node answers.
// `access`: endpoints, TLS and credentials.
std::vector<std::string> node_names(client::ClientOptions access,
                                    const std::string& beginning,
                                    std::chrono::milliseconds time = kNodeNameTime);

}  // namespace gcoord::cli
