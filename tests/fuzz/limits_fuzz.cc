// Limits: commands, states and requests about them, as a damaged log or a stranger may hold them.
#include "common/assert.h"
#include "protocol/ledger/order_messages.h"
#include "protocol/limits/messages.h"
#include "security/limits/facts.h"
#include "security/limits/limit_cpu.h"
#include "security/limits/network.h"
#include "security/limits/part.h"
#include "tests/fuzz/fuzz_test_main.h"

#include <algorithm>
#include <string_view>
#include <utility>
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

LimitCommand command(LimitKind kind, std::uint64_t expected, std::string name) {
  LimitCommand made;
  made.kind = kind;
  made.expected = expected;
  made.number = expected + 1;
  made.now_ms = 1'000;
  made.name = std::move(name);
  made.who = "ann@build";
  return made;
}

LimitCommand set() {
  LimitCommand made = command(LimitKind::Set, 0, "ann");
  made.limit = {.rate = 10, .burst = 20, .locks = 3, .bytes = 4096};
  return made;
}

LimitCommand deny() {
  LimitCommand made = command(LimitKind::Deny, 1, "192.0.2.0/24");
  made.denial_scope = DenialScope::Network;
  made.denial = {61'000, "a loop"};
  return made;
}

LimitCommand set_ttl() {
  LimitCommand made = command(LimitKind::Set, 2, "bob");
  made.limit = {.session_ttl_ms = 30'000};
  return made;
}

LimitCommand order_prune() {
  LimitCommand made = command(LimitKind::OrderPrune, 3, "");
  made.proven = true;
  made.prune = {.shard = 2, .below = 512, .age_ms = 1'000};
  return made;
}

LimitCpu some_state() {
  LimitCpu state;
  GCOORD_ASSERT(state.apply(encode_limit_command(set())) == LimitCode::Applied);
  GCOORD_ASSERT(state.apply(encode_limit_command(deny())) == LimitCode::Applied);
  GCOORD_ASSERT(state.apply(encode_limit_command(set_ttl())) == LimitCode::Applied);
  GCOORD_ASSERT(state.apply(encode_limit_command(order_prune())) == LimitCode::Applied);
  return state;
}

protocol::PruneOrdersAnswer prune_answer() {
  protocol::PruneOrdersAnswer answer{.epoch = 3, .delay_ms = 86'400'000, .orders = {}};
  answer.orders.push_back({.bounds = {.entries = 5},
                           .who = "ann",
                           .ordered_ms = 1'000,
                           .confirmed_by = "bob",
                           .confirmed_ms = 2'000,
                           .until_ms = 9'000});
  return answer;
}

void read_requests(const std::vector<std::byte>& input) {
  if (const auto order = protocol::decode_limits_order(input); order.ok()) {
    GCOORD_ASSERT(protocol::encode_limits_order(order.value()) == input);
  }
  if (const auto query = protocol::decode_limits_query(input); query.ok()) {
    GCOORD_ASSERT(protocol::encode_limits_query(query.value()) == input);
  }
  if (const auto query = protocol::decode_prune_orders_query(input); query.ok()) {
    GCOORD_ASSERT(protocol::encode_prune_orders_query(query.value()) == input);
  }
  if (const auto answer = protocol::decode_prune_orders_answer(input); answer.ok()) {
    const auto again = protocol::encode_prune_orders_answer(answer.value());
    GCOORD_ASSERT(protocol::decode_prune_orders_answer(again).value().orders.size() ==
                  answer.value().orders.size());
  }
  if (const auto answer = protocol::decode_limits_answer(input); answer.ok()) {
    const auto again = protocol::encode_limits_answer(answer.value());
    GCOORD_ASSERT(protocol::decode_limits_answer(again).value() == answer.value());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t byte_count) {
  std::vector<std::byte> input(byte_count);
  std::transform(
      bytes, bytes + byte_count, input.begin(), [](std::uint8_t each) { return std::byte{each}; });
  if (const auto decoded = decode_limit_command(input)) {
    GCOORD_ASSERT(encode_limit_command(*decoded) == input);
    static_cast<void>(limit_command_facts(*decoded));
    LimitCpu state = some_state();
    LimitCommand fresh = *decoded;
    fresh.expected = state.table().epoch;
    static_cast<void>(state.apply(encode_limit_command(fresh)));
    std::vector<std::byte> after;
    state.serialize(after);
    GCOORD_ASSERT(LimitCpu::parse(after) == state);
  }
  if (const auto state = LimitCpu::parse(input)) {
    std::vector<std::byte> again;
    state->serialize(again);
    GCOORD_ASSERT(again == input);
  }
  const std::string_view text{reinterpret_cast<const char*>(bytes), byte_count};
  if (const auto network = parse_network(text)) {
    GCOORD_ASSERT(parse_network(to_string(*network)) == network);
  }
  read_requests(input);
  static_cast<void>(split_limits_part(input));
  return 0;
}

std::vector<FuzzInput> fuzz_seeds() {
  std::vector<std::byte> bytes;
  some_state().serialize(bytes);
  std::vector<std::byte> whole;
  append_limits_part(some_state(), whole);
  protocol::LimitsOrder order{.command = set()};
  order.command.now_ms = 0;
  protocol::LimitsAnswer answer;
  answer.limits.push_back({{LimitScope::Principal, "ann"}, set().limit});
  answer.limits.push_back({{LimitScope::Principal, "bob"}, set_ttl().limit});
  answer.denials.push_back({{DenialScope::Network, "192.0.2.0/24"}, deny().denial});
  const std::string_view network = "2001:db8::/32";
  return {
      input_of(encode_limit_command(set())),
      input_of(encode_limit_command(deny())),
      input_of(encode_limit_command(set_ttl())),
      input_of(encode_limit_command(order_prune())),
      input_of(protocol::encode_prune_orders_query(
          {.action = protocol::PruneOrderAction::Order, .number = 7, .bounds = {.entries = 5}})),
      input_of(protocol::encode_prune_orders_answer(prune_answer())),
      input_of(bytes),
      input_of(whole),
      input_of(protocol::encode_limits_order(order)),
      input_of(protocol::encode_limits_query({.denials = true, .after_name = "ann"})),
      input_of(protocol::encode_limits_answer(answer)),
      FuzzInput(network.begin(), network.end())};
}
