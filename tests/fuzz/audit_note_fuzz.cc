// Notes of the ledger, tables of them and origins of sessions, from a damaged log or a stranger.
#include "common/assert.h"
#include "protocol/audit/messages.h"
#include "security/audit/note.h"
#include "security/audit/note_table.h"
#include "tests/fuzz/fuzz_test_main.h"

#include <algorithm>
#include <vector>

namespace {

using namespace gcoord;
using namespace gcoord::security;

FuzzInput input_of(const std::vector<std::byte>& bytes) {
  FuzzInput input(bytes.size());
  std::ranges::transform(
      bytes, input.begin(), [](std::byte each) { return std::to_integer<std::uint8_t>(each); });
  return input;
}

AuditNote session_note(std::uint64_t session) {
  AuditNote note;
  note.number = session;
  note.origin.principal = {PrincipalKind::User, "bob"};
  note.origin.type = AddressClass::Loopback;
  note.origin.address[15] = 1;
  note.origin.client = "build";
  return note;
}

AuditNote order_note() {
  AuditNote note = session_note(7);
  note.kind = NoteKind::Order;
  note.order = 24;
  note.object = "jobs/a";
  return note;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t byte_count) {
  std::vector<std::byte> input(byte_count);
  std::transform(
      bytes, bytes + byte_count, input.begin(), [](std::uint8_t each) { return std::byte{each}; });
  if (const auto note = decode_note(input)) {
    std::vector<std::byte> again;
    encode_note(*note, again);
    GCOORD_ASSERT(again == input);
    GCOORD_ASSERT(!note_facts(*note).empty());
  }
  NoteTable table(1);
  if (table.install(ShardId{0}, input)) {
    std::vector<std::byte> again;
    table.serialize(ShardId{0}, again);
    GCOORD_ASSERT(again == input);
  }
  if (const auto origins = protocol::decode_origins(input); origins.ok()) {
    GCOORD_ASSERT(protocol::encode_origins(origins.value()) == input);
  }
  return 0;
}

std::vector<FuzzInput> fuzz_seeds() {
  std::vector<std::byte> session;
  encode_note(session_note(5), session);
  std::vector<std::byte> order;
  encode_note(order_note(), order);
  NoteTable table(1);
  table.note(ShardId{0}, session_note(5), 100);
  table.note(ShardId{0}, session_note(6), 200);
  std::vector<std::byte> state;
  table.serialize(ShardId{0}, state);
  return {input_of(session), input_of(order), input_of(state)};
}
