// Rows and pages of lock_get and lock_list.
#include "common/bytes.h"
#include "protocol/error_codes.h"
#include "protocol/lock_messages.h"
#include "protocol/validate.h"

namespace gcoord::protocol {
namespace {

// shard, holder, token, index, ttl, waiter count, name length, waiters listed.
constexpr std::size_t kRowBytesMin = 4 + 8 + 8 + 8 + 4 + 4 + 2 + 4;
constexpr std::size_t kWaiterBytes = 8 + 8 + 4;

constexpr std::size_t kHolderBytes = 8 + 8 + 8 + 4;

// No row lists more waiters than a frame holds.
constexpr std::uint32_t kWaitersMax = kPayloadBytesMax / kWaiterBytes;

void write_row(ByteWriter& writer, const LockRow& row) {
  writer.integer(row.shard.value);
  writer.integer(row.holder.value);
  writer.integer(row.token.value);
  writer.integer(row.acquired_index.value);
  writer.integer(row.ttl_left_ms);
  writer.integer(row.waiter_count);
  writer.text(row.name);
  writer.integer(static_cast<std::uint32_t>(row.waiters.size()));
  for (const LockWaiter& waiter : row.waiters) {
    writer.integer(waiter.session.value);
    writer.integer(waiter.sequence.value);
    writer.integer(waiter.waited_ms);
  }
}

LockRow read_row(ByteReader& reader) {
  LockRow row;
  row.shard = ShardId{reader.integer<std::uint32_t>()};
  row.holder = SessionId{reader.integer<std::uint64_t>()};
  row.token = FencingToken{reader.integer<std::uint64_t>()};
  row.acquired_index = LogIndex{reader.integer<std::uint64_t>()};
  row.ttl_left_ms = reader.integer<std::uint32_t>();
  row.waiter_count = reader.integer<std::uint32_t>();
  row.name = reader.text(kNameBytesMax);
  row.waiters.resize(reader.count(kWaiterBytes, kWaitersMax));
  for (LockWaiter& waiter : row.waiters) {
    waiter.session = SessionId{reader.integer<std::uint64_t>()};
    waiter.sequence = RequestSequence{reader.integer<std::uint64_t>()};
    waiter.waited_ms = reader.integer<std::uint32_t>();
  }
  return row;
}

}  // namespace

std::vector<std::byte> encode_lock_row(const LockRow& row) {
  std::vector<std::byte> out;
  ByteWriter writer{out};
  write_row(writer, row);
  return out;
}

Result<LockRow> decode_lock_row(std::span<const std::byte> payload) {
  ByteReader reader{payload};
  LockRow row = read_row(reader);
  if (!reader.complete()) {
    return make_error(ErrorCode::PayloadMalformed, "lock row");
  }
  return row;
}

std::vector<std::byte> encode_lock_details(const LockRow& row) {
  std::vector<std::byte> out;
  ByteWriter writer{out};
  write_row(writer, row);
  writer.integer(row.hold_count);
  writer.text(row.note);
  writer.integer(row.permits_limit);
  writer.integer(static_cast<std::uint32_t>(row.holders.size()));
  for (const LockHolder& holder : row.holders) {
    writer.integer(holder.session.value);
    writer.integer(holder.token.value);
    writer.integer(holder.acquired_index.value);
    writer.integer(holder.permits);
  }
  return out;
}

Result<LockRow> decode_lock_details(std::span<const std::byte> payload) {
  ByteReader reader{payload};
  LockRow row = read_row(reader);
  row.hold_count = reader.integer<std::uint32_t>();
  row.note = reader.text(kNoteBytesMax);
  row.permits_limit = reader.integer<std::uint32_t>();
  row.holders.resize(reader.count(kHolderBytes, kHoldersMax));
  for (LockHolder& holder : row.holders) {
    holder.session = SessionId{reader.integer<std::uint64_t>()};
    holder.token = FencingToken{reader.integer<std::uint64_t>()};
    holder.acquired_index = LogIndex{reader.integer<std::uint64_t>()};
    holder.permits = reader.integer<std::uint32_t>();
  }
  if (!reader.complete()) {
    return make_error(ErrorCode::PayloadMalformed, "lock details");
  }
  return row;
}

std::vector<std::byte> encode_list_query(const ListQuery& query) {
  std::vector<std::byte> out;
  ByteWriter writer{out};
  writer.integer(query.limit);
  writer.text(query.prefix);
  writer.text(query.cursor);
  return out;
}

Result<ListQuery> decode_list_query(std::span<const std::byte> payload) {
  ByteReader reader{payload};
  ListQuery query;
  query.limit = reader.integer<std::uint32_t>();
  query.prefix = reader.text(payload.size());
  query.cursor = reader.text(payload.size());
  if (!reader.complete()) {
    return make_error(ErrorCode::PayloadMalformed, "lock_list");
  }
  if (const ErrorCode code = check_prefix(query.prefix); code != ErrorCode::None) {
    return make_error(code);
  }
  if (query.cursor.size() > kCursorBytesMax) {
    return make_error(ErrorCode::CursorTooLong);
  }
  if (query.limit == 0 || query.limit > kListRowsMax) {
    return make_error(ErrorCode::LimitOutOfRange);
  }
  return query;
}

std::size_t encoded_bytes(const LockRow& row) {
  return kRowBytesMin + row.name.size() + row.waiters.size() * kWaiterBytes;
}

std::vector<std::byte> encode_list_page(const ListPage& page) {
  std::vector<std::byte> out;
  ByteWriter writer{out};
  writer.text(page.next_cursor);
  writer.integer(static_cast<std::uint32_t>(page.rows.size()));
  for (const LockRow& row : page.rows) {
    write_row(writer, row);
  }
  return out;
}

Result<ListPage> decode_list_page(std::span<const std::byte> payload) {
  ByteReader reader{payload};
  ListPage page;
  page.next_cursor = reader.text(kCursorBytesMax);
  const std::uint32_t row_count = reader.count(kRowBytesMin, kListRowsMax);
  for (std::uint32_t index = 0; index < row_count && reader.ok(); ++index) {
    page.rows.push_back(read_row(reader));
  }
  if (!reader.complete()) {
    return make_error(ErrorCode::PayloadMalformed, "list page");
  }
  return page;
}

}  // namespace gcoord::protocol
