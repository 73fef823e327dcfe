// Cluster views, their commands and announcements, as a damaged log or a foreign peer may hold
// them.
#include "common/assert.h"
#include "membership/view/announcement.h"
#include "membership/view/cpu.h"
#include "membership/view/part.h"
#include "protocol/members/change_messages.h"
#include "protocol/members/join_messages.h"
#include "protocol/members/view_messages.h"
#include "tests/fuzz/fuzz_test_main.h"

#include <algorithm>
#include <vector>

namespace {

using namespace gcoord;
using namespace gcoord::membership;

FuzzInput input_of(const std::vector<std::byte>& bytes) {
  FuzzInput input(bytes.size());
  std::ranges::transform(
      bytes, input.begin(), [](std::byte each) { return std::to_integer<std::uint8_t>(each); });
  return input;
}

Member member(std::uint32_t id) {
  Member made;
  made.id = NodeId{id};
  made.incarnation = Incarnation{1};
  made.name = protocol::default_member_name(made.id);
  made.peer_address = "10.0.0.1:7500";
  made.labels = {{"rack", "7"}, {"zone", "a"}};
  return made;
}

ViewCommand founding() {
  return founding_command({.shards = 8}, {member(1), member(2)});
}

ViewCommand update() {
  ViewCommand command{.kind = ViewCommandKind::Update, .expected = 1};
  command.change.node = NodeId{2};
  command.change.expected = 1;
  command.change.name = "db";
  command.change.labels = {{"rack", ""}, {"zone", "b"}};
  command.change.who = "ann@build";
  return command;
}

std::vector<std::byte> step(ViewCommandKind kind, std::uint64_t expected) {
  ViewCommand command{.kind = kind, .expected = expected};
  command.step.node = NodeId{3};
  command.step.weight = 1;
  command.step.role = MemberRole::Voter;
  command.step.auto_promote = kind == ViewCommandKind::Add;
  command.step.suspect = kind == ViewCommandKind::Suspect;
  command.step.marks = {{NodeId{1}, true}, {NodeId{2}, true}};
  command.step.time_ms = 5;
  command.step.directory = 9;
  command.step.invitation = {.token_hash = protocol::join_token_hash({}), .deadline_ms = 10};
  command.step.proof = protocol::join_token_proof({});
  command.step.peer_address = "10.0.0.3:7500";
  command.step.labels = {{"zone", "b"}};
  command.step.number = 11;
  return encode_view_command(command);
}

protocol::MemberActionOrder order() {
  protocol::MemberActionOrder asked;
  asked.number = 1;
  asked.token_ms = 1000;
  asked.weight = 1;
  asked.labels = {{"zone", "b"}};
  return asked;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t byte_count) {
  std::vector<std::byte> input(byte_count);
  std::transform(
      bytes, bytes + byte_count, input.begin(), [](std::uint8_t each) { return std::byte{each}; });
  if (const auto command = decode_view_command(input)) {
    GCOORD_ASSERT(encode_view_command(*command) == input);
    static_cast<void>(view_command_facts(*command));
    ViewCpu state{{.epoch = 1, .settings = {}, .nodes = {member(1), member(2)}}};
    static_cast<void>(state.apply(input));
    GCOORD_ASSERT(protocol::decode_view(protocol::encode_view(state.view())) == state.view());
  }
  if (const auto state = ViewCpu::parse(input)) {
    std::vector<std::byte> again;
    state->serialize(again);
    GCOORD_ASSERT(again == input);
  }
  if (const auto view = protocol::decode_view(input)) {
    GCOORD_ASSERT(protocol::encode_view(*view) == input);
  }
  static_cast<void>(split_view_part(input));
  static_cast<void>(decode_announcement(input));
  static_cast<void>(protocol::decode_view_answer(input));
  static_cast<void>(protocol::decode_view_query(input));
  static_cast<void>(protocol::decode_member_order(input));
  static_cast<void>(protocol::decode_member_moves(input));
  static_cast<void>(protocol::decode_member_action_answer(input));
  static_cast<void>(protocol::decode_join_answer(input));
  if (const auto asked = protocol::decode_member_action(input); asked.ok()) {
    GCOORD_ASSERT(protocol::encode_member_action(asked.value()) == input);
  }
  if (const auto asked = protocol::decode_join_request(input); asked.ok()) {
    GCOORD_ASSERT(protocol::encode_join_request(asked.value()) == input);
  }
  return 0;
}

std::vector<FuzzInput> fuzz_seeds() {
  ViewCpu state;
  GCOORD_ASSERT(state.apply(encode_view_command(founding())) == ViewCode::Applied);
  GCOORD_ASSERT(state.apply(encode_view_command(update())) == ViewCode::Applied);
  std::vector<std::byte> whole;
  append_view_part(state, whole);
  std::vector<std::byte> bytes;
  state.serialize(bytes);
  GCOORD_ASSERT(state.apply(step(ViewCommandKind::Add, 2)) == ViewCode::Applied);
  std::vector<FuzzInput> seeds = {
      input_of(protocol::encode_member_action(order())),
      input_of(protocol::encode_member_action_answer({.view = state.view(), .token = {{}}})),
      input_of(protocol::encode_join_request({.directory = 9, .peer_address = "h:1"})),
      input_of(protocol::encode_join_answer({.node = NodeId{1}, .view = state.view()})),
      input_of(protocol::encode_member_moves({.epoch = 3})),
      input_of(encode_announcement(
          {.epoch = 3, .settings = {}, .self = member(1), .progress = ShardProgress{.led = 2}}))};
  for (int kind = 5; kind <= 14; ++kind) {
    seeds.push_back(input_of(step(static_cast<ViewCommandKind>(kind), 1)));
  }
  const std::vector<FuzzInput> plain = {
      input_of(encode_view_command(founding())),
      input_of(encode_view_command(update())),
      input_of(encode_view_command(
          {.kind = ViewCommandKind::Describe, .expected = 1, .nodes = {member(2)}})),
      input_of(bytes),
      input_of(whole),
      input_of(protocol::encode_view(state.view())),
      input_of(encode_announcement({.epoch = 3, .settings = {}, .self = member(1)})),
      input_of(protocol::encode_view_answer(
          {state.view(), 2, {{.node = NodeId{1}, .alive = true, .phi_milli = 5}}})),
      input_of(protocol::encode_view_query({.after = 1, .wait_ms = 5})),
      input_of(protocol::encode_member_order({true, update().change}))};
  seeds.insert(seeds.end(), plain.begin(), plain.end());
  return seeds;
}
