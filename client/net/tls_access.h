// TLS of the connections of one client: sessions out of the caller's files.
//
// The files are loaded for the first connection and looked at again before each further one, so
// that renewed certificates serve without a restart; while new files cannot be used, the old ones
// are. Tickets of one connection serve the next one to the same endpoint. Thread-safe.
#pragma once

#include "common/status.h"
#include "gcoord/options.h"

#include <memory>
#include <mutex>
#include <string>

namespace gcoord::security {
class TlsSession;
class TlsSource;
}  // namespace gcoord::security

namespace gcoord::client {

class TlsAccess {
 public:
  explicit TlsAccess(TlsOptions options);
  ~TlsAccess();

  TlsAccess(const TlsAccess&) = delete;
  TlsAccess& operator=(const TlsAccess&) = delete;

  // For these options; nullptr where they say plain TCP.
  static std::shared_ptr<TlsAccess> for_options(const TlsOptions& options);

  // A session with the node at `endpoint`, "HOST:PORT", whose certificate must name the host.
  // GC1230 to GC1234 for files that cannot be used, GC1002 for half a pair.
  gcoord::Result<std::unique_ptr<security::TlsSession>> begin(const std::string& endpoint);

  // A failure of a session as a client sees it: a refusal of one that showed no certificate demands
  // one (GC3114); others stay as they are.
  gcoord::Status explained(const gcoord::Status& failure) const;

 private:
  const TlsOptions options_;
  std::mutex mutex_;  // Guards the source.
  std::unique_ptr<security::TlsSource> source_;
};

}  // namespace gcoord::client
