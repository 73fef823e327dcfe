// Keys of sessions: who may speak for which.
#include "protocol/session_messages.h"
#include "protocol/validate.h"
#include "server/identities/session_gate.h"
#include "tests/server/identities/identities_fixture.h"

#include <random>
#include <unordered_set>

namespace gcoord::server {
namespace {

using protocol::ErrorCode;
using protocol::RequestKind;

constexpr std::uint64_t kSession = std::uint64_t{1} << 48 | 9;

class SessionKeysTest : public IdentitiesFixture {
 protected:
  SessionKeysTest() : IdentitiesFixture(SessionKeyMode::Required) {}

  // Of a session that a node made.
  std::vector<std::byte> open(protocol::ConnectionId connection,
                              RequestKind kind = RequestKind::OpenSession,
                              std::uint64_t session = kSession) {
    protocol::ReplySlot reply = protocol::reply_to(slot_of(kind));
    reply.extra = session;
    const auto key = requests_.on_opened(connection, reply);
    return {key.begin(), key.end()};
  }

  ErrorCode attach(protocol::ConnectionId connection,
                   std::span<const std::byte> key,
                   std::uint64_t session = kSession) {
    return error_in(send(connection, slot_of(RequestKind::SessionAttach, session), key));
  }

  ErrorCode ask(protocol::ConnectionId connection,
                const protocol::RequestSlot& slot,
                std::span<const std::byte> payload = {}) {
    if (requests_.admits({connection, slot, payload})) {
      return ErrorCode::None;
    }
    return error_in(replies_.last[connection.value]);
  }
};

TEST_F(SessionKeysTest, WhoOpenedASessionSpeaksForItAndOthersDoNot) {
  const auto owner = connections_.add();
  const auto stranger = connections_.add();
  EXPECT_EQ(open(owner).size(), security::kSessionKeyBytes);
  const auto slot = slot_of(RequestKind::LockAcquire, kSession);
  EXPECT_EQ(ask(owner, slot), ErrorCode::None);
  EXPECT_EQ(ask(stranger, slot), ErrorCode::SessionNotAttached);
  EXPECT_EQ(counts_.unattached.value(), 1u);
}

TEST_F(SessionKeysTest, WhoHasTheKeyAttachesItAtAnyNode) {
  const auto key = open(connections_.add());
  const auto other = connections_.add();
  ASSERT_EQ(attach(other, key), ErrorCode::None);
  EXPECT_EQ(ask(other, slot_of(RequestKind::CloseSession, kSession)), ErrorCode::None);
  IdentityRequests elsewhere({.replies = replies_,
                              .connections = connections_,
                              .users = users_,
                              .passwords = passwords_,
                              .metrics = counts_,
                              .now_ms = [] { return std::uint64_t{0}; },
                              .wall_us = [] { return std::uint64_t{0}; }},
                             SessionKeyMode::Required);
  elsewhere.set_keys(identity_keys(secret_));
  const auto there = connections_.add();
  elsewhere.on_request({there, slot_of(RequestKind::SessionAttach, kSession), key});
  EXPECT_EQ(error_in(replies_.last[there.value]), ErrorCode::None);
}

TEST_F(SessionKeysTest, AWrongKeyAttachesNothingAndCounts) {
  auto key = open(connections_.add());
  const auto stranger = connections_.add();
  EXPECT_EQ(attach(stranger, key, kSession + 1), ErrorCode::SessionKeyInvalid);
  key.back() ^= std::byte{1};
  EXPECT_EQ(attach(stranger, key), ErrorCode::SessionKeyInvalid);
  EXPECT_EQ(attach(stranger, {}), ErrorCode::SessionKeyInvalid);
  EXPECT_EQ(attach(stranger, key, 0), ErrorCode::SessionZero);
  EXPECT_EQ(counts_.keys_wrong.value(), 3u);
  EXPECT_EQ(connections_.identity(stranger)->attached.size(), 0u);
  for (std::uint32_t k = 3; k < kAttemptsOfConnection; ++k) {
    EXPECT_EQ(attach(stranger, key), ErrorCode::SessionKeyInvalid);
  }
  EXPECT_EQ(attach(stranger, key), ErrorCode::AuthenticationThrottled);
}

TEST_F(SessionKeysTest, AKeepAliveNamesOnlySessionsOfItsConnection) {
  const auto owner = connections_.add();
  open(owner);
  open(owner, RequestKind::OpenSession, kSession + 1);
  const auto keep_alive = slot_of(RequestKind::KeepAlive);
  const std::vector<SessionId> own{SessionId{kSession}, SessionId{kSession + 1}};
  EXPECT_EQ(ask(owner, keep_alive, protocol::encode_keep_alive(own)), ErrorCode::None);
  const std::vector<SessionId> more{SessionId{kSession}, SessionId{kSession + 2}};
  EXPECT_EQ(ask(owner, keep_alive, protocol::encode_keep_alive(more)),
            ErrorCode::SessionNotAttached);
}

TEST_F(SessionKeysTest, AGrantOfAnIdThatANodeGaveYieldsNoKeyToStrangers) {
  const auto owner = connections_.add();
  open(owner);
  const auto stranger = connections_.add();
  EXPECT_EQ(ask(stranger, slot_of(RequestKind::SessionGrant, kSession)),
            ErrorCode::SessionNotAttached);
  requests_.set_mode(SessionKeyMode::Permissive);
  EXPECT_EQ(ask(stranger, slot_of(RequestKind::SessionGrant, kSession)), ErrorCode::None);
  EXPECT_TRUE(open(stranger, RequestKind::SessionGrant).empty());
  EXPECT_EQ(connections_.identity(stranger)->attached.size(), 0u);
  EXPECT_EQ(open(owner, RequestKind::SessionGrant).size(), security::kSessionKeyBytes);
}

TEST_F(SessionKeysTest, AnIdOfTheClientsChoiceIsItsOwnOnceGranted) {
  const auto owner = connections_.add();
  EXPECT_EQ(ask(owner, slot_of(RequestKind::SessionGrant, 77)), ErrorCode::None);
  EXPECT_FALSE(open(owner, RequestKind::SessionGrant, 77).empty());
  EXPECT_EQ(ask(owner, slot_of(RequestKind::LockAcquire, 77)), ErrorCode::None);
}

TEST_F(SessionKeysTest, AnOlderClientSpeaksForWhatItOpenedAndSeesNoKey) {
  const auto old = connections_.add();
  connections_.identity(old)->features = 0;
  EXPECT_TRUE(open(old).empty());
  EXPECT_EQ(ask(old, slot_of(RequestKind::LockAcquire, kSession)), ErrorCode::None);
}

TEST_F(SessionKeysTest, AutoIsRequiredOnceRightsAreChecked) {
  requests_.set_mode(SessionKeyMode::Auto);
  const auto stranger = connections_.add();
  const auto slot = slot_of(RequestKind::LockRelease, kSession);
  EXPECT_EQ(ask(stranger, slot), ErrorCode::None);
  EXPECT_EQ(counts_.unattached.value(), 1u);
  users_.checked = true;
  EXPECT_EQ(ask(stranger, slot), ErrorCode::SessionNotAttached);
}

TEST_F(SessionKeysTest, OffAndWithoutASecretNothingIsAsked) {
  const auto connection = connections_.add();
  requests_.set_mode(SessionKeyMode::Off);
  EXPECT_TRUE(open(connection).empty());
  EXPECT_EQ(ask(connection, slot_of(RequestKind::LockAcquire, kSession + 5)), ErrorCode::None);
  requests_.set_mode(SessionKeyMode::Required);
  requests_.set_keys({});
  EXPECT_TRUE(open(connection).empty());
  EXPECT_EQ(ask(connection, slot_of(RequestKind::LockAcquire, kSession + 5)), ErrorCode::None);
  EXPECT_EQ(attach(connection, {}), ErrorCode::AuthenticationUnsupported);
}

TEST_F(SessionKeysTest, TheKeyOfBeforeARotationStillAttaches) {
  const auto key = open(connections_.add());
  requests_.set_keys(identity_keys(secret_.rotated()));
  EXPECT_EQ(attach(connections_.add(), key), ErrorCode::None);
  requests_.set_keys(identity_keys(secret_.rotated().rotated()));
  EXPECT_EQ(attach(connections_.add(), key), ErrorCode::SessionKeyInvalid);
}

TEST_F(SessionKeysTest, WhoAttachesByTheKeyOfBeforeARotationGetsTheNewest) {
  const auto key = open(connections_.add());
  const auto other = connections_.add();
  EXPECT_EQ(attach(other, key), ErrorCode::None);
  EXPECT_TRUE(replies_.last[other.value].payload.empty());  // It is the newest.
  const auto rotated = secret_.rotated();
  requests_.set_keys(identity_keys(rotated));
  EXPECT_EQ(attach(other, key), ErrorCode::None);
  const auto newest = replies_.last[other.value].payload;
  ASSERT_EQ(newest.size(), security::kSessionKeyBytes);
  requests_.set_keys(identity_keys(rotated.rotated()));
  EXPECT_EQ(attach(connections_.add(), newest), ErrorCode::None);
}

TEST_F(SessionKeysTest, SequencesFromTheWallClockAreTakenAndLeapsAreNot) {
  const auto owner = connections_.add();
  open(owner);
  auto slot = slot_of(RequestKind::LockAcquire, kSession);
  for (const std::uint64_t sequence :
       {std::uint64_t{1}, now_s_ * 1'000'000, now_s_ * 1'000'000 + kSequenceLeapUs}) {
    slot.sequence = sequence;
    EXPECT_EQ(ask(owner, slot), ErrorCode::None) << sequence;
  }
  slot.sequence = now_s_ * 1'000'000 + kSequenceLeapUs + 1;
  EXPECT_EQ(ask(owner, slot), ErrorCode::SequenceLeaps);
  slot.kind = RequestKind::CloseSession;  // Its sequence counts nothing.
  EXPECT_EQ(ask(owner, slot), ErrorCode::None);
}

TEST_F(SessionKeysTest, ClosedSessionsGiveTheirPlacesBackLate) {
  const auto owner = connections_.add();
  for (std::uint64_t k = 0; k < 1000; ++k) {
    open(owner, RequestKind::OpenSession, kSession + k);
    const auto close = slot_of(RequestKind::CloseSession, kSession + k);
    EXPECT_EQ(ask(owner, close), ErrorCode::None);
    EXPECT_EQ(ask(owner, close), ErrorCode::None) << "once more, as after a lost answer";
  }
  EXPECT_EQ(connections_.identity(owner)->attached.size(), ConnectionIdentity::kClosedKept);
  EXPECT_EQ(connections_.budget.used, ConnectionIdentity::kClosedKept);
  connections_.open.clear();
  EXPECT_EQ(connections_.budget.used, 0u);
}

TEST_F(SessionKeysTest, ANodeIsFullWhenItsBudgetIs) {
  connections_.budget.max = 1;
  const auto key = open(connections_.add());
  EXPECT_EQ(attach(connections_.add(), key), ErrorCode::SessionsAttachedMax);
}

// What takes a session in its slot, and refuses none, speaks for it; whoever adds such a kind finds
// this test.
TEST(SessionGate, EveryKindThatDemandsASessionIsChecked) {
  for (std::uint16_t number = 0; number < 256; ++number) {
    protocol::RequestSlot slot;
    slot.kind = RequestKind{number};
    slot.sequence = 1;
    slot.acked_below = 1;
    slot.token = 1;
    slot.ttl_ms = 1000;
    const bool demands = protocol::check_request(slot, {}, {}) == ErrorCode::SessionZero;
    const bool shows = slot.kind == RequestKind::SessionShow ||
                       slot.kind == RequestKind::SessionAttach ||
                       slot.kind == RequestKind::SessionGrant;
    if (demands && !shows) {
      EXPECT_NE(session_use(slot), SessionUse::None) << protocol::request_kind_name(slot.kind);
    }
  }
}

TEST(AttachedSessions, AreASetWhateverComesAndGoes) {
  std::mt19937_64 random{7};  // NOLINT(cert-msc51-cpp): the same numbers each time.
  AttachedSessions set;
  std::unordered_set<std::uint64_t> model;
  for (int step = 0; step < 200'000; ++step) {
    const std::uint64_t id = 1 + random() % 700;
    if (random() % 2 == 0) {
      EXPECT_TRUE(set.add(SessionId{id}));
      model.insert(id);
    } else {
      set.remove(SessionId{id});
      model.erase(id);
    }
    ASSERT_EQ(set.size(), model.size());
    const std::uint64_t other = random() % 702;
    ASSERT_EQ(set.contains(SessionId{other}), model.contains(other));
  }
}

// One client with one session attached everywhere left no room for anybody's second one.
TEST(AttachedSessions, LeaveTheLastQuarterToConnectionsWithFew) {
  AttachmentBudget budget{.max = 4 * kAttachedFew};
  AttachedSessions greedy{&budget};
  std::uint64_t id = 0;
  while (greedy.add(SessionId{id + 1})) {
    ++id;
  }
  EXPECT_EQ(id, 3 * kAttachedFew);
  AttachedSessions modest{&budget};
  for (std::uint64_t own = 1; own <= kAttachedFew; ++own) {
    ASSERT_TRUE(modest.add(SessionId{own}));
  }
  EXPECT_FALSE(modest.add(SessionId{kAttachedFew + 1}));
  EXPECT_EQ(budget.used, budget.max);
}

TEST(AttachedSessions, AreBounded) {
  AttachedSessions set;
  for (std::uint64_t id = 1; id <= kAttachedMax; ++id) {
    ASSERT_TRUE(set.add(SessionId{id}));
  }
  EXPECT_FALSE(set.add(SessionId{kAttachedMax + 1}));
  EXPECT_TRUE(set.add(SessionId{1})) << "it is there";
}

}  // namespace
}  // namespace gcoord::server
