#include "protocol/lease_messages.h"

#include "common/bytes.h"
#include "protocol/error_codes.h"

namespace gcoord::protocol {
namespace {

constexpr std::size_t kRowBytes = 32;
constexpr std::uint32_t kGranted = 1;

void write_row(ByteWriter& writer, const SessionRow& row) {
  writer.integer(row.session.value);
  writer.integer(row.ttl_ms);
  writer.integer(row.remaining_ms);
  writer.integer(row.registration_count);
  writer.integer(row.lock_count);
  writer.integer(row.granted ? kGranted : std::uint32_t{0});
  writer.integer(std::uint32_t{0});
}

SessionRow read_row(ByteReader& reader) {
  SessionRow row;
  row.session = SessionId{reader.integer<std::uint64_t>()};
  row.ttl_ms = reader.integer<std::uint32_t>();
  row.remaining_ms = reader.integer<std::uint32_t>();
  row.registration_count = reader.integer<std::uint32_t>();
  row.lock_count = reader.integer<std::uint32_t>();
  row.granted = (reader.integer<std::uint32_t>() & kGranted) != 0;
  static_cast<void>(reader.integer<std::uint32_t>());
  return row;
}

}  // namespace

std::vector<std::byte> encode_session(const SessionDetails& details) {
  GCOORD_ASSERT(details.keys.size() <= kSessionKeysMax);
  std::vector<std::byte> out;
  ByteWriter writer{out};
  write_row(writer, details.row);
  writer.integer(static_cast<std::uint32_t>(details.keys.size()));
  for (const std::string& name : details.keys) {
    writer.text(name);
  }
  return out;
}

Result<SessionDetails> decode_session(std::span<const std::byte> payload) {
  ByteReader reader{payload};
  SessionDetails details;
  details.row = read_row(reader);
  const std::uint32_t count = reader.count(sizeof(std::uint16_t), kSessionKeysMax);
  for (std::uint32_t index = 0; index < count && reader.ok(); ++index) {
    details.keys.emplace_back(reader.text(kNameBytesMax));
  }
  if (!reader.complete()) {
    return make_error(ErrorCode::PayloadMalformed, "session");
  }
  return details;
}

std::vector<std::byte> encode_session_query(const SessionQuery& query) {
  std::vector<std::byte> out;
  ByteWriter writer{out};
  writer.integer(static_cast<std::uint8_t>(query.filter));
  writer.integer(static_cast<std::uint8_t>(query.count_only ? 1 : 0));
  writer.integer(std::uint16_t{0});
  writer.integer(query.limit);
  writer.integer(query.remaining_below_ms);
  writer.integer(query.cursor);
  return out;
}

Result<SessionQuery> decode_session_query(std::span<const std::byte> payload) {
  ByteReader reader{payload};
  SessionQuery query;
  const auto filter = reader.integer<std::uint8_t>();
  const auto count_only = reader.integer<std::uint8_t>();
  const auto reserved = reader.integer<std::uint16_t>();
  query.filter = static_cast<SessionFilter>(filter);
  query.count_only = count_only != 0;
  query.limit = reader.integer<std::uint32_t>();
  query.remaining_below_ms = reader.integer<std::uint32_t>();
  query.cursor = reader.integer<std::uint32_t>();
  const bool known = filter <= static_cast<std::uint8_t>(SessionFilter::Idle) && count_only <= 1;
  if (!reader.complete() || !known || reserved != 0) {
    return make_error(ErrorCode::PayloadMalformed, "session_list");
  }
  if (query.limit == 0 || query.limit > kSessionRowsMax) {
    return make_error(ErrorCode::LimitOutOfRange);
  }
  return query;
}

std::vector<std::byte> encode_session_page(const SessionPage& page) {
  GCOORD_ASSERT(page.rows.size() <= kSessionRowsMax);
  std::vector<std::byte> out;
  ByteWriter writer{out};
  writer.integer(page.next_cursor);
  writer.integer(page.count);
  writer.integer(static_cast<std::uint32_t>(page.rows.size()));
  for (const SessionRow& row : page.rows) {
    write_row(writer, row);
  }
  return out;
}

Result<SessionPage> decode_session_page(std::span<const std::byte> payload) {
  ByteReader reader{payload};
  SessionPage page;
  page.next_cursor = reader.integer<std::uint32_t>();
  page.count = reader.integer<std::uint32_t>();
  page.rows.resize(reader.count(kRowBytes, kSessionRowsMax));
  for (SessionRow& row : page.rows) {
    row = read_row(reader);
  }
  if (!reader.complete()) {
    return make_error(ErrorCode::PayloadMalformed, "session page");
  }
  return page;
}

}  // namespace gcoord::protocol
