// Many acquires or releases of one session, submitted together: each has its number, its tries and
// its end, and the batch ends with the last of them. Thread-safe; the callbacks run once, on the
// client's thread.
#pragma once

#include "client/core/session_impl.h"
#include "gcoord/options.h"
#include "gcoord/session.h"
#include "gcoord/types.h"

#include <memory>
#include <string>
#include <vector>

namespace gcoord::client {

struct LockBatch {
  // GC6705 to GC6707 for a list that is none of 1 to kLockBatchNamesMax different names, or what
  // SessionImpl::acquire refuses of any of them; then nothing is submitted.
  static void acquire(const std::shared_ptr<SessionImpl>& session,
                      const std::vector<std::string>& names,
                      const AcquireOptions& options,
                      Session::GrantsCallback callback);

  // Why a release of these would be refused; ok: it would not.
  static Status check_releases(const std::vector<HeldToken>& holds);

  // The same of releases.
  static void release(const std::shared_ptr<SessionImpl>& session,
                      const std::vector<HeldToken>& holds,
                      Session::StatusesCallback callback);
};

}  // namespace gcoord::client
