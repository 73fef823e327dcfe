#include "protocol/election_messages.h"

#include "common/bytes.h"
#include "protocol/error_codes.h"
#include "protocol/lock_messages.h"

namespace gcoord::protocol {

namespace {

// session, sequence, waited_ms, rank, bytes.
constexpr std::size_t kCandidateBytesMin = 8 + 8 + 4 + 1 + 2;

CandidateRow read_candidate(ByteReader& reader) {
  CandidateRow row;
  row.session = SessionId{reader.integer<std::uint64_t>()};
  row.sequence = RequestSequence{reader.integer<std::uint64_t>()};
  row.waited_ms = reader.integer<std::uint32_t>();
  row.rank = reader.integer<std::uint8_t>();
  row.value = reader.text(kNoteBytesMax);
  return row;
}

}  // namespace

std::vector<std::byte> encode_proclamation(const Proclamation& said) {
  std::vector<std::byte> out;
  ByteWriter writer{out};
  writer.text(said.name);
  writer.bytes(said.value);
  return out;
}

Result<Proclamation> decode_proclamation(std::span<const std::byte> payload) {
  ByteReader reader{payload};
  Proclamation said;
  said.name = reader.text(payload.size());
  if (!reader.ok()) {
    return make_error(ErrorCode::PayloadMalformed, "elect_proclaim");
  }
  said.value = text_of(payload.subspan(sizeof(std::uint16_t) + said.name.size()));
  return said;
}

std::vector<std::byte> encode_nomination(const Nomination& named) {
  std::vector<std::byte> out;
  ByteWriter writer{out};
  writer.integer(named.target.value);
  writer.bytes(named.name);
  return out;
}

Result<Nomination> decode_nomination(std::span<const std::byte> payload) {
  ByteReader reader{payload};
  Nomination named;
  named.target = SessionId{reader.integer<std::uint64_t>()};
  if (!reader.ok()) {
    return make_error(ErrorCode::PayloadMalformed, "nomination");
  }
  named.name = text_of(payload.subspan(sizeof(std::uint64_t)));
  return named;
}

std::vector<std::byte> encode_candidates(const CandidateList& list) {
  std::vector<std::byte> out;
  ByteWriter writer{out};
  writer.integer(list.leader.value);
  writer.integer(list.epoch.value);
  writer.integer(list.ttl_left_ms);
  writer.integer(list.wanted.value);
  writer.integer(list.waiter_count);
  writer.text(list.value);
  writer.integer(static_cast<std::uint32_t>(list.candidates.size()));
  for (const CandidateRow& row : list.candidates) {
    writer.integer(row.session.value);
    writer.integer(row.sequence.value);
    writer.integer(row.waited_ms);
    writer.integer(row.rank);
    writer.text(row.value);
  }
  return out;
}

Result<CandidateList> decode_candidates(std::span<const std::byte> payload) {
  ByteReader reader{payload};
  CandidateList list;
  list.leader = SessionId{reader.integer<std::uint64_t>()};
  list.epoch = FencingToken{reader.integer<std::uint64_t>()};
  list.ttl_left_ms = reader.integer<std::uint32_t>();
  list.wanted = SessionId{reader.integer<std::uint64_t>()};
  list.waiter_count = reader.integer<std::uint32_t>();
  list.value = reader.text(kNoteBytesMax);
  const std::uint32_t listed = reader.count(kCandidateBytesMin, kCandidatesMax);
  for (std::uint32_t index = 0; index < listed && reader.ok(); ++index) {
    list.candidates.push_back(read_candidate(reader));
  }
  if (!reader.complete()) {
    return make_error(ErrorCode::PayloadMalformed, "candidates");
  }
  return list;
}

}  // namespace gcoord::protocol
