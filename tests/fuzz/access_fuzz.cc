// Users and roles: commands and states, as a damaged log or a stranger may hold them.
#include "common/assert.h"
#include "security/roles/authorize.h"
#include "security/roles/command.h"
#include "security/roles/facts.h"
#include "security/roles/part.h"
#include "security/roles/role_cpu.h"
#include "tests/fuzz/fuzz_test_main.h"

#include <algorithm>
#include <string_view>
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

AccessCommand command(AccessKind kind, std::uint64_t expected, std::string name) {
  AccessCommand made;
  made.kind = kind;
  made.expected = expected;
  made.number = expected + 1;
  made.name = std::move(name);
  made.who = "ann@build";
  return made;
}

AccessCommand add_role() {
  AccessCommand made = command(AccessKind::RoleAdd, 0, "ops");
  made.grants = {{.prefix = {}, .exact = false, .rights = bit_of(Right::AuthAdmin)},
                 {.prefix = "jobs/", .exact = false, .rights = bit_of(Right::LockRead)},
                 {.prefix = "jobs/a", .exact = true, .rights = bit_of(Right::LockBreak)}};
  return made;
}

AccessCommand add_user() {
  AccessCommand made = command(AccessKind::UserAdd, 1, "ann");
  made.verifier = {.algorithm = 1, .bytes = {std::byte{1}, std::byte{2}}};
  made.roles = {"ops", "root"};
  return made;
}

AccessCommand recover() {
  AccessCommand made = command(AccessKind::Recover, 3, "");
  made.marks = {{NodeId{1}, 7}, {NodeId{2}, 8}};
  return made;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t byte_count) {
  std::vector<std::byte> input(byte_count);
  std::transform(
      bytes, bytes + byte_count, input.begin(), [](std::uint8_t each) { return std::byte{each}; });
  if (const auto decoded = decode_access_command(input)) {
    GCOORD_ASSERT(encode_access_command(*decoded) == input);
    static_cast<void>(access_command_facts(*decoded));
    AccessCpu state;
    GCOORD_ASSERT(state.apply(encode_access_command(add_role())) == AccessCode::Applied);
    GCOORD_ASSERT(state.apply(encode_access_command(add_user())) == AccessCode::Applied);
    static_cast<void>(state.apply(input));
    std::vector<std::byte> after;
    state.serialize(after);
    GCOORD_ASSERT(AccessCpu::parse(after) == state);
  }
  if (const auto state = AccessCpu::parse(input)) {
    std::vector<std::byte> again;
    state->serialize(again);
    GCOORD_ASSERT(again == input);
    const std::string_view name{reinterpret_cast<const char*>(bytes),
                                std::min<std::size_t>(byte_count, 64)};
    for (const auto& [user, row] : state->table().users) {
      const auto rights = rights_of(state->table(), user);
      GCOORD_ASSERT(!rights->allows(Right::LockRead, name) || rights->allows_any(Right::LockRead));
    }
  }
  static_cast<void>(split_access_part(input));
  return 0;
}

std::vector<FuzzInput> fuzz_seeds() {
  AccessCpu state;
  GCOORD_ASSERT(state.apply(encode_access_command(add_role())) == AccessCode::Applied);
  GCOORD_ASSERT(state.apply(encode_access_command(add_user())) == AccessCode::Applied);
  GCOORD_ASSERT(state.apply(encode_access_command(command(AccessKind::Enable, 2, ""))) ==
                AccessCode::Applied);
  std::vector<std::byte> bytes;
  state.serialize(bytes);
  std::vector<std::byte> whole;
  append_access_part(state, whole);
  return {input_of(encode_access_command(add_role())),
          input_of(encode_access_command(add_user())),
          input_of(encode_access_command(recover())),
          input_of(bytes),
          input_of(whole)};
}
