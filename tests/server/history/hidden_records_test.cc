// What readers get of changes of users who may not manage users.
#include "server/history/hidden_records.h"

#include "ledger/tiles/hidden_entry.h"
#include "locks/commands/entry_record.h"
#include "security/roles/command.h"
#include "server/history/record_text.h"
#include "tests/server/endpoints/fake_ledger.h"
#include "tests/server/history/access_records.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace gcoord::server {
namespace {

using security::AccessKind;

constexpr ShardId kUsers{0};

bool contains(std::span<const std::byte> bytes, std::string_view text) {
  return !std::ranges::search(bytes, std::as_bytes(std::span(text))).empty();
}

std::string fact(const RecordFacts& facts, std::string_view name) {
  const auto found = std::ranges::find(facts, name, &RecordFacts::value_type::first);
  return found == facts.end() ? "" : found->second;
}

TEST(HiddenRecords, EveryKindThatCanHaveAVerifierIsShownWithoutIt) {
  for (const AccessKind kind : {AccessKind::UserAdd, AccessKind::UserPassword}) {
    const auto entry = access_entry(kind, kSomeVerifier);
    ASSERT_TRUE(contains(entry, kSomeVerifier));
    const auto stand_in = without_secret(kUsers, entry);
    ASSERT_TRUE(stand_in);
    EXPECT_FALSE(contains(*stand_in, kSomeVerifier));
    EXPECT_EQ(ledger::parse_hidden_entry(*stand_in)->leaf, ledger::hash_leaf(entry));
    const RecordFacts facts = record_facts(*stand_in);
    ASSERT_GT(facts.size(), 4u);
    EXPECT_EQ(facts.front(), (RecordFacts::value_type{"kind", "hidden"}));
    EXPECT_EQ(fact(facts, "hidden"), "yes");
    EXPECT_EQ(fact(facts, "right_missing"), "auth.admin");
    EXPECT_NE(fact(facts, "leaf"), "");
    // All else is as of the entry, and claimed.
    RecordFacts claims = record_facts(entry);
    for (auto& [name, value] : claims) {
      name.insert(0, kClaim);
    }
    EXPECT_EQ(RecordFacts(facts.begin() + 4, facts.end()), claims);
    EXPECT_EQ(fact(facts, "claimed.principal"), "root-ann");
    EXPECT_EQ(fact(facts, "claimed.time"), "2023-11-14T22:13:20.123Z");
    EXPECT_EQ(fact(facts, "claimed.password"), "set");
  }
}

TEST(HiddenRecords, WhatHasNoVerifierIsGivenAsItIs) {
  EXPECT_FALSE(without_secret(kUsers, access_entry(AccessKind::UserAdd, "")));
  EXPECT_FALSE(without_secret(kUsers, access_entry(AccessKind::UserDisable, "")));
  FakeLedger ledger(1);
  ledger.append(0, 2);
  const auto entries = ledger.tree(0).entries(0, 2).value();
  for (const auto& entry : entries) {
    EXPECT_FALSE(without_secret(kUsers, entry));
  }
  EXPECT_FALSE(without_secret(kUsers, {}));
  // Users are of shard 0, and readers take no stand-in in another log.
  const auto entry = access_entry(AccessKind::UserPassword, kSomeVerifier);
  EXPECT_FALSE(without_secret(ShardId{1}, entry));
}

// Of a newer release, or damaged: a verifier may be anywhere in it.
TEST(HiddenRecords, AChangeOfUsersThatCannotBeReadIsHiddenWhole) {
  auto entry = access_entry(AccessKind::UserPassword, kSomeVerifier);
  entry[kRecordHeaderBytes + 1] = std::byte{9};  // Its version.
  const auto stand_in = without_secret(kUsers, entry);
  ASSERT_TRUE(stand_in);
  EXPECT_FALSE(contains(*stand_in, kSomeVerifier));
  EXPECT_EQ(fact(record_facts(*stand_in), "kind"), "hidden");
  const auto cut = access_entry(AccessKind::UserPassword, kSomeVerifier);
  for (std::size_t length = kRecordHeaderBytes; length < cut.size(); ++length) {
    const auto hidden = without_secret(kUsers, std::span(cut).first(length));
    ASSERT_TRUE(hidden) << length;
    EXPECT_FALSE(contains(*hidden, std::string_view{kSomeVerifier}.substr(0, 8))) << length;
  }
}

TEST(HiddenRecords, InTheLogOfADeviceNoPieceOfShardZeroIsGiven) {
  const auto record = access_entry(AccessKind::UserPassword, kSomeVerifier);
  std::vector<std::byte> given;
  for (const locks::LockEntry& each : locks::record_entries(record)) {
    const auto bytes = std::as_bytes(std::span{&each, 1});
    const auto stand_in = without_secret(kUsers, bytes);
    EXPECT_EQ(stand_in.has_value(), each.kind() == locks::kEntryPiece);
    given.insert(given.end(), bytes.begin(), stand_in ? bytes.begin() : bytes.end());
    EXPECT_EQ(without_secret(ShardId{1}, bytes), std::nullopt);  // Of a name.
  }
  EXPECT_FALSE(contains(given, std::string_view{kSomeVerifier}.substr(0, 8)));
}

// Whoever makes a proof file writes what stands in it.
TEST(HiddenRecords, AStandInClaimsNothingButNewUsersAndPasswords) {
  FakeLedger ledger(1);
  ledger.append(0, 1);
  const std::vector<std::byte> acquire = ledger.tree(0).entries(0, 1).value().front();
  const RecordFacts facts = record_facts(ledger::hidden_entry({}, acquire));
  EXPECT_EQ(fact(facts, "kind"), "hidden");
  EXPECT_EQ(facts.size(), 4u);
  const auto whole = access_entry(AccessKind::UserPassword, kSomeVerifier);
  EXPECT_EQ(record_facts(ledger::hidden_entry(whole, whole)).size(), 4u);
  for (int kind = 0; kind != 256; ++kind) {
    const auto access = static_cast<AccessKind>(kind);
    const auto entry = access_entry(access, "");
    const bool claims = access == AccessKind::UserAdd || access == AccessKind::UserPassword;
    EXPECT_EQ(record_facts(ledger::hidden_entry(entry, entry)).size() > 4, claims) << kind;
  }
}

}  // namespace
}  // namespace gcoord::server
