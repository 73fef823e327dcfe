// Groups and rendezvous as a stranger on the client port, a damaged log or a damaged state may hold
// them: payloads, commands and snapshots.
#include "common/assert.h"
#include "membership/groups/command.h"
#include "membership/groups/group_cpu.h"
#include "membership/groups/snapshot.h"
#include "membership/rendezvous/command.h"
#include "membership/rendezvous/snapshot.h"
#include "membership/rendezvous/table.h"
#include "protocol/groups/messages.h"
#include "protocol/rendezvous/messages.h"
#include "tests/fuzz/fuzz_test_main.h"

#include <algorithm>
#include <string>
#include <vector>

namespace {

using namespace gcoord;
using namespace gcoord::membership;

constexpr ShardId kShard{0};

FuzzInput input_of(const std::vector<std::byte>& bytes) {
  FuzzInput input(bytes.size());
  std::ranges::transform(
      bytes, input.begin(), [](std::byte each) { return std::to_integer<std::uint8_t>(each); });
  return input;
}

FuzzInput input_of(const std::string& text) {
  return {text.begin(), text.end()};
}

// What is read is written again as it was.
template <typename Decoded, typename Encode>
void expect_again(const Result<Decoded>& decoded,
                  const std::vector<std::byte>& input,
                  const Encode& encode) {
  GCOORD_ASSERT(!decoded.ok() || encode(decoded.value()) == input);
}

void decode_payloads(const std::vector<std::byte>& input) {
  expect_again(protocol::decode_group_join(input), input, protocol::encode_group_join);
  expect_again(protocol::decode_group_update(input), input, protocol::encode_group_update);
  expect_again(protocol::decode_group_arrival(input), input, protocol::encode_group_arrival);
  expect_again(protocol::decode_group_query(input), input, protocol::encode_group_query);
  expect_again(protocol::decode_group_answer(input), input, protocol::encode_group_answer);
  expect_again(protocol::decode_rendezvous_join(input), input, protocol::encode_rendezvous_join);
  expect_again(protocol::decode_rendezvous_round(input), input, protocol::encode_rendezvous_round);
  expect_again(protocol::decode_rendezvous_query(input), input, protocol::encode_rendezvous_query);
  expect_again(protocol::decode_rendezvous_state(input), input, protocol::encode_rendezvous_state);
}

void apply_commands(const std::string& text) {
  const std::string name = "crew";
  GroupCommand command = decode_group_command(text);
  if (command.op != GroupOp::Malformed) {
    command.session = SessionId{5};
    command.name = name.data();
    command.name_bytes = static_cast<std::uint16_t>(name.size());
    command.name_hash = hash_name(name);
    GroupCpu groups{1, 3};
    static_cast<void>(groups.apply(kShard, command));
  }
  RendezvousTable table;
  RendezvousCommand asked = decode_rendezvous_command(text);
  asked.session = SessionId{5};
  asked.sequence = 1;
  asked.name = name;
  static_cast<void>(table.apply(kShard, asked));
}

// A state that is taken is given back as it was.
void read_states(const std::vector<std::byte>& input) {
  if (parse_snapshot(input).ok()) {
    GroupCpu groups{1, 3};
    GCOORD_ASSERT(groups.deserialize(kShard, input).ok());
    std::vector<std::byte> again;
    groups.serialize(kShard, again);
    GCOORD_ASSERT(again == input || groups.state_hash(kShard) == 0);
  }
  RendezvousTable table;
  if (!input.empty() && table.deserialize(kShard, input).ok()) {
    std::vector<std::byte> again;
    table.serialize(kShard, again);
    GCOORD_ASSERT(again.size() == input.size());
  }
  static_cast<void>(split_state(input));
  static_cast<void>(split_rendezvous(input));
}

std::vector<std::byte> some_rendezvous() {
  RendezvousTable table;
  const std::string arrive = encode_rendezvous_arrive({2, 2, 50}, "here");
  for (std::uint64_t session = 1; session <= 3; ++session) {
    // The command's views point into `arrive`, which outlives them.
    RendezvousCommand command = decode_rendezvous_command(arrive);
    command.session = SessionId{session};
    command.sequence = 1;
    command.name = "crew";
    static_cast<void>(table.apply(kShard, command));
  }
  std::vector<std::byte> bytes;
  table.serialize(kShard, bytes);
  return bytes;
}

std::vector<std::byte> some_groups() {
  const std::string name = "crew";
  const std::string join = encode_join("a", "here");
  GroupCpu groups{1, 3};
  GroupCommand command = decode_group_command(join);
  command.session = SessionId{5};
  command.name = name.data();
  command.name_bytes = static_cast<std::uint16_t>(name.size());
  command.name_hash = hash_name(name);
  static_cast<void>(groups.apply(kShard, command));
  std::vector<std::byte> bytes;
  groups.serialize(kShard, bytes);
  return bytes;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t byte_count) {
  std::vector<std::byte> input(byte_count);
  std::transform(
      bytes, bytes + byte_count, input.begin(), [](std::uint8_t each) { return std::byte{each}; });
  decode_payloads(input);
  apply_commands({bytes, bytes + byte_count});
  read_states(input);
  return 0;
}

std::vector<FuzzInput> fuzz_seeds() {
  return {input_of(protocol::encode_group_join({"crew", "a", "here"})),
          input_of(protocol::encode_group_arrival({3, "crew"})),
          input_of(protocol::encode_group_query({7, 2, "crew"})),
          input_of(protocol::encode_group_answer(
              {.whole = true,
               .epoch = 7,
               .rows = {{7, protocol::GroupChangeKind::Joined, SessionId{5}, "a", "here"}}})),
          input_of(protocol::encode_rendezvous_join({2, 4, 50, "crew", "here"})),
          input_of(protocol::encode_rendezvous_round({{SessionId{5}, "here"}})),
          input_of(protocol::encode_rendezvous_state({.version = 3, .size = 2, .present = 1})),
          input_of(encode_join("a", "here")),
          input_of(encode_arrive(3)),
          input_of(encode_rendezvous_arrive({2, 4, 50}, "here")),
          input_of(some_groups()),
          input_of(some_rendezvous())};
}
