// The state machines of a node with limits beside them: what the engine calls.
//
//   engine -> LimitsMachine -> AccessMachine -> the machines behind that
//
// Every call is passed on. Commands of limits (RecordKind::Limits in the log of shard 0) are taken
// here, too, and change a state that is part of shard 0's: it is in its checkpoints, its snapshots
// and its digest, and a witness has it. The bytes of shard 0: what is passed on gives, then the
// part of security/limits/part.h; without limits there is nothing behind what is passed on, as in
// earlier releases. A listener, which is set once the engine is open, hears of changes.
//
// One thread, the engine's; the listener is called in its calls and must not block.
#pragma once

#include "common/random.h"
#include "protocol/reply_sink.h"
#include "security/limits/command.h"
#include "security/limits/limit_cpu.h"
#include "server/interfaces/command_machine.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace gcoord::server {

// The shard whose log orders changes of limits.
inline constexpr ShardId kLimitsShard = kViewShard;

class LimitsListener {
 public:
  virtual ~LimitsListener() = default;

  // Another table, or the first one that is known.
  virtual void on_limits() = 0;
  // A proposal of this node was decided, or will not be.
  virtual void on_limits_decided(std::uint64_t cookie, security::LimitCode code) = 0;
  virtual void on_limits_lost(std::uint64_t cookie, const Status& status, NodeId leader_hint) = 0;
};

// The record that is proposed for a command. time_ms: Unix milliseconds.
inline std::vector<std::byte> limits_record(std::span<const std::byte> command,
                                            protocol::RecordOrigin origin,
                                            std::uint64_t time_ms) {
  return make_record({RecordKind::Limits, origin, time_ms}, command);
}

// See command_machine.h.
struct LimitsPolicy {
  using State = security::LimitCpu;
  using Code = security::LimitCode;
  using Listener = LimitsListener;

  static constexpr CookieOwner kOwner = CookieOwner::Limits;
  static constexpr RecordKind kRecord = RecordKind::Limits;
  static constexpr PartMark kMark = PartMark::Limits;
  static constexpr std::string_view kName = "limits";
  static constexpr std::size_t kCommandBytes = security::kLimitCommandBytesMax;
  static constexpr auto kOnChanged = &LimitsListener::on_limits;
  static constexpr auto kOnDecided = &LimitsListener::on_limits_decided;
  static constexpr auto kOnLost = &LimitsListener::on_limits_lost;

  // Behind the view, and users and roles, which mix theirs in first.
  static std::uint64_t mix(std::uint64_t inner, std::uint32_t digest) {
    return mix64(inner ^ mix64(digest));
  }
};

class LimitsMachine final : public CommandMachine<LimitsPolicy> {
 public:
  using CommandMachine::CommandMachine;

  const security::LimitTable& table() const { return state_now().table(); }

  const security::LimitCpu& state_of_limits() const { return state_now(); }
};

}  // namespace gcoord::server
