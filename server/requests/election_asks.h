// Requested transfers of an election: the next leader that was asked for, per current leader.
//
// Whoever asks changes nothing: the ask stands here, in the memory of the node that leads the
// name's shard, until the leader of the election reads it with its line, hands over, or a short
// time has passed; whoever still wants it asks again. So it needs no log, and a restart or another
// leader of the shard costs one repetition. An ask names the term that it is about, so it never
// outlives it. Bounded; one thread.
#pragma once

#include "common/ids.h"
#include "common/name_hash.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

namespace gcoord::server {

class TransferRequests {
 public:
  // Names at most; more are refused until some have passed. 64 bytes each.
  static constexpr std::size_t kAsksMax = 4096;

  // How long an ask stands: several looks of a leader that looks every second.
  static constexpr std::uint64_t kStandsMs = 5'000;

  explicit TransferRequests(std::uint32_t tick_ms) : stands_ticks_(kStandsMs / tick_ms + 1) {}

  // The newest ask of a name counts. False when there is no room.
  bool ask(NameHash name, FencingToken epoch, SessionId target, Tick now);

  // Who is wanted in place of the leader of this epoch; 0: nobody.
  SessionId wanted(NameHash name, FencingToken epoch, Tick now) const;

  std::size_t size() const { return asks_.size(); }

 private:
  using Key = std::pair<std::uint64_t, std::uint64_t>;

  struct Ask {
    FencingToken epoch;
    SessionId target;
    Tick until;
  };

  std::uint64_t stands_ticks_;
  std::map<Key, Ask> asks_;
};

}  // namespace gcoord::server
