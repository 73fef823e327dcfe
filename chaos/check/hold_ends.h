// Times at which a hold may have ended by itself, as its history shows: the client gave up, lost or
// closed its session, or did not renew its lease in time. Pure.
#pragma once

#include "chaos/check/operation.h"

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace gcoord::chaos {

class HoldEnds {
 public:
  explicit HoldEnds(const std::vector<Operation>& operations);

  // From this moment on the grant's hold may be over without a release; kNever if nothing says so.
  std::uint64_t of_grant(const Operation& grant) const;

 private:
  void note(std::uint64_t session, std::uint64_t moment_ns);

  std::unordered_map<std::uint64_t, std::uint64_t> by_session_;
  std::map<std::pair<std::string, std::uint64_t>, std::uint64_t> by_token_;  // Abandoned.
};

// When a lease that was granted or renewed like this may lapse: its TTL cannot have begun before
// the call. kNever without a TTL.
std::uint64_t lease_end_ns(const Operation& operation);

// The session of an operation; its process stands for it where the history does not tell.
std::uint64_t session_of(const Operation& operation);

}  // namespace gcoord::chaos
