// Bounds how often somebody may fail to say who they are: token buckets, one for each address.
//
// An address has kAttemptsOfSource failures, and gets one back every kAttemptBackMs; a connection
// has kAttemptsOfConnection for good. Of 4,096 addresses that failed lately the one that has been
// quiet for longest is forgotten for a new one, so memory is bounded and a crowd of strangers only
// shortens how long each is remembered. An address without failures costs nothing. Pure: the time
// is a parameter, in milliseconds that only grow. One thread.
#pragma once

#include "server/identities/connection_identity.h"

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>

namespace gcoord::server {

inline constexpr std::uint32_t kAttemptsOfConnection = 8;
inline constexpr std::uint32_t kAttemptsOfSource = 32;
inline constexpr std::uint64_t kAttemptBackMs = 2'000;

class AttemptLimits {
 public:
  static constexpr std::size_t kSourcesMax = 4096;

  // Whether this connection may try once more now.
  bool admits(const ConnectionIdentity& connection, std::uint64_t now_ms) const;

  // A try of it failed.
  void on_failure(ConnectionIdentity& connection, std::uint64_t now_ms);

  // The same where the connection is gone: who hangs up before the answer has tried all the same,
  // if the password was checked.
  void on_failure(const SourceBits& address, std::uint64_t now_ms);

  std::size_t source_count() const { return sources_.size(); }

 private:
  struct Source {
    std::uint32_t failures = 0;  // That count, as of `at_ms`.
    std::uint64_t at_ms = 0;
    std::list<SourceBits>::iterator place;
  };

  static std::uint32_t failures_of(const Source& source, std::uint64_t now_ms);

  std::map<SourceBits, Source> sources_;
  std::list<SourceBits> quiet_first_;
};

}  // namespace gcoord::server
