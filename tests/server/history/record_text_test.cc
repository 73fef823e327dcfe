#include "server/history/record_text.h"

#include "consensus/step/configuration.h"
#include "locks/commands/ends.h"
#include "locks/commands/entry.h"
#include "membership/view/command.h"
#include "security/audit/note.h"
#include "security/roles/command.h"
#include "server/interfaces/log_record.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

namespace gcoord::server {
namespace {

using locks::make_acquire;

constexpr RecordHeader kHeader{.kind = RecordKind::LockCommand,
                               .origin = protocol::RecordOrigin::Remote,
                               .time_ms = 1'700'000'000'123};

std::vector<std::byte> record_of(RecordHeader header, const locks::LockCommand& command) {
  const auto bytes = encode_record_header(header);
  std::vector<std::byte> record(bytes.begin(), bytes.end());
  locks::encode(command, record);
  return record;
}

locks::LockCommand acquire() {
  return make_acquire({.session = SessionId{7},
                       .sequence = RequestSequence{2},
                       .name = "a/lock",
                       .wait = true,
                       .ttl_ms = 9000});
}

TEST(RecordText, SaysWhoDidWhatAndWhen) {
  const RecordFacts facts = record_facts(record_of(kHeader, acquire()));
  const RecordFacts expected = {{"kind", "acquire"},
                                {"origin", "remote"},
                                {"time", "2023-11-14T22:13:20.123Z"},
                                {"session", "7"},
                                {"sequence", "2"},
                                {"name", "a/lock"},
                                {"waits", "yes"},
                                {"name_hash", facts.at(7).second},
                                {"ttl_ms", "9000"}};
  EXPECT_EQ(facts, expected);
}

TEST(RecordText, SaysWhoVotesByTheNumbersOfADevice) {
  consensus::Configuration configuration;
  for (std::uint32_t slot = 0; slot < 3; ++slot) {
    configuration.node[slot] = NodeId{slot + 1};
    configuration.weight[slot] = 1;
  }
  configuration.voters = 0b101;
  configuration.learners = 0b010;
  locks::LockEntry entry;
  entry.head = locks::kEntryConfiguration;
  std::memcpy(entry.word, &configuration, sizeof configuration);
  using Fact = RecordFacts::value_type;
  const RecordFacts facts = record_facts(std::as_bytes(std::span{&entry, 1}));
  ASSERT_GE(facts.size(), 4u);
  EXPECT_EQ(facts[0], (Fact{"kind", "configuration"}));
  EXPECT_EQ(facts[1], (Fact{"nodes", "by number"}));
  EXPECT_EQ(facts[2], (Fact{"voters", "1 3"}));
  EXPECT_EQ(facts[3], (Fact{"learners", "2"}));
}

TEST(RecordText, SaysWhoChangedWhatOfANodeInWhichView) {
  membership::ViewCommand command{.kind = membership::ViewCommandKind::Update, .expected = 3};
  command.change.node = NodeId{2};
  command.change.expected = 3;
  command.change.name = "db";
  command.change.labels = {{"rack", ""}, {"zone", "b"}};
  command.change.who = "ann@build";
  const auto header =
      encode_record_header({.kind = RecordKind::View, .origin = protocol::RecordOrigin::Remote});
  std::vector<std::byte> record(header.begin(), header.end());
  const auto body = membership::encode_view_command(command);
  record.insert(record.end(), body.begin(), body.end());
  const RecordFacts expected = {{"kind", "view_update"},
                                {"origin", "remote"},
                                {"node", "2"},
                                {"name", "db"},
                                {"labels", "rack=,zone=b"},
                                {"by", "ann@build"},
                                {"view", "3"}};
  EXPECT_EQ(record_facts(record), expected);
  record.pop_back();
  EXPECT_EQ(record_facts(record).front().second, "unknown");
}

TEST(RecordText, SaysWhoGrantedWhichRightsAndNeverAVerifier) {
  security::AccessCommand command;
  command.kind = security::AccessKind::RoleGrant;
  command.expected = 7;
  command.name = "ops";
  command.who = "ann";
  command.proven = true;
  command.grants = {{.prefix = "jobs/",
                     .exact = false,
                     .rights = security::bit_of(security::Right::LockRead) |
                               security::bit_of(security::Right::LockBreak)}};
  const auto header =
      encode_record_header({.kind = RecordKind::Access, .origin = protocol::RecordOrigin::Remote});
  std::vector<std::byte> record(header.begin(), header.end());
  const auto body = security::encode_access_command(command);
  record.insert(record.end(), body.begin(), body.end());
  const RecordFacts expected = {{"kind", "role_grant"},
                                {"origin", "remote"},
                                {"role", "ops"},
                                {"grants", "jobs/* lock.read,lock.break"},
                                {"principal", "ann"},
                                {"roles_epoch", "7"}};
  EXPECT_EQ(record_facts(record), expected);
  record.pop_back();
  EXPECT_EQ(record_facts(record).front().second, "unknown");
}

TEST(RecordText, SaysOfAListWhichRegistrationsEnd) {
  const auto list =
      locks::encode_ends(std::vector<locks::SessionEnd>{{SessionId{5}, 1}, {SessionId{6}, 3}});
  const RecordHeader header{.kind = RecordKind::LockCommand,
                            .origin = protocol::RecordOrigin::System};
  const RecordFacts expected = {
      {"kind", "expire_sessions"}, {"origin", "system"}, {"sessions", "2"}, {"ends", "5:1 6:3"}};
  EXPECT_EQ(record_facts(record_of(header, locks::make_expire_sessions(list))), expected);
}

TEST(RecordText, AListThatDoesNotDecodeIsShownAsBytes) {
  const auto list = locks::encode_ends(std::vector<locks::SessionEnd>{{SessionId{5}, 1}});
  auto record = record_of(kHeader, locks::make_expire_sessions(list));
  record.pop_back();
  EXPECT_EQ(record_facts(record).front().second, "unknown");
}

// A record of 64 bytes is none of a device's entries, whatever its clock said.
TEST(RecordText, TellsARecordOfSixtyFourBytesFromAnEntryOfADevice) {
  static_assert(static_cast<int>(RecordKind::LockCommand) ==
                static_cast<int>(locks::LockCommandKind::Acquire));
  for (const std::uint64_t time_ms : {0ull, 1ull, 65'535ull, 65'536ull, 1'700'000'000'123ull}) {
    for (const bool registers : {false, true}) {
      std::string name(1, 'n');
      std::vector<std::byte> record;
      while (record.size() < sizeof(locks::LockEntry)) {
        record = record_of({RecordKind::LockCommand, kHeader.origin, time_ms},
                           make_acquire({.session = SessionId{7},
                                         .sequence = RequestSequence{2},
                                         .name = name,
                                         .ttl_ms = registers ? 9000u : 0u}));
        name += 'n';
      }
      ASSERT_EQ(record.size(), sizeof(locks::LockEntry));
      EXPECT_FALSE(is_device_entry(record));
      EXPECT_EQ(record_facts(record).at(0).second, "acquire");
      std::fill(record.begin() + 2, record.begin() + 8, std::byte{0});  // Of an earlier release.
      EXPECT_FALSE(is_device_entry(record));
      EXPECT_EQ(record_facts(record).at(0).second, "acquire");
    }
  }
  const auto entries = locks::entries_of(acquire());
  EXPECT_TRUE(is_device_entry(std::as_bytes(std::span{&entries.back(), 1})));
}

TEST(RecordText, ReadsEntriesOfATurnOnADevice) {
  const auto entries = locks::entries_of(acquire());
  std::vector<std::byte> bytes(sizeof(locks::LockEntry));
  std::memcpy(bytes.data(), &entries.back(), bytes.size());
  const RecordFacts facts = record_facts(bytes);
  EXPECT_EQ(facts.front(), (std::pair<std::string, std::string>{"kind", "acquire"}));
  EXPECT_EQ(facts[1].second, "7");
}

// Who broke a lock and why stands in the pieces before the entry.
TEST(RecordText, L15ShowsABreakOfATurnOnADeviceAndWhatItsPiecesSay) {
  const std::string text = "nannit hangs";
  const auto entries = locks::entries_of(locks::make_break_lock(
      {.token = FencingToken{7}, .name_bytes = 1, .who_bytes = 3, .text = text}));
  ASSERT_EQ(entries.size(), 2u);
  const auto facts_of = [](const locks::LockEntry& entry) {
    return record_facts(std::as_bytes(std::span{&entry, 1}));
  };
  const RecordFacts piece = facts_of(entries.front());
  EXPECT_EQ(piece.front().second, "name_piece");
  EXPECT_EQ(piece.back().first, "bytes");
  EXPECT_EQ(piece.back().second.substr(0, 24), "AAAAAAAAAABuYW5uaXQgaGFu");
  const RecordFacts facts = facts_of(entries.back());
  EXPECT_EQ(facts.front().second, "break_lock");
  EXPECT_EQ(facts.back(), (std::pair<std::string, std::string>{"token", "7"}));
}

TEST(RecordText, L19ShowsAMoveOfATurnOnADevice) {
  const std::string text = "jobs/moved and further" + std::string("\7\0\0\0\0\0\0\0d\0\0\0", 12);
  const auto facts_of = [](const locks::LockCommand& command) {
    const auto entries = locks::entries_of(command);
    return record_facts(std::as_bytes(std::span{entries}.last(1)));
  };
  const RecordFacts in = facts_of(locks::make_move_in({.from = ShardId{3},
                                                       .number = 4,
                                                       .token = FencingToken{7},
                                                       .token_last = 9,
                                                       .name_bytes = 22,
                                                       .text = text}));
  EXPECT_EQ(in.front().second, "move_in");
  EXPECT_EQ(in.at(1), (RecordFacts::value_type{"from_shard", "3"}));
  EXPECT_EQ(in.back(), (RecordFacts::value_type{"sessions", "1"}));
  const RecordFacts out = facts_of(locks::make_move_out("jobs/moved and further", ShardId{5}));
  EXPECT_EQ(out.front().second, "move_out");
  EXPECT_EQ(out.at(1), (RecordFacts::value_type{"to_shard", "5"}));
}

// Names, bodies and lists stand in the pieces before their entries.
TEST(RecordText, ReadsWhatGroupsAreAskedInATurnOnADevice) {
  const auto facts_of = [](const locks::LockCommand& command) {
    const std::vector<locks::LockEntry> entries = locks::entries_of(command);
    return record_facts(std::as_bytes(std::span{&entries.back(), 1}));
  };
  const std::string text = "crew and what is asked of it";
  const RecordFacts asked = facts_of(locks::make_group_request({.session = SessionId{5},
                                                                .sequence = RequestSequence{2},
                                                                .ttl_ms = 1000,
                                                                .name_bytes = 4,
                                                                .text = text}));
  EXPECT_EQ(asked.front().second, "group");
  EXPECT_EQ(asked.back(), (std::pair<std::string, std::string>{"ttl_ms", "1000"}));
  const RecordFacts withdrawn =
      facts_of(locks::make_group_withdraw({SessionId{5}, RequestSequence{2}, 3, "crew"}));
  EXPECT_EQ(withdrawn.back(), (std::pair<std::string, std::string>{"generation", "3"}));
  const auto list =
      locks::encode_ends(std::vector<locks::SessionEnd>{{SessionId{5}, 1}, {SessionId{6}, 3}});
  EXPECT_EQ(facts_of(locks::make_expire_sessions(list)),
            (RecordFacts{{"kind", "expire_sessions"}, {"sessions", "2"}}));
}

TEST(RecordText, TellsAProvenAuthorOfABreakFromAWord) {
  const std::string text = "jobs1tanit hangs";
  locks::BreakFields fields{
      .token = FencingToken{7}, .name_bytes = 5, .who_bytes = 3, .text = text};
  const auto has = [](const RecordFacts& facts, const char* name, const char* value) {
    return std::ranges::count(facts, RecordFacts::value_type{name, value}) == 1;
  };
  const RecordFacts word = record_facts(record_of(kHeader, locks::make_break_lock(fields)));
  EXPECT_TRUE(has(word, "by", "tan"));
  fields.proven = true;
  const RecordFacts proven = record_facts(record_of(kHeader, locks::make_break_lock(fields)));
  EXPECT_TRUE(has(proven, "principal", "tan"));
  EXPECT_FALSE(has(proven, "by", "tan"));
  EXPECT_TRUE(has(proven, "holders", "one"));
}

TEST(RecordText, SaysWhoOpenedASessionAndWhoOrderedWhat) {
  security::AuditNote note;
  note.number = 7;
  note.origin.principal = {security::PrincipalKind::User, "bob"};
  note.origin.type = security::AddressClass::Loopback;
  note.origin.address[15] = 1;
  note.origin.client = "build";
  const auto record = [&] {
    std::vector<std::byte> bytes;
    put_record_header(bytes,
                      {RecordKind::SessionNote, protocol::RecordOrigin::Loopback, kHeader.time_ms});
    security::encode_note(note, bytes);
    return bytes;
  };
  EXPECT_EQ(record_facts(record()),
            (RecordFacts{{"kind", "session_note"},
                         {"origin", "loopback"},
                         {"time", "2023-11-14T22:13:20.123Z"},
                         {"session", "7"},
                         {"principal_kind", "user"},
                         {"principal", "bob"},
                         {"address_class", "loopback"},
                         {"address", "::1"},
                         {"client", "build"}}));
  note.kind = security::NoteKind::Order;
  note.order = static_cast<std::uint16_t>(protocol::RequestKind::LockBreak);
  note.object = "a/lock";
  const RecordFacts facts = record_facts(record());
  EXPECT_EQ(facts.at(0).second, "order_note");
  EXPECT_EQ(facts.at(3), (RecordFacts::value_type{"order", "lock_break"}));
  EXPECT_EQ(facts.at(4), (RecordFacts::value_type{"object", "a/lock"}));
  auto cut = record();
  cut.pop_back();
  EXPECT_EQ(record_facts(cut).front().second, "unknown");
}

TEST(RecordText, ReadsWhatAnEngineWritesByItself) {
  const auto noop = encode_record_header({});
  EXPECT_EQ(record_facts(noop), (RecordFacts{{"kind", "noop"}, {"origin", "system"}}));
}

TEST(RecordText, WhatCannotBeReadIsUnknownAndKept) {
  EXPECT_EQ(record_facts({}), (RecordFacts{{"kind", "unknown"}, {"bytes", ""}}));
  std::vector<std::byte> record = record_of(kHeader, acquire());
  for (std::size_t size = 0; size < record.size(); ++size) {
    EXPECT_FALSE(record_facts(std::span(record).first(size)).empty());
  }
  record[8] = std::byte{99};
  EXPECT_EQ(record_facts(record).front().second, "unknown");
  record[0] = std::byte{200};
  EXPECT_EQ(record_facts(record).front().second, "unknown");
}

}  // namespace
}  // namespace gcoord::server
