#include "server/resident/engine/event_drain.h"

#include <algorithm>

namespace gcoord::server {
namespace {

// What one turn takes from lanes where nobody waits: more is left for the next, so that clients are
// read, and who leads is looked at, every few milliseconds however much there is to hear.
constexpr std::uint32_t kToldPerTurn = 4096;
// Of that, from one lane.
constexpr std::uint32_t kToldPerLane = 256;

}  // namespace

Result<std::size_t> EventDrain::drain() {
  env_.rows.look();
  const std::uint32_t lanes = env_.node.options().shape.stripe_count;
  const std::uint32_t whole = env_.node.options().client_slots * kNoopsPerSlot;
  std::size_t told = 0;
  for (std::uint32_t lane = 0; lane < lanes; ++lane) {
    if (env_.requests.awaits(lane)) {
      const std::uint32_t most = env_.rows.is_ending(lane) ? whole : kToldPerLane;
      GCOORD_TRY(const std::uint32_t heard, drain_lane(lane, most));
      told += heard;
    }
  }
  std::uint32_t left = kToldPerTurn;
  for (std::uint32_t k = 0; k < lanes && left != 0; ++k) {
    GCOORD_TRY(const std::uint32_t heard, drain_lane(next_lane_, std::min(left, kToldPerLane)));
    told += heard;
    left -= heard;
    next_lane_ = (next_lane_ + 1) % lanes;
  }
  return told + (env_.rows.follow() ? 1 : 0);
}

// Takes what a lane brought; how much that was.
Result<std::uint32_t> EventDrain::drain_lane(std::uint32_t lane, std::uint32_t most) {
  std::uint32_t told = 0;
  for (; told < most; ++told) {
    const auto slot = env_.node.pull(lane);
    if (!slot.has_value()) {
      break;
    }
    const TurnVerdict verdict = slot->reply.verdict;
    if (env_.storage != nullptr && verdict == TurnVerdict::Store) {
      GCOORD_TRY_STATUS(env_.storage->take(*slot));
      continue;
    }
    probe_.take(lane, slot->reply);
    GCOORD_TRY_STATUS(env_.rows.take(lane, *slot));
    if (env_.storage != nullptr &&
        (verdict == TurnVerdict::Committed || verdict == TurnVerdict::Told)) {
      GCOORD_TRY_STATUS(env_.storage->on_told(*slot));
    }
  }
  if (told != 0) {
    probe_.heard(lane, env_.now_ms());
  }
  return told;
}

}  // namespace gcoord::server
