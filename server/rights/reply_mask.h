// Masks of replies: what a principal may not see is left out of what was answered.
//
//   LockList, LockReadList, SessionShow, SessionLosses   names without lock.read are left out
//   SessionList, SessionDescribe                         sessions of others, without
//   session.read.all LockDeadlocks                                        circles with a name
//   without lock.read LockGet, LockGetAt, LockRead, and rows of lists      holder, token, note and
//   waiters of names
//                                                        without lock.read.details are hidden
//   ViewGet                                              addresses of peers, labels and what is
//   thought
//                                                        of nodes, without cluster.read;
//                                                        directories, without cluster.admin
//   WatchOpen                                            events of names without `watch`; token,
//                                                        session and values without watch.details
//
// A hidden holder is protocol::kHiddenSession, so that a lock that is held is not shown as free.
// Pure; any thread.
#pragma once

#include "common/ids.h"
#include "protocol/request.h"
#include "security/roles/authorize.h"

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace gcoord::server {

// The reader; for the call only.
struct Viewer {
  const security::RightsOf& rights;
  std::function<bool(SessionId)> owns;  // Whether the connection has proven the session.
};

// Whether replies of the kind are ever masked.
bool is_masked_kind(protocol::RequestKind kind);

// Whether nothing is hidden from who has these rights.
bool sees_all(const security::RightsOf& rights);

// The payload of a success as the viewer may see it; nothing: as it is. A payload that cannot be
// read is shown to nobody: it is empty then.
std::optional<std::vector<std::byte>> mask_reply(protocol::RequestKind kind,
                                                 std::span<const std::byte> payload,
                                                 const Viewer& viewer);

// The same of a message of a watch. Empty: nothing of it is left, and it need not be sent.
std::vector<std::byte> mask_watch_message(std::span<const std::byte> payload, const Viewer& viewer);

}  // namespace gcoord::server
