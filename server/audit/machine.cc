#include "server/audit/machine.h"

#include "common/crc32c.h"
#include "locks/commands/command.h"
#include "locks/commands/ends.h"
#include "server/interfaces/lock_command.h"
#include "server/interfaces/log_limits.h"
#include "server/interfaces/log_record.h"

#include <utility>

namespace gcoord::server {

namespace {

static_assert(kRecordHeaderBytes + security::kNoteBytesMax <= kCommandBytesMax);

using locks::LockCommandKind;

bool may_end_sessions(const AppliedEntry& entry) {
  const std::span<const std::byte> body = record_body(entry.payload);
  const LockCommandKind kind = entry.command != nullptr ? entry.command->kind
                               : body.empty()           ? LockCommandKind::Unknown
                                              : static_cast<LockCommandKind>(body.front());
  return kind == LockCommandKind::CloseSession || kind == LockCommandKind::ExpireSession ||
         kind == LockCommandKind::ExpireSessions;
}

}  // namespace

std::vector<std::byte> note_record(const security::AuditNote& note,
                                   protocol::RecordOrigin origin,
                                   std::uint64_t time_ms) {
  std::vector<std::byte> record;
  put_record_header(record, {RecordKind::SessionNote, origin, time_ms});
  security::encode_note(note, record);
  return record;
}

std::optional<security::AuditNote> note_of_record(std::span<const std::byte> record) {
  const auto header = decode_record_header(record);
  return header && header->kind == RecordKind::SessionNote
             ? security::decode_note(record_body(record))
             : std::nullopt;
}

void AuditMachine::apply(const AppliedEntry& entry) {
  pass_on(entry);
  if (entry.kind != consensus::EntryKind::Command || !part_.keeps()) {
    return;
  }
  const auto header = decode_record_header(entry.payload);
  if (!header) {
    return;
  }
  if (header->kind == RecordKind::SessionNote) {
    apply_note(entry, header->time_ms);
  } else if (header->kind == RecordKind::LockCommand && !part_.is_empty(entry.shard)) {
    note_ends(entry);
  }
}

void AuditMachine::apply_note(const AppliedEntry& entry, std::uint64_t time_ms) {
  const auto note = security::decode_note(record_body(entry.payload));
  if (!note) {
    return;
  }
  if (note->kind == security::NoteKind::Session) {
    part_.notes().note(entry.shard, *note, time_ms);
  }
  if (listener_ != nullptr) {
    listener_->on_noted(entry.shard, *note);
  }
}

// By the command alone, so that all nodes do the same: an end that comes too late ends nothing of
// the session, whose note is only wanted while it lives.
void AuditMachine::note_ends(const AppliedEntry& entry) {
  if (!may_end_sessions(entry)) {
    return;
  }
  const locks::LockCommand command =
      lock_command_of(entry).value_or(locks::LockCommand{.kind = LockCommandKind::Unknown});
  if (command.kind == LockCommandKind::ExpireSessions) {
    const std::uint32_t count = locks::ends_count(command);
    for (std::uint32_t k = 0; k < count; ++k) {
      part_.notes().end(entry.shard, locks::session_end(command, k).session);
    }
  } else {
    part_.notes().end(entry.shard, command.session);
  }
}

void AuditMachine::on_proposal_failed(std::uint64_t cookie,
                                      const Status& status,
                                      NodeId leader_hint) {
  if (!is_own(cookie)) {  // A note that is wanted still is proposed again.
    inner_.on_proposal_failed(cookie, status, leader_hint);
  }
}

void AuditMachine::on_peer_message(NodeId from, std::span<const std::byte> message) {
  if (message.empty() || message.front() != kSessionNotesKind) {
    inner_.on_peer_message(from, message);
  } else if (listener_ != nullptr) {
    listener_->on_notes_message(from, message);
  }
}

std::uint32_t NotePart::digest(ShardId shard) const {
  std::vector<std::byte> bytes;
  notes_.serialize(shard, bytes);
  return crc32c(bytes);
}

}  // namespace gcoord::server
