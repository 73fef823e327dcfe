// Durations of a publisher's rounds by phase, from the first new entry to the signatures of a
// majority.
//
//   wait     news that no round has collected: for the interval, or for the round before it
//   collect  heads are read from the trees
//   agree    pages to the nodes, until a majority has every head
//   order    entries of shard 0: proposed, decided, applied here
//   sign     the cluster log and what is signed are durable here
//   publish  signatures of others, until there are a majority's
//
// Of each phase a histogram; of the slowest round of this life all phases, so that it can be said
// which one it was. Several rounds may be under way: a full one is followed at once. One thread.
#pragma once

#include "common/host/metrics.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace gcoord::server {

enum class RoundPhase : std::uint8_t { Wait, Collect, Agree, Order, Sign, Publish };

inline constexpr std::size_t kRoundPhases = 6;

// For metrics and status.
const char* text(RoundPhase phase);

struct RoundDuration {
  std::uint64_t heads = 0;
  std::uint64_t total_ms = 0;
  std::array<std::uint64_t, kRoundPhases> phase_ms{};
};

class RoundTimes {
 public:
  explicit RoundTimes(MetricsRegistry& metrics);

  struct Round {
    std::uint64_t news_ms = 0;   // When its first news came.
    std::uint64_t begin_ms = 0;  // When it began to collect.
    std::uint64_t size = 0;      // Of the cluster log with it.
    std::uint64_t heads = 0;
  };

  void begin(const Round& round, std::uint64_t now_ms);

  // The newest round is of that size and comes to nothing: when its news came.
  std::optional<std::uint64_t> give_up(std::uint64_t size);

  // This node is no publisher any more.
  void clear() { rounds_.clear(); }

  // A majority agrees with the newest round.
  void agreed(std::uint64_t now_ms);
  // The cluster log is that large: ordered, signed here, published.
  void ordered(std::uint64_t size, std::uint64_t now_ms);
  void signed_here(std::uint64_t size, std::uint64_t now_ms);
  void published(std::uint64_t size, std::uint64_t now_ms);

  const RoundDuration& slowest() const { return slowest_; }

 private:
  // When each phase ended; 0: it has not.
  struct UnderWay {
    Round round;
    std::array<std::uint64_t, kRoundPhases> end_ms{};
  };

  void end(RoundPhase phase, std::uint64_t size, std::uint64_t now_ms);
  void count(const UnderWay& round);

  Histogram& total_;
  std::vector<Histogram*> phases_;
  std::vector<UnderWay> rounds_;  // Ascending by size.
  RoundDuration slowest_;
};

}  // namespace gcoord::server
