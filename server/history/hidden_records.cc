#include "server/history/hidden_records.h"

#include "ledger/tiles/hidden_entry.h"
#include "locks/commands/entry.h"
#include "security/roles/command.h"
#include "server/history/record_text.h"
#include "server/interfaces/log_record.h"

namespace gcoord::server {

namespace {

// The shard of users and roles (server/access/machine.h).
constexpr ShardId kUsersShard{ledger::kHidingShard};

bool is_piece(std::span<const std::byte> entry) {
  return is_device_entry(entry) &&
         std::to_integer<std::uint8_t>(entry.front()) == locks::kEntryPiece;
}

}  // namespace

std::optional<std::vector<std::byte>> without_secret(ShardId shard,
                                                     std::span<const std::byte> entry) {
  if (shard != kUsersShard) {
    return std::nullopt;  // Changes of users stand in no other log, and readers take none there.
  }
  if (is_piece(entry)) {
    return ledger::hidden_entry(entry, {});
  }
  const auto header = decode_record_header(entry);
  if (is_device_entry(entry) || !header || header->kind != RecordKind::Access) {
    return std::nullopt;
  }
  auto command = security::decode_access_command(record_body(entry));
  if (!command) {
    return ledger::hidden_entry(entry, entry.first(kRecordHeaderBytes));
  }
  if (command->verifier.bytes.empty()) {
    return std::nullopt;
  }
  command->verifier.bytes.clear();
  std::vector<std::byte> shown(entry.begin(), entry.begin() + kRecordHeaderBytes);
  const std::vector<std::byte> body = encode_access_command(*command);
  shown.insert(shown.end(), body.begin(), body.end());
  return ledger::hidden_entry(entry, shown);
}

Result<std::vector<std::vector<std::byte>>> OpenTree::entries(std::uint64_t index,
                                                              std::size_t count) const {
  GCOORD_TRY(auto entries, tree_->entries(index, count));
  for (std::vector<std::byte>& entry : entries) {
    if (auto hidden = without_secret(shard_, entry)) {
      entry = *std::move(hidden);
      hidden_.store(true, std::memory_order_relaxed);
    }
  }
  return entries;
}

}  // namespace gcoord::server
