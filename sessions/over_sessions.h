// Memory of sessions that are over as a whole, so that their keep-alives are answered with Lost.
//
// A ring of so many: the oldest give way. Several clocks may share one memory (clock.h), since a
// session has registrations in all of them; `Shared` then lets threads call it at any time, one
// after another. Of an unshared one, a view lets a device look things up, too. Host only.
#pragma once

#include "common/host/short_mutex.h"
#include "common/ids.h"
#include "common/tables/growing_index.h"
#include "common/tables/hash_index.h"

#include <cstdint>
#include <vector>

namespace gcoord::sessions {

enum class OverSharing : std::uint8_t { Alone, Shared };

struct OverSessionsOptions {
  std::uint32_t remembered_max = 16384;
  std::uint64_t index_seed = 0;
  OverSharing sharing = OverSharing::Alone;
};

class OverSessions {
 public:
  explicit OverSessions(const OverSessionsOptions& options);

  // Whether the session is over, as far as is remembered.
  bool remembers(SessionId session) const;

  void remember(SessionId session);

  // Its place stays empty until it is used again.
  void forget(SessionId session);

  bool shared() const { return options_.sharing == OverSharing::Shared; }

  // What a device looks up; a row of the index is a place of the ring, from 1. Of an unshared one.
  struct View {
    const SessionId* ring = nullptr;
    std::uint32_t capacity = 0;
    MovingIndex index;
  };

  View view() const {
    return {ring_.data(), static_cast<std::uint32_t>(ring_.size()), index_.view()};
  }

 private:
  ShortMutex::Held hold() const { return ShortMutex::Held{shared() ? &mutex_ : nullptr}; }

  std::uint32_t hash_of(SessionId session) const;
  std::uint32_t place_of(SessionId session) const;

  OverSessionsOptions options_;
  mutable ShortMutex mutex_;  // Of everything below, where it is shared.
  std::vector<SessionId> ring_;
  GrowingIndex index_;
  std::uint64_t count_ = 0;  // Ever remembered.
};

}  // namespace gcoord::sessions
