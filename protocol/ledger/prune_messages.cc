#include "protocol/ledger/prune_messages.h"

#include "common/bytes.h"
#include "protocol/error_codes.h"
#include "protocol/request.h"

#include <utility>

namespace gcoord::protocol {

std::vector<std::byte> encode_ledger_prune(const LedgerPrune& order) {
  std::vector<std::byte> out;
  ByteWriter writer{out};
  writer.integer(static_cast<std::uint8_t>(order.log));
  writer.integer(order.shard);
  writer.integer(order.below);
  writer.integer(order.entries);
  writer.integer(order.bytes);
  writer.integer(order.age_ms);
  return out;
}

LedgerPrune read_ledger_prune(ByteReader& reader) {
  LedgerPrune order;
  order.log = static_cast<LedgerLog>(reader.integer<std::uint8_t>());
  order.shard = reader.integer<std::uint32_t>();
  order.below = reader.integer<std::uint64_t>();
  order.entries = reader.integer<std::uint64_t>();
  order.bytes = reader.integer<std::uint64_t>();
  order.age_ms = reader.integer<std::uint64_t>();
  return order;
}

Result<LedgerPrune> decode_ledger_prune(std::span<const std::byte> payload) {
  ByteReader reader{payload};
  const LedgerPrune order = read_ledger_prune(reader);
  if (!reader.complete() || order.log > LedgerLog::Cluster) {
    return make_error(ErrorCode::PayloadMalformed, "ledger_prune");
  }
  if ((order.below | order.entries | order.bytes | order.age_ms) == 0) {
    return make_error(ErrorCode::LedgerPruneInvalid, "the request has no bound");
  }
  if (order.log == LedgerLog::Shards && order.below != 0 && order.shard == kAllShards) {
    return make_error(ErrorCode::LedgerPruneInvalid, "an index needs one shard");
  }
  if (order.log == LedgerLog::Cluster && (order.age_ms != 0 || order.shard != 0)) {
    return make_error(ErrorCode::LedgerPruneInvalid,
                      "the cluster log has no shard, and its leaves have no age");
  }
  return order;
}

std::string prune_text(const LedgerPrune& order) {
  std::string text = order.log == LedgerLog::Cluster ? "the cluster log"
                     : order.shard == kAllShards     ? "all shards"
                                                     : "shard " + std::to_string(order.shard);
  const std::pair<const char*, std::uint64_t> bounds[] = {{"below", order.below},
                                                          {"entries", order.entries},
                                                          {"bytes", order.bytes},
                                                          {"age_ms", order.age_ms}};
  for (const auto& [name, number] : bounds) {
    if (number != 0) {
      text += ", " + std::string{name} + " " + std::to_string(number);
    }
  }
  return text;
}

std::vector<std::byte> encode_ledger_pruned(const LedgerPruned& pruned) {
  std::vector<std::byte> out;
  ByteWriter writer{out};
  writer.integer(pruned.logs);
  writer.integer(pruned.entries);
  writer.integer(pruned.kept);
  writer.integer(pruned.damaged);
  return out;
}

Result<LedgerPruned> decode_ledger_pruned(std::span<const std::byte> payload) {
  ByteReader reader{payload};
  LedgerPruned pruned;
  pruned.logs = reader.integer<std::uint64_t>();
  pruned.entries = reader.integer<std::uint64_t>();
  pruned.kept = reader.integer<std::uint64_t>();
  pruned.damaged = reader.integer<std::uint64_t>();
  if (!reader.complete()) {
    return make_error(ErrorCode::PayloadMalformed, "ledger_pruned");
  }
  return pruned;
}

}  // namespace gcoord::protocol
