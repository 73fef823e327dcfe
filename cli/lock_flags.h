// The flags that several verbs about locks and elections have in common. One thread.
#pragma once

#include "cli/command.h"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace gcoord::cli {

void add_lock_name(Command& app, std::string& name);
void add_lock_token(Command& app, std::uint64_t& token);

// How long to wait for what somebody else has.
struct WaitFlags {
  std::string wait;
  bool try_only = false;
};

void add_wait_flags(Command& app, WaitFlags& flags);

// 0 with --try, client::kForever without either; prints the error when --wait cannot be read.
std::optional<std::chrono::milliseconds> wait_of(Context& context, const WaitFlags& flags);

}  // namespace gcoord::cli
