// Recent changes of one name, from a watch of all: for the page of that name.
//
// The newest changes of any name are kept in a ring, so that there is something to show of a name
// at the moment when it is chosen; from then on its own are kept. note() runs on the client's
// thread for watches, the others on any.
#pragma once

#include "gcoord/watch.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <vector>

namespace gcoord::cli::top {

inline constexpr std::size_t kChangesOfAllMax = 4'096;
inline constexpr std::size_t kChangesOfOneMax = 50;

struct Change {
  std::uint64_t at_ms = 0;  // When it was heard of.
  client::EventKind kind{};
  std::string name;
  std::uint64_t token = 0;  // 0 of a waiter.
  std::uint64_t session_id = 0;
  std::uint32_t shard = 0;
  std::uint64_t revision = 0;
};

class RecentChanges {
 public:
  void note(const client::WatchBatch& batch, std::uint64_t at_ms);

  // Another name; empty: none.
  void follow(const std::string& name);

  // Of the followed name, the newest first.
  std::vector<Change> followed() const;

 private:
  void keep_followed(const Change& change);

  mutable std::mutex mutex_;  // Guards what follows.
  std::deque<Change> all_;    // The oldest first, both.
  std::deque<Change> own_;
  std::string name_;
};

}  // namespace gcoord::cli::top
