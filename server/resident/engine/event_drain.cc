#include "server/resident/engine/event_drain.h"

#include "common/device/device_errors.h"

#include <algorithm>
#include <string>

namespace gcoord::server {
namespace {

// What one turn takes from lanes where nobody waits: more is left for the next, so that clients are
// read, and who leads is looked at, every few milliseconds however much there is to hear.
constexpr std::uint32_t kToldPerTurn = 4096;
// Of that, from one lane.
constexpr std::uint32_t kToldPerLane = 256;

}  // namespace

Result<std::size_t> EventDrain::drain() {
  GCOORD_TRY_STATUS(look());
  const std::uint32_t lanes = env_.node.options().shape.stripe_count;
  const std::uint32_t whole = env_.node.options().client_slots * kNoopsPerSlot;
  std::size_t told = 0;
  std::fill(drained_.begin(), drained_.end(), false);
  for (std::uint32_t lane = 0; lane < lanes; ++lane) {
    if (env_.requests.awaits(lane)) {
      const std::uint32_t most = env_.rows.is_ending(lane) ? whole : kToldPerLane;
      GCOORD_TRY(const std::uint32_t heard, drain_lane(lane, most));
      told += heard;
      drained_[lane] = heard < most;
    }
  }
  std::uint32_t left = kToldPerTurn;
  for (std::uint32_t k = 0; k < lanes && left != 0; ++k) {
    if (!drained_[next_lane_]) {
      GCOORD_TRY(const std::uint32_t heard, drain_lane(next_lane_, std::min(left, kToldPerLane)));
      told += heard;
      left -= heard;
    }
    next_lane_ = (next_lane_ + 1) % lanes;
  }
  return told + (env_.rows.follow() ? 1 : 0);
}

Status EventDrain::look() {
  env_.rows.look();
  const auto impossible = env_.rows.leaders().impossible();
  if (!impossible.has_value()) {
    return {};
  }
  return {StatusCode::Internal,
          "the device reported an impossible leader of shard " + std::to_string(impossible->value),
          kDeviceFailed};
}

Status EventDrain::take(std::uint32_t lane, const HostEventSlot& told) {
  GCOORD_TRY_STATUS(check_.judge(lane, told));
  const TurnVerdict verdict = told.reply.verdict;
  if (env_.storage != nullptr && verdict == TurnVerdict::Store) {
    return env_.storage->take(told);
  }
  probe_.take(lane, told.reply);
  GCOORD_TRY_STATUS(env_.rows.take(lane, told));
  const bool decided = verdict == TurnVerdict::Committed || verdict == TurnVerdict::Told;
  return env_.storage != nullptr && decided ? env_.storage->on_told(told) : Status{};
}

// Takes what a lane brought; how much that was.
Result<std::uint32_t> EventDrain::drain_lane(std::uint32_t lane, std::uint32_t most) {
  std::uint32_t told = 0;
  for (; told < most; ++told) {
    const HostEventSlot* const slot = env_.node.pull(lane);
    if (slot == nullptr) {
      break;
    }
    GCOORD_TRY_STATUS(take(lane, *slot));
  }
  if (env_.node.lane(lane).is_broken()) {
    return Status{StatusCode::Internal,
                  "the device wrote what none writes to lane " + std::to_string(lane),
                  kDeviceFailed};
  }
  if (told != 0) {
    probe_.heard(lane, env_.now_ms());
  }
  return told;
}

}  // namespace gcoord::server
