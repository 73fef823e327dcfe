#include "server/identities/attempt_limits.h"

#include <algorithm>

namespace gcoord::server {

std::uint32_t AttemptLimits::failures_of(const Source& source, std::uint64_t now_ms) {
  const std::uint64_t back = (now_ms - source.at_ms) / kAttemptBackMs;
  return back >= source.failures ? 0 : source.failures - static_cast<std::uint32_t>(back);
}

bool AttemptLimits::admits(const ConnectionIdentity& connection, std::uint64_t now_ms) const {
  if (connection.attempts_failed >= kAttemptsOfConnection) {
    return false;
  }
  const auto found = sources_.find(connection.source);
  return found == sources_.end() || failures_of(found->second, now_ms) < kAttemptsOfSource;
}

void AttemptLimits::on_failure(ConnectionIdentity& connection, std::uint64_t now_ms) {
  ++connection.attempts_failed;
  on_failure(connection.source, now_ms);
}

void AttemptLimits::on_failure(const SourceBits& address, std::uint64_t now_ms) {
  const auto found = sources_.find(address);
  if (found == sources_.end()) {
    if (sources_.size() == kSourcesMax) {
      sources_.erase(quiet_first_.front());
      quiet_first_.pop_front();
    }
    quiet_first_.push_back(address);
    sources_.emplace(address, Source{1, now_ms, std::prev(quiet_first_.end())});
    return;
  }
  Source& source = found->second;
  const std::uint32_t failures = failures_of(source, now_ms);
  // What is left of the time towards the next one back stays.
  source.at_ms = failures == 0 ? now_ms : now_ms - (now_ms - source.at_ms) % kAttemptBackMs;
  source.failures = std::min(failures + 1, kAttemptsOfSource);
  quiet_first_.splice(quiet_first_.end(), quiet_first_, source.place);
}

}  // namespace gcoord::server
