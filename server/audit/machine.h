// The state machines of a node with the notes of its sessions beside them: what the engine calls.
//
//   engine -> AuditMachine -> AccessMachine -> the machines that were there before
//
// Every call is passed on. Notes (RecordKind::SessionNote) are taken here, too, and change a table
// that is part of its shard's state: it is in the shard's checkpoints, snapshots and digest. The
// bytes of a shard: what is passed on gives, then the table and a mark of its own
// (common/marked_part.h); without notes there is nothing behind what is passed on, as in earlier
// releases. A witness keeps no notes. A listener, which is set once the engine is open, hears of
// them.
//
// One thread, the engine's; the listener is called in its calls and must not block.
#pragma once

#include "common/random.h"
#include "protocol/reply_sink.h"
#include "security/audit/note.h"
#include "security/audit/note_table.h"
#include "server/interfaces/part_machine.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace gcoord::server {

// First byte of the peer message with notes for the leaders of their shards. Never renumber.
inline constexpr std::byte kSessionNotesKind{145};

// The record that is proposed for a note. time_ms: Unix milliseconds.
std::vector<std::byte> note_record(const security::AuditNote& note,
                                   protocol::RecordOrigin origin,
                                   std::uint64_t time_ms);

// The note in a record; nothing for one of another kind, and for what is none.
std::optional<security::AuditNote> note_of_record(std::span<const std::byte> record);

class NoteListener {
 public:
  virtual ~NoteListener() = default;

  // A note stands in the log of the shard, whoever proposed it.
  virtual void on_noted(ShardId shard, const security::AuditNote& note) = 0;
  // A message of another node that begins with kSessionNotesKind.
  virtual void on_notes_message(NodeId from, std::span<const std::byte> message) = 0;
};

struct AuditMachineOptions {
  std::uint32_t shard_count = 1;
  bool keeps = true;  // Not on a witness.
};

// Notes of all shards, as a part of the state of each (part_machine.h).
class NotePart {
 public:
  static constexpr CookieOwner kOwner = CookieOwner::Notes;
  static constexpr PartMark kMark = PartMark::SessionNotes;
  static constexpr std::string_view kName = "notes of sessions";
  static constexpr bool kOnWitness = false;

  explicit NotePart(const AuditMachineOptions& options)
      : keeps_(options.keeps), notes_(options.shard_count) {}

  bool keeps() const { return keeps_; }

  security::NoteTable& notes() { return notes_; }

  const security::NoteTable& notes() const { return notes_; }

  bool in(ShardId) const { return true; }

  bool is_empty(ShardId shard) const { return notes_.is_empty(shard); }

  void serialize(ShardId shard, std::vector<std::byte>& bytes) const {
    notes_.serialize(shard, bytes);
  }

  std::optional<std::span<const std::byte>> parse(std::span<const std::byte> bytes) const {
    return notes_.plausible(bytes) ? std::optional(bytes) : std::nullopt;
  }

  void take(ShardId shard, std::span<const std::byte> bytes) {
    notes_.install(shard, keeps_ ? bytes : std::span<const std::byte>{});
  }

  std::uint32_t digest(ShardId shard) const;

  // Apart from those of the view and of access control, which mix theirs in a similar way.
  static std::uint64_t mix(std::uint64_t inner, std::uint32_t digest) {
    return mix64(inner + mix64(digest));
  }

 private:
  const bool keeps_;
  security::NoteTable notes_;
};

class AuditMachine final : public PartMachine<NotePart> {
 public:
  // inner outlives it.
  AuditMachine(StateMachine& inner, const AuditMachineOptions& options)
      : PartMachine(inner, NotePart{options}) {}

  // nullptr: nobody listens any more.
  void set_listener(NoteListener* listener) { listener_ = listener; }

  const security::NoteTable& notes() const { return part_.notes(); }

  // server/interfaces/state_machine.h
  void apply(const AppliedEntry& entry) override;
  void on_proposal_failed(std::uint64_t cookie, const Status& status, NodeId leader_hint) override;
  void on_peer_message(NodeId from, std::span<const std::byte> message) override;

 private:
  void apply_note(const AppliedEntry& entry, std::uint64_t time_ms);
  void note_ends(const AppliedEntry& entry);

  NoteListener* listener_ = nullptr;
};

}  // namespace gcoord::server
