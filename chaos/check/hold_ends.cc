#include "chaos/check/hold_ends.h"

#include "chaos/check/lock_model.h"

#include <algorithm>

namespace gcoord::chaos {

namespace {

constexpr std::uint64_t kNsPerMs = 1'000'000;

// Sessions are numbered from 1 by the service; these numbers lie where it never comes.
constexpr std::uint64_t kProcessSession = std::uint64_t{0xfffe} << 48;

}  // namespace

HoldEnds::HoldEnds(const std::vector<Operation>& operations) {
  for (const Operation& operation : operations) {
    switch (operation.op) {
      case Op::Abandon:
        if (operation.token == 0) {
          note(session_of(operation), operation.return_ns);
        } else {
          const auto [known, added] =
              by_token_.emplace(std::pair(operation.key, operation.token), operation.return_ns);
          known->second = std::min(known->second, operation.return_ns);
        }
        break;
      case Op::SessionLost:
        note(session_of(operation), operation.return_ns);
        break;
      case Op::Close:
        note(session_of(operation), operation.call_ns);
        break;
      default:
        break;
    }
  }
}

void HoldEnds::note(std::uint64_t session, std::uint64_t moment_ns) {
  const auto [known, added] = by_session_.emplace(session, moment_ns);
  known->second = std::min(known->second, moment_ns);
}

std::uint64_t HoldEnds::of_grant(const Operation& grant) const {
  std::uint64_t end = kNever;
  if (const auto found = by_session_.find(session_of(grant)); found != by_session_.end()) {
    end = found->second;
  }
  const auto abandoned = by_token_.find(std::pair(grant.key, grant.token));
  return abandoned == by_token_.end() ? end : std::min(end, abandoned->second);
}

std::uint64_t lease_end_ns(const Operation& operation) {
  const std::uint64_t room = (kNever - operation.call_ns) / kNsPerMs;
  return operation.ttl_ms == 0 || operation.ttl_ms >= room
             ? kNever
             : operation.call_ns + operation.ttl_ms * kNsPerMs;
}

std::uint64_t session_of(const Operation& operation) {
  return operation.session != 0 ? operation.session : kProcessSession + operation.process;
}

}  // namespace gcoord::chaos
