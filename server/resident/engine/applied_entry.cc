#include "server/resident/engine/applied_entry.h"

#include "server/interfaces/log_record.h"
#include "server/replicas/shard_codec.h"
#include "server/resident/node/lock_turn_service.h"

#include <cstring>

namespace gcoord::server {
namespace {

// Of a command of the entry; of one without a stamp nobody reads origin and time.
RecordHeader header_of(const locks::LockEntry& entry) {
  const auto stamp = stamp_of(entry.request);
  return stamp ? RecordHeader{RecordKind::LockCommand, stamp->origin, stamp->time_ms}
               : RecordHeader{RecordKind::LockCommand};
}

}  // namespace

bool is_stamped(const locks::LockEntry& entry) {
  return stamp_of(entry.request).has_value();
}

std::optional<consensus::Configuration> configuration_said(const locks::LockEntry& entry,
                                                           std::uint32_t voters) {
  if (!LockTurnService::is_configuration(entry)) {
    return std::nullopt;
  }
  const consensus::Configuration said = LockTurnService::configuration_of(entry);
  const locks::LockEntry again = LockTurnService::configuration_entry(said);
  const bool whole = std::memcmp(&again, &entry, sizeof entry) == 0;
  return whole && is_of_cluster(said, voters) ? std::optional{said} : std::nullopt;
}

// Tables of locks have no part in a record, so one of a lock command is nothing.
void AppliedEntryBuilder::put_record(const locks::LockEntry& entry, const EntryMeaning& meaning) {
  record_.clear();
  if (meaning.kind == ReassembledKind::Record) {
    const auto header = decode_record_header(meaning.encoded);
    // No host writes such a time. The leaf of one would read as an entry of a device.
    const bool timeless = is_stamped(entry) && header && header->time_ms < kRecordTimeLeastMs;
    if (header && is_system_kind(header->kind) && !timeless) {
      record_.assign(meaning.encoded.begin(), meaning.encoded.end());
    }
  } else if (meaning.kind == ReassembledKind::Command) {
    put_record_header(record_, header_of(entry));
    if (meaning.command != nullptr && is_stamped(entry)) {
      locks::encode(*meaning.command, record_);
    }
    record_.insert(record_.end(), meaning.encoded.begin(), meaning.encoded.end());
  }
}

std::span<const std::byte> AppliedEntryBuilder::leaf_without_record(const locks::LockEntry& entry) {
  leaf_.clear();
  if (const auto said = configuration_said(entry, names_.count())) {
    const consensus::Configuration configuration = names_.with_ids(*said);
    const auto bytes = encode_configuration(configuration);
    put_record_header(leaf_, {RecordKind::Configuration});
    leaf_.insert(leaf_.end(), bytes.begin(), bytes.end());
  } else {
    put_record_header(leaf_, {RecordKind::Part});
  }
  return leaf_;
}

AppliedEntry AppliedEntryBuilder::of(const locks::LockEntry& entry,
                                     const EntryMeaning& meaning,
                                     bool stamped_before) {
  AppliedEntry applied;
  if (LockTurnService::is_noop(entry)) {
    applied.kind = consensus::EntryKind::Noop;
    return applied;
  }
  put_record(entry, meaning);
  applied.payload = record_;
  applied.command = meaning.kind == ReassembledKind::Command ? meaning.command : nullptr;
  const bool makes_record =
      LockTurnService::is_configuration(entry) ? stamped_before : is_stamped(entry);
  if (!makes_record) {
    applied.leaf = std::as_bytes(std::span{&entry, 1});
  } else if (record_.empty()) {
    applied.leaf = leaf_without_record(entry);
  }
  return applied;
}

}  // namespace gcoord::server
