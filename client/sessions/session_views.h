// Sessions as leases, as asynchronous calls: grant, show, list. Thread-safe; callbacks run on the
// client's thread.
#pragma once

#include "client/core/calls.h"
#include "client/core/session_impl.h"
#include "gcoord/leases.h"

#include <cstdint>
#include <memory>

namespace gcoord::client {

// Registers a session in its home shard and begins to keep it.
void grant_session(const std::shared_ptr<Core>& core,
                   GrantOptions options,
                   Callback<Result<std::shared_ptr<SessionImpl>>> callback);

// The session, as the leader of its home knows it.
void show_session(Core& core, SessionId session, Callback<Result<SessionDescription>> callback);

// One keep-alive to every connected node; then what is left: no time at all if it is gone.
void keep_alive_once(Core& core, SessionId session, Callback<Result<SessionDescription>> callback);

// A page of one node's sessions; the cursor is the node's own.
void list_sessions(Core& core,
                   NodeId node,
                   const SessionListOptions& options,
                   std::uint32_t cursor,
                   Callback<Result<SessionsPage>> callback);

}  // namespace gcoord::client
