// The flags that several verbs about locks and elections have in common. One thread.
#pragma once

#include "cli/terminal/command.h"

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

// With whom a lock is shared, what is left with it for others to read, and what follows its
// holder's failure.
struct HoldFlags {
  bool shared = false;
  std::uint32_t permits = 1;
  std::uint32_t permits_max = 0;
  std::string delay;
  std::string note;
};

void add_hold_flags(Command& app, HoldFlags& flags);

// An acquire that asks for that, and waits; nothing, and the error is printed, when one of the
// times cannot be read.
std::optional<client::AcquireOptions> hold_of(Context& context,
                                              const HoldFlags& hold,
                                              const WaitFlags& wait);

}  // namespace gcoord::cli
