// Names of any kind for the end of an unfinished command line, which only the cluster knows.
//
// Users and roles need auth.admin, as limits and denials do: who may not read them is offered none.
// Blocking, for kNamesTime at most; any thread.
#pragma once

#include "cli/terminal/command_line.h"
#include "gcoord/options.h"

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

namespace gcoord::cli {

// Of connecting and asking together, as for names of locks; and more than a person looks through.
inline constexpr std::chrono::milliseconds kNamesTime{1000};
inline constexpr std::size_t kNamesMax = 200;

struct WantedNames {
  NamesOf what = NamesOf::Nothing;
  std::string beginning;
  std::chrono::milliseconds time = kNamesTime;
};

// Those that begin so and that a shell would print as they are; no word when no node answers.
// `access`: endpoints, TLS and credentials.
std::vector<std::string> cluster_names(const WantedNames& wanted, client::ClientOptions access);

}  // namespace gcoord::cli
