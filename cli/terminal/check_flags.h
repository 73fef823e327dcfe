// The flags that bind a session to health checks, which this process runs. One thread.
#pragma once

#include "cli/terminal/command.h"
#include "gcoord/health.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gcoord::cli {

struct CheckFlags {
  std::vector<std::string> checks;
  std::string interval = "10s";
  std::string timeout = "5s";
  std::uint32_t failures = 3;
  bool close = false;
};

void add_check_flags(Command& app, CheckFlags& flags);

// --check-close: of verbs that hold nothing themselves, so that nothing is lost by surprise.
void add_check_close_flag(Command& app, CheckFlags& flags);

// What the flags say; prints the error when they make no sense. Failures of checks go to stderr.
std::optional<client::SessionHealth> health_of(Context& context, const CheckFlags& flags);

}  // namespace gcoord::cli
