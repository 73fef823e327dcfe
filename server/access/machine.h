// The state machines of a node with users and roles beside them: what the engine calls.
//
//   engine -> AccessMachine -> ViewMachine -> the machines that were there before
//
// Every call is passed on. Commands of access control (RecordKind::Access in the log of shard 0)
// are taken here, too, and change a state that is part of shard 0's: it is in its checkpoints, its
// snapshots and its digest, and a witness has it. The bytes of shard 0: what is passed on gives,
// then the part of security/roles/part.h; without users and roles there is nothing behind what is
// passed on, as in earlier releases. A listener, which is set once the engine is open, hears of
// changes.
//
// One thread, the engine's; the listener is called in its calls and must not block.
#pragma once

#include "common/random.h"
#include "protocol/reply_sink.h"
#include "security/roles/command.h"
#include "security/roles/first_admin.h"
#include "security/roles/role_cpu.h"
#include "server/interfaces/command_machine.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gcoord::server {

// The shard whose log orders changes of users and roles.
inline constexpr ShardId kAccessShard = kViewShard;

class AccessListener {
 public:
  virtual ~AccessListener() = default;

  // Another table, or the first one that is known.
  virtual void on_access() = 0;
  // A proposal of this node was decided, or will not be.
  virtual void on_access_decided(std::uint64_t cookie, security::AccessCode code) = 0;
  virtual void on_access_lost(std::uint64_t cookie, const Status& status, NodeId leader_hint) = 0;
  // A message of another node that begins with kRecoveryKind (recovery.h).
  virtual void on_recovery_message(NodeId from, std::span<const std::byte> message) = 0;
};

// The record that is proposed for a command. time_ms: Unix milliseconds.
inline std::vector<std::byte> access_record(std::span<const std::byte> command,
                                            protocol::RecordOrigin origin,
                                            std::uint64_t time_ms) {
  return make_record({RecordKind::Access, origin, time_ms}, command);
}

// See command_machine.h.
struct AccessPolicy {
  using State = security::AccessCpu;
  using Code = security::AccessCode;
  using Listener = AccessListener;

  static constexpr CookieOwner kOwner = CookieOwner::Access;
  static constexpr RecordKind kRecord = RecordKind::Access;
  static constexpr PartMark kMark = PartMark::Access;
  static constexpr std::string_view kName = "users and roles";
  static constexpr std::size_t kCommandBytes = security::kAccessCommandBytesMax;
  static constexpr auto kOnChanged = &AccessListener::on_access;
  static constexpr auto kOnDecided = &AccessListener::on_access_decided;
  static constexpr auto kOnLost = &AccessListener::on_access_lost;

  // Apart from that of the view, which mixes its own in a similar way.
  static std::uint64_t mix(std::uint64_t inner, std::uint32_t digest) {
    return mix64(inner ^ mix64(digest));
  }
};

class AccessMachine final : public CommandMachine<AccessPolicy> {
 public:
  using CommandMachine::CommandMachine;

  // A cluster of this node that begins does so with rights checked. Once, before the engine opens.
  void set_first_admin(std::string name) { first_admin_.emplace(std::move(name)); }

  // The table by which the node decides; with a first admin also before the log has one.
  const security::AccessTable& table() const {
    const security::AccessTable& table = state_now().table();
    return first_admin_ ? first_admin_->effective(table) : table;
  }

  // What the log has not said yet of the first admin; nothing: all of it, or there is none.
  std::optional<security::AccessCommand> first_change() const {
    return first_admin_ ? first_admin_->next(state_now().table()) : std::nullopt;
  }

  const security::AccessCpu& state_of_access() const { return state_now(); }

  // server/interfaces/state_machine.h
  void on_peer_message(NodeId from, std::span<const std::byte> message) override;

 private:
  std::optional<security::FirstAdmin> first_admin_;
};

}  // namespace gcoord::server
