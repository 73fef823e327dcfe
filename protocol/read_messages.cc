#include "protocol/read_messages.h"

#include "common/bytes.h"
#include "protocol/validate.h"

namespace gcoord::protocol {
namespace {

constexpr std::size_t kNameBytesLeast = 11;  // Token, name length, one byte of name.
constexpr std::size_t kPositionBytes = 12;
constexpr std::size_t kShardAnswerBytes = 24;

// States of a name's answer. Never renumber.
constexpr std::uint8_t kUnanswered = 0;
constexpr std::uint8_t kAbsent = 1;
constexpr std::uint8_t kPresent = 2;

bool consistency_known(std::uint8_t number) {
  return number >= static_cast<std::uint8_t>(ReadConsistency::Linearizable) &&
         number <= static_cast<std::uint8_t>(ReadConsistency::Monotonic);
}

bool question_known(std::uint8_t number) {
  return number == static_cast<std::uint8_t>(ReadQuestion::Verdict) ||
         number == static_cast<std::uint8_t>(ReadQuestion::Row);
}

void write_terms(ByteWriter& writer, const ReadTerms& terms, std::uint8_t question) {
  GCOORD_ASSERT(terms.after.size() <= kReadShardsMax);
  writer.integer(static_cast<std::uint8_t>(terms.consistency));
  writer.integer(question);
  writer.integer(std::uint16_t{0});
  writer.integer(terms.staleness_ms);
  writer.integer(static_cast<std::uint32_t>(terms.after.size()));
  for (const ShardPosition& each : terms.after) {
    writer.integer(each.shard.value);
    writer.integer(each.index.value);
  }
}

// False when a number has no meaning; whether the bytes sufficed, the reader knows.
bool read_terms(ByteReader& reader, ReadTerms& terms, std::uint8_t& question) {
  const auto consistency = reader.integer<std::uint8_t>();
  question = reader.integer<std::uint8_t>();
  const auto reserved = reader.integer<std::uint16_t>();
  terms.consistency = static_cast<ReadConsistency>(consistency);
  terms.staleness_ms = reader.integer<std::uint32_t>();
  terms.after.resize(reader.count(kPositionBytes, kReadShardsMax));
  for (ShardPosition& each : terms.after) {
    each.shard = ShardId{reader.integer<std::uint32_t>()};
    each.index = LogIndex{reader.integer<std::uint64_t>()};
  }
  return consistency_known(consistency) && reserved == 0;
}

void write_shards(ByteWriter& writer, const std::vector<ShardAnswer>& shards) {
  writer.integer(static_cast<std::uint32_t>(shards.size()));
  for (const ShardAnswer& each : shards) {
    writer.integer(each.shard.value);
    writer.integer(static_cast<std::uint32_t>(each.error));
    writer.integer(each.leader.value);
    writer.integer(each.index.value);
    writer.integer(each.age_ms);
  }
}

std::vector<ShardAnswer> read_shards(ByteReader& reader) {
  std::vector<ShardAnswer> shards(reader.count(kShardAnswerBytes, kReadShardsMax));
  for (ShardAnswer& each : shards) {
    each.shard = ShardId{reader.integer<std::uint32_t>()};
    each.error = static_cast<ErrorCode>(reader.integer<std::uint32_t>());
    each.leader = NodeId{reader.integer<std::uint32_t>()};
    each.index = LogIndex{reader.integer<std::uint64_t>()};
    each.age_ms = reader.integer<std::uint32_t>();
  }
  return shards;
}

void write_blob(ByteWriter& writer, const std::vector<std::byte>& bytes) {
  writer.integer(static_cast<std::uint32_t>(bytes.size()));
  writer.bytes(text_of(bytes));
}

void write_answer(ByteWriter& writer, const NameAnswer& answer, ReadQuestion question) {
  if (!answer.answered) {
    return writer.integer(kUnanswered);
  }
  if (question == ReadQuestion::Verdict) {
    writer.integer(kPresent);
    return writer.integer(static_cast<std::uint32_t>(answer.verdict));
  }
  writer.integer(answer.present ? kPresent : kAbsent);
  if (answer.present) {
    write_blob(writer, encode_lock_details(answer.row));
  }
}

// False when the bytes are no answer.
bool read_answer(ByteReader& reader, NameAnswer& answer, ReadQuestion question) {
  const auto state = reader.integer<std::uint8_t>();
  answer.answered = state != kUnanswered;
  answer.present = state == kPresent;
  if (!answer.present) {
    return state <= kPresent && (question == ReadQuestion::Row || state == kUnanswered);
  }
  if (question == ReadQuestion::Verdict) {
    const auto verdict = reader.integer<std::uint32_t>();
    answer.verdict = static_cast<CheckVerdict>(verdict);
    return verdict >= static_cast<std::uint32_t>(CheckVerdict::Valid) &&
           verdict <= static_cast<std::uint32_t>(CheckVerdict::Free);
  }
  auto row = decode_lock_details(bytes_of(reader.blob(kPayloadBytesMax)));
  if (!row.ok()) {
    return false;
  }
  answer.row = std::move(row).value();
  return true;
}

Status malformed(const char* what) {
  return make_error(ErrorCode::PayloadMalformed, what);
}

}  // namespace

std::vector<std::byte> encode_lock_read(const LockRead& read) {
  GCOORD_ASSERT(read.names.size() <= kReadNamesMax);
  std::vector<std::byte> out;
  ByteWriter writer{out};
  write_terms(writer, read.terms, static_cast<std::uint8_t>(read.question));
  writer.integer(static_cast<std::uint32_t>(read.names.size()));
  for (const TokenCheck& each : read.names) {
    writer.integer(each.token.value);
    writer.text(each.name);
  }
  return out;
}

Result<LockRead> decode_lock_read(std::span<const std::byte> payload) {
  ByteReader reader{payload};
  LockRead read;
  std::uint8_t question = 0;
  const bool known = read_terms(reader, read.terms, question) && question_known(question);
  read.question = static_cast<ReadQuestion>(question);
  const std::uint32_t count = reader.count(kNameBytesLeast, kReadNamesMax);
  read.names.reserve(count);
  for (std::uint32_t index = 0; index < count && reader.ok(); ++index) {
    const FencingToken token{reader.integer<std::uint64_t>()};
    read.names.push_back({reader.text(payload.size()), token});
  }
  if (!reader.complete() || !known) {
    return malformed("lock_read");
  }
  for (const TokenCheck& each : read.names) {
    if (const ErrorCode code = check_name(each.name); code != ErrorCode::None) {
      return make_error(code, "lock_read");
    }
    if (read.question == ReadQuestion::Verdict && each.token.value == 0) {
      return make_error(ErrorCode::TokenZero, "lock_read");
    }
  }
  return read;
}

std::vector<std::byte> encode_lock_read_reply(const LockReadReply& reply) {
  std::vector<std::byte> out;
  ByteWriter writer{out};
  writer.integer(static_cast<std::uint32_t>(reply.question));
  write_shards(writer, reply.shards);
  writer.integer(static_cast<std::uint32_t>(reply.names.size()));
  for (const NameAnswer& each : reply.names) {
    write_answer(writer, each, reply.question);
  }
  return out;
}

Result<LockReadReply> decode_lock_read_reply(std::span<const std::byte> payload) {
  ByteReader reader{payload};
  LockReadReply reply;
  const auto question = reader.integer<std::uint32_t>();
  bool sane = question <= 0xff && question_known(static_cast<std::uint8_t>(question));
  reply.question = static_cast<ReadQuestion>(question);
  reply.shards = read_shards(reader);
  reply.names.resize(reader.count(1, kReadNamesMax));
  for (NameAnswer& each : reply.names) {
    sane = sane && reader.ok() && read_answer(reader, each, reply.question);
  }
  if (!sane || !reader.complete()) {
    return malformed("lock_read reply");
  }
  return reply;
}

std::vector<std::byte> encode_read_list(const LockReadList& list) {
  std::vector<std::byte> out;
  ByteWriter writer{out};
  write_terms(writer, list.terms, 0);
  write_blob(writer, encode_list_query(list.query));
  return out;
}

Result<LockReadList> decode_read_list(std::span<const std::byte> payload) {
  ByteReader reader{payload};
  LockReadList list;
  std::uint8_t question = 0;
  const bool known = read_terms(reader, list.terms, question) && question == 0;
  const std::string_view query = reader.blob(kPayloadBytesMax);
  if (!reader.complete() || !known) {
    return malformed("lock_read_list");
  }
  GCOORD_TRY(list.query, decode_list_query(bytes_of(query)));
  return list;
}

std::vector<std::byte> encode_read_page(const LockReadPage& page) {
  std::vector<std::byte> out;
  ByteWriter writer{out};
  write_blob(writer, encode_list_page(page.page));
  write_shards(writer, page.shards);
  return out;
}

Result<LockReadPage> decode_read_page(std::span<const std::byte> payload) {
  ByteReader reader{payload};
  LockReadPage page;
  const std::string_view bytes = reader.blob(kPayloadBytesMax);
  page.shards = read_shards(reader);
  if (!reader.complete()) {
    return malformed("lock_read_list page");
  }
  GCOORD_TRY(page.page, decode_list_page(bytes_of(bytes)));
  return page;
}

}  // namespace gcoord::protocol
