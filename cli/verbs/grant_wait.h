// A wait for locks that a signal ends. One thread.
#pragma once

#include "cli/terminal/wake_sources.h"
#include "gcoord/multi_lock.h"
#include "gcoord/options.h"
#include "gcoord/session.h"

#include <csignal>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

namespace gcoord::cli {

// The signals that end a program, and so its wait.
inline constexpr std::initializer_list<int> kEndingSignals = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

// How a wait ended.
struct GrantWait {
  // The answer. After a signal GC6006, or another one that was faster.
  std::optional<client::Result<client::MultiLock>> granted;
  int signal = 0;  // The signal that ended it, or 0.
};

// Waits until the session has all of the locks, the wait has failed, or one of `signals` came,
// which must have been made before the client's threads. A signal withdraws the request from the
// queue; a grant that is on its way then is released. SIGTSTP among the signals stops this process,
// and the wait goes on with it.
GrantWait wait_for_grant(client::Session& session,
                         const std::vector<std::string>& names,
                         client::AcquireOptions how,
                         const SignalFd& signals);

}  // namespace gcoord::cli
