// The state machines of a node with the cluster view beside them: what the engine calls.
//
//   engine -> ViewMachine -> the machines that were there before
//
// Every call is passed on. View commands (RecordKind::View in the log of shard 0) are taken here,
// too, and change a state that is part of shard 0's: it is in its checkpoints, its snapshots and
// its digest. The bytes of shard 0: what is passed on gives, the view's state, its length u32, and
// the view's mark; without a view there is nothing behind what is passed on, as in earlier
// releases. What was learned is told to a listener, which is set once the engine is open.
//
// One thread, the engine's; the listener is called in its calls and must not block.
#pragma once

#include "common/random.h"
#include "membership/view/command.h"
#include "membership/view/cpu.h"
#include "protocol/reply_sink.h"
#include "server/interfaces/command_machine.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace gcoord::server {

class ViewListener {
 public:
  virtual ~ViewListener() = default;

  // Another view, or the first one that is known.
  virtual void on_view() = 0;
  // A proposal of this node was decided, or will not be.
  virtual void on_view_decided(std::uint64_t cookie, membership::ViewCode code) = 0;
  virtual void on_view_lost(std::uint64_t cookie, const Status& status, NodeId leader_hint) = 0;
};

// The record that is proposed for a command. time_ms: Unix milliseconds.
inline std::vector<std::byte> view_record(std::span<const std::byte> command,
                                          protocol::RecordOrigin origin,
                                          std::uint64_t time_ms) {
  return make_record({RecordKind::View, origin, time_ms}, command);
}

// See command_machine.h.
struct ViewPolicy {
  using State = membership::ViewCpu;
  using Code = membership::ViewCode;
  using Listener = ViewListener;

  static constexpr CookieOwner kOwner = CookieOwner::View;
  static constexpr RecordKind kRecord = RecordKind::View;
  static constexpr PartMark kMark = PartMark::View;
  static constexpr std::string_view kName = "cluster view";
  static constexpr std::size_t kCommandBytes = membership::kViewCommandBytesMax;
  static constexpr auto kOnChanged = &ViewListener::on_view;
  static constexpr auto kOnDecided = &ViewListener::on_view_decided;
  static constexpr auto kOnLost = &ViewListener::on_view_lost;

  static std::uint64_t mix(std::uint64_t inner, std::uint32_t digest) {
    return mix64(inner ^ digest);
  }
};

class ViewMachine final : public CommandMachine<ViewPolicy> {
 public:
  using CommandMachine::CommandMachine;

  const membership::ViewCpu& views() const { return state_now(); }
};

}  // namespace gcoord::server
