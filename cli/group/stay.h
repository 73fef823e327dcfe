// Being part of something until a signal comes, for verbs that keep a session alive meanwhile.
//
// One thread.
#pragma once

#include "cli/terminal/command.h"
#include "cli/terminal/wake_sources.h"
#include "gcoord/session.h"
#include "gcoord/status.h"
#include "protocol/error_codes.h"

#include <chrono>
#include <functional>
#include <optional>
#include <string>

namespace gcoord::cli {

// How often such a verb looks whether its session lives, and a watcher whether a signal came.
inline constexpr std::chrono::milliseconds kStayLook{500};

inline constexpr int kSessionLostExit = static_cast<int>(protocol::ExitCode::Conflict);

// A session of the verb's own; nothing: the failure has been printed.
std::optional<client::Session> open_own(Context& context,
                                        client::Client& client,
                                        std::chrono::milliseconds ttl);

// Returns true when a signal came: then it has left by leave() and closed the session. False: the
// session was lost before.
bool stay(client::Session& session,
          const SignalFd& signals,
          const std::function<client::Status()>& leave);

// Says that the session that was part of something is lost; the exit code.
int lost(Context& context, const std::string& what);

}  // namespace gcoord::cli
