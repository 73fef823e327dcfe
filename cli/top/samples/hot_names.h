// Hot names: a count of changes per name from a watch, between two samples.
//
// count() runs on the client's thread for watches, take() on any other. Bounded: beyond a number of
// names the coldest are forgotten, so that a hot name is found among any number of others.
#pragma once

#include "gcoord/watch.h"

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

namespace gcoord::cli::top {

// Names that are counted at once; half of them go when there are more.
inline constexpr std::size_t kHeatNamesMax = 65'536;

class HotNames {
 public:
  struct Name {
    std::string name;
    std::uint32_t shard = 0;  // Of the last of these.
    std::uint64_t grants = 0;
    std::uint64_t waits = 0;  // Sessions that began to wait.
  };

  struct Sample {
    std::uint64_t grants = 0;  // Of all names.
    std::uint64_t expiries = 0;
    std::vector<Name> hottest;  // Most changes first.
  };

  void count(const client::WatchBatch& batch);

  // What was counted since the last look.
  Sample take(std::size_t names_max);

 private:
  void forget_coldest();

  std::mutex mutex_;  // Guards what follows.
  std::unordered_map<std::string, Name> names_;
  std::uint64_t grants_ = 0;
  std::uint64_t expiries_ = 0;
};

}  // namespace gcoord::cli::top
