#include "protocol/ledger/order_messages.h"

#include "common/bytes.h"
#include "protocol/error_codes.h"

#include <utility>

namespace gcoord::protocol {

namespace {

constexpr std::size_t kHeadBytes = 1 + 8;
constexpr std::size_t kBoundsBytes = 1 + 4 + 4 * 8;
constexpr std::size_t kRowBytesMin = kBoundsBytes + 2 * (8 + 2) + 8;
constexpr std::size_t kWhoBytesMax = 255;

void append(std::vector<std::byte>& bytes, const LedgerPrune& bounds) {
  const std::vector<std::byte> encoded = encode_ledger_prune(bounds);
  bytes.insert(bytes.end(), encoded.begin(), encoded.end());
}

}  // namespace

std::vector<std::byte> encode_prune_orders_query(const PruneOrdersQuery& query) {
  std::vector<std::byte> bytes;
  ByteWriter writer{bytes};
  writer.integer(static_cast<std::uint8_t>(query.action));
  writer.integer(query.number);
  if (query.action != PruneOrderAction::List) {
    append(bytes, query.bounds);
  }
  return bytes;
}

Result<PruneOrdersQuery> decode_prune_orders_query(std::span<const std::byte> payload) {
  ByteReader reader{payload};
  PruneOrdersQuery query;
  const auto action = reader.integer<std::uint8_t>();
  query.number = reader.integer<std::uint64_t>();
  const bool lists = action == static_cast<std::uint8_t>(PruneOrderAction::List);
  if (!reader.ok() || action > static_cast<std::uint8_t>(PruneOrderAction::Cancel) ||
      (lists && !reader.complete())) {
    return make_error(ErrorCode::PayloadMalformed, "ledger_orders");
  }
  query.action = static_cast<PruneOrderAction>(action);
  if (!lists) {
    GCOORD_TRY(query.bounds, decode_ledger_prune(payload.subspan(kHeadBytes)));
  }
  return query;
}

std::vector<std::byte> encode_prune_orders_answer(const PruneOrdersAnswer& answer) {
  std::vector<std::byte> bytes;
  ByteWriter writer{bytes};
  writer.integer(answer.epoch);
  writer.integer(answer.delay_ms);
  writer.integer(static_cast<std::uint32_t>(answer.orders.size()));
  for (const PruneOrderRow& row : answer.orders) {
    append(bytes, row.bounds);
    writer.text(row.who);
    writer.integer(row.ordered_ms);
    writer.text(row.confirmed_by);
    writer.integer(row.confirmed_ms);
    writer.integer(row.until_ms);
  }
  return bytes;
}

Result<PruneOrdersAnswer> decode_prune_orders_answer(std::span<const std::byte> payload) {
  ByteReader reader{payload};
  PruneOrdersAnswer answer;
  answer.epoch = reader.integer<std::uint64_t>();
  answer.delay_ms = reader.integer<std::uint64_t>();
  const std::uint32_t count = reader.count(kRowBytesMin, kPruneOrderRowsMax);
  for (std::uint32_t k = 0; k < count && reader.ok(); ++k) {
    PruneOrderRow row;
    row.bounds = read_ledger_prune(reader);
    row.who = reader.text(kWhoBytesMax);
    row.ordered_ms = reader.integer<std::uint64_t>();
    row.confirmed_by = reader.text(kWhoBytesMax);
    row.confirmed_ms = reader.integer<std::uint64_t>();
    row.until_ms = reader.integer<std::uint64_t>();
    answer.orders.push_back(std::move(row));
  }
  if (!reader.ok()) {
    return make_error(ErrorCode::ReplyMalformed, "ledger_orders");
  }
  return answer;
}

}  // namespace gcoord::protocol
