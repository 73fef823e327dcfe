// Notes of the ledger: their bytes, which never change, and the table of what they say.
#include "security/audit/note.h"

#include "security/audit/note_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>

namespace gcoord::security {
namespace {

AddressBytes four(std::array<unsigned char, 4> bytes) {
  AddressBytes address{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  std::copy(bytes.begin(), bytes.end(), address.begin() + 12);
  return address;
}

AuditNote session_note(std::uint64_t session, const std::string& user) {
  AuditNote note;
  note.number = session;
  note.origin = {{PrincipalKind::User, user}, AddressClass::Private, four({10, 0, 0, 7}), "build"};
  return note;
}

AuditNote order_note() {
  AuditNote note = session_note(9, "ann");
  note.kind = NoteKind::Order;
  note.order = 88;
  note.object = "jobs/a to shard 3";
  return note;
}

std::vector<std::byte> bytes_of(const AuditNote& note) {
  std::vector<std::byte> bytes;
  encode_note(note, bytes);
  return bytes;
}

std::string hex(const std::vector<std::byte>& bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const std::byte each : bytes) {
    text += kDigits[std::to_integer<unsigned>(each) >> 4];
    text += kDigits[std::to_integer<unsigned>(each) & 15];
  }
  return text;
}

// Recorded: what the first release with notes wrote. Other bytes need another version.
TEST(AuditNote, IsWhatEarlierReleasesWrote) {
  EXPECT_EQ(hex(bytes_of(session_note(0x0102030405060708, "bob"))),
            "01010202000003050000080706050403020100000000000000000000ffff0a000007"
            "626f626275696c64");
  EXPECT_EQ(hex(bytes_of(order_note())),
            "01020202580003051100090000000000000000000000000000000000ffff0a000007"
            "616e6e6275696c64"
            "6a6f62732f6120746f2073686172642033");
}

TEST(AuditNote, ComesBackAsItWas) {
  for (const AuditNote& note : {session_note(5, "bob"), order_note()}) {
    EXPECT_EQ(decode_note(bytes_of(note)), note);
  }
  AuditNote nobody;
  nobody.number = 1;
  EXPECT_EQ(decode_note(bytes_of(nobody)), nobody);
}

TEST(AuditNote, IsRefusedWhereBytesAreMissingOrAdded) {
  std::vector<std::byte> bytes = bytes_of(order_note());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(decode_note(std::span{bytes}.first(size))) << size;
  }
  bytes.push_back(std::byte{0});
  EXPECT_FALSE(decode_note(bytes));
}

TEST(AuditNote, IsRefusedWhereAFieldIsOutOfItsRange) {
  const std::vector<std::byte> good = bytes_of(session_note(5, "bob"));
  const std::pair<std::size_t, int> wrong[] = {
      {0, 2},     // version
      {1, 3},     // kind
      {2, 5},     // kind of principal
      {2, 0},     // nobody has a name
      {3, 5},     // class
      {4, 1},     // a session is no order
      {34, 255},  // no UTF-8
  };
  for (const auto& [at, value] : wrong) {
    std::vector<std::byte> bytes = good;
    bytes[at] = static_cast<std::byte>(value);
    EXPECT_FALSE(decode_note(bytes)) << at;
  }
}

TEST(AuditNote, CutsWhatAClientSaysOfItselfAndPrintsIt) {
  EXPECT_EQ(note_text("a\nb", 64), "a\\u{a}b");
  const std::string text = note_text(std::string(63, 'x') + "\xc3\xa4", 64);
  EXPECT_EQ(text, std::string(63, 'x'));
}

TEST(AuditNote, TellsClassesOfAddresses) {
  EXPECT_EQ(address_class(four({127, 0, 0, 1})), AddressClass::Loopback);
  EXPECT_EQ(address_class(four({10, 1, 2, 3})), AddressClass::Private);
  EXPECT_EQ(address_class(four({172, 31, 2, 3})), AddressClass::Private);
  EXPECT_EQ(address_class(four({172, 32, 2, 3})), AddressClass::Public);
  EXPECT_EQ(address_class(four({192, 168, 2, 3})), AddressClass::Private);
  EXPECT_EQ(address_class(four({192, 0, 2, 1})), AddressClass::Public);
  AddressBytes six{};
  EXPECT_EQ(address_class(six), AddressClass::Unknown);
  six[15] = 1;
  EXPECT_EQ(address_class(six), AddressClass::Loopback);
  EXPECT_EQ(address_text(AddressClass::Loopback, six), "::1");
  six[0] = 0xfd;
  EXPECT_EQ(address_class(six), AddressClass::Private);
  six[0] = 0x20;
  EXPECT_EQ(address_class(six), AddressClass::Public);
  EXPECT_EQ(address_text(AddressClass::Public, four({192, 0, 2, 1})), "192.0.2.1");
}

constexpr ShardId kShard{1};

TEST(NoteTable, KeepsTheBeginningAndTheNewestPrincipalOfASession) {
  NoteTable table(2);
  table.note(kShard, session_note(5, "bob"), 100);
  table.note(kShard, session_note(5, "eve"), 200);
  const KnownOrigin* const known = table.find(kShard, SessionId{5});
  ASSERT_NE(known, nullptr);
  EXPECT_EQ(known->since_ms, 100u);
  EXPECT_EQ(known->origin.principal.name, "eve");
  EXPECT_EQ(table.find(ShardId{0}, SessionId{5}), nullptr);
  table.end(kShard, SessionId{5});
  EXPECT_EQ(table.find(kShard, SessionId{5}), nullptr);
  EXPECT_EQ(table.size(), 0u);
}

TEST(NoteTable, ForgetsTheOldestWhenItIsFull) {
  constexpr std::uint32_t kShards = kNotesOfNodeMax / kNotesOfShardMin;
  NoteTable table(kShards);
  for (std::uint64_t session = 1; session <= kNotesOfShardMin + 2; ++session) {
    table.note(kShard, session_note(session, "bob"), session);
  }
  EXPECT_EQ(table.size(), kNotesOfShardMin);
  EXPECT_EQ(table.find(kShard, SessionId{2}), nullptr);
  EXPECT_NE(table.find(kShard, SessionId{3}), nullptr);
}

TEST(NoteTable, ComesBackFromItsBytesAndRefusesOthers) {
  NoteTable table(2);
  std::vector<std::byte> none;
  table.serialize(kShard, none);
  EXPECT_TRUE(none.empty());
  table.note(kShard, session_note(5, "bob"), 100);
  table.note(kShard, session_note(3, "ann"), 200);
  std::vector<std::byte> bytes;
  table.serialize(kShard, bytes);
  NoteTable other(2);
  ASSERT_TRUE(other.install(kShard, bytes));
  std::vector<std::byte> again;
  other.serialize(kShard, again);
  EXPECT_EQ(again, bytes);
  EXPECT_EQ(other.size(), 2u);
  for (std::size_t size = 1; size < bytes.size(); ++size) {
    EXPECT_FALSE(other.plausible(std::span{bytes}.first(size))) << size;
    EXPECT_FALSE(other.install(kShard, std::span{bytes}.first(size)));
  }
  EXPECT_EQ(other.size(), 2u);
  ASSERT_TRUE(other.install(kShard, {}));
  EXPECT_TRUE(other.is_empty(kShard));
  EXPECT_EQ(other.size(), 0u);
}

}  // namespace
}  // namespace gcoord::security
