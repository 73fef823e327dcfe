#include "chaos/promises/weak_reads.h"

#include <fmt/format.h>

#include <algorithm>

namespace gcoord::chaos {

using protocol::ReadConsistency;

const char* consistency_name(ReadConsistency consistency) {
  switch (consistency) {
    case ReadConsistency::Linearizable:
      return "linearizable";
    case ReadConsistency::Lease:
      return "lease";
    case ReadConsistency::Serializable:
      return "serializable";
    case ReadConsistency::Bounded:
      return "bounded";
    case ReadConsistency::Monotonic:
      return "monotonic";
  }
  return "unknown";
}

void WeakReads::note_write(ShardId shard, LogIndex index, std::uint64_t acknowledged_ns) {
  std::vector<Mark>& marks = marks_[shard.value];
  if (marks.empty() || index > marks.back().index) {
    marks.push_back({acknowledged_ns, index});
  }
}

LogIndex WeakReads::acknowledged_before(ShardId shard, std::uint64_t at_ns) const {
  const auto marks = marks_.find(shard.value);
  if (marks == marks_.end()) {
    return LogIndex{};
  }
  const auto after = std::ranges::lower_bound(marks->second, at_ns, {}, &Mark::at_ns);
  return after == marks->second.begin() ? LogIndex{} : std::prev(after)->index;
}

// The lowest index that keeps what the read promised.
LogIndex WeakReads::owed(const WeakRead& read) const {
  if (read.consistency == ReadConsistency::Monotonic) {
    return read.needed;
  }
  const bool bounded = read.consistency == ReadConsistency::Bounded;
  if (!bounded && read.age_ms == protocol::kAgeUnknown) {
    return LogIndex{};
  }
  constexpr std::uint64_t kMillion = 1'000'000;
  const std::uint64_t age_ms = bounded ? std::min(read.staleness_ms, read.age_ms) : read.age_ms;
  const std::uint64_t age_ns = age_ms * kMillion;
  const std::uint64_t allowed_ns = age_ns + age_ns / kMillion * slack_.drift_ppm + slack_.grain_ns;
  return acknowledged_before(read.shard, read.call_ns - std::min(read.call_ns, allowed_ns));
}

std::string WeakReads::take(const WeakRead& read) {
  reads_.push_back(read);
  const LogIndex least = owed(read);
  if (read.consistency == ReadConsistency::Bounded && read.age_ms > read.staleness_ms) {
    return fmt::format("R4: client {} asked for {} ms at most and was answered with {} ms",
                       read.process,
                       read.staleness_ms,
                       read.age_ms);
  }
  if (read.index >= least) {
    return {};
  }
  return fmt::format("{}: a {} read of {} by client {} shows index {} of shard {} and owes {}",
                     read.consistency == ReadConsistency::Monotonic ? "R5" : "R4",
                     consistency_name(read.consistency),
                     read.key,
                     read.process,
                     read.index.value,
                     read.shard.value,
                     least.value);
}

}  // namespace gcoord::chaos
