// Somebody who takes a lock, holds it, and gives it back: through gcoord's library, or through
// etcd's lock service. Blocking; one thread per object.
#pragma once

#include "chaos/check/history_file.h"
#include "common/status.h"
#include "gcoord/client.h"

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

namespace gcoord::chaos {

class LockHolder {
 public:
  virtual ~LockHolder() = default;

  // Waits in line; the fencing token of the grant, which rises from grant to grant.
  virtual Result<std::uint64_t> acquire(const std::string& name) = 0;
  virtual Status release(const std::string& name) = 0;

  // Who it is, in histories; changes when a lost lease is replaced.
  virtual std::uint64_t session() const = 0;
};

// Sessions of this TTL, kept alive by the library; what it did goes into the history.
std::unique_ptr<LockHolder> make_gcoord_holder(client::Client& client,
                                               HistoryWriter& history,
                                               std::uint32_t process,
                                               std::chrono::milliseconds ttl);

// A lease of this TTL, kept alive by a thread of the process. The token is the revision at which
// the lock's key was made: etcd's lock service does not hand it out, its key-value service does.
std::unique_ptr<LockHolder> make_etcd_holder(const std::string& endpoint, std::chrono::seconds ttl);

}  // namespace gcoord::chaos
