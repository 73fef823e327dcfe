// Authenticate: passwords, tokens, and what those who fail are allowed.
#include "tests/server/identities/identities_fixture.h"

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <semaphore>
#include <utility>
#include <vector>

namespace gcoord::server {
namespace {

using protocol::ErrorCode;

class AuthenticateTest : public IdentitiesFixture {
 protected:
  AuthenticateTest() { users_.add("ann", "open sesame"); }

  static std::vector<std::byte> wrong_password() {
    return protocol::encode_authenticate(
        {.method = protocol::AuthenticateMethod::Password, .user = "ann", .password = "wrong"});
  }

  std::string token_of(const KeptReplies::Reply& reply) {
    return protocol::decode_authenticated(reply.payload).value().token;
  }
};

TEST_F(AuthenticateTest, TheRightPasswordMakesAPrincipalAndAToken) {
  const auto connection = connections_.add();
  const auto& reply = log_in(connection, "ann", "open sesame");
  ASSERT_EQ(error_in(reply), ErrorCode::None);
  const auto answer = protocol::decode_authenticated(reply.payload).value();
  EXPECT_EQ(security::to_string(answer.principal), "user ann");
  EXPECT_EQ(answer.life_s, kTokenLifeSeconds);
  EXPECT_EQ(principal(connection), "user ann");
  EXPECT_EQ(counts_.passwords_right.value(), 1u);
}

TEST_F(AuthenticateTest, AWrongPasswordAnUnknownUserAndADisabledOneGetOneAnswer) {
  users_.add("bob", "bob's");
  users_.users["bob"].disabled = true;
  users_.users["certificate only"] = {"", false, 1};
  for (const auto& [user, password] : {std::pair{"ann", "wrong"},
                                       std::pair{"nobody", "open sesame"},
                                       std::pair{"bob", "bob's"},
                                       std::pair{"certificate only", ""}}) {
    const auto connection = connections_.add();
    const auto& reply = log_in(connection, user, password);
    EXPECT_EQ(error_in(reply), ErrorCode::AuthenticationFailed) << user;
    EXPECT_TRUE(reply.payload.empty());
    EXPECT_EQ(principal(connection), "anonymous");
  }
  EXPECT_EQ(counts_.passwords_wrong.value(), 4u);
}

TEST_F(AuthenticateTest, AnotherConnectionComesInByTheTokenAndByNoHash) {
  const std::string token = token_of(log_in(connections_.add(), "ann", "open sesame"));
  for (int k = 0; k < 3; ++k) {
    const auto connection = connections_.add();
    ASSERT_EQ(error_in(show(connection, token)), ErrorCode::None);
    EXPECT_EQ(principal(connection), "user ann");
  }
  EXPECT_EQ(counts_.passwords_right.value(), 1u);
  EXPECT_EQ(counts_.tokens_good.value(), 3u);
  EXPECT_EQ(counts_.tokens_from_cache.value(), 2u);
}

TEST_F(AuthenticateTest, ATokenEndsAlsoOneThatIsRemembered) {
  const std::string token = token_of(log_in(connections_.add(), "ann", "open sesame"));
  ASSERT_EQ(error_in(show(connections_.add(), token)), ErrorCode::None);
  now_s_ += kTokenLifeSeconds;
  EXPECT_EQ(error_in(show(connections_.add(), token)), ErrorCode::TokenExpired);
  EXPECT_EQ(counts_.tokens_bad.value(), 1u);
}

TEST_F(AuthenticateTest, ATokenIsRenewedWhenHalfOfItsTimeIsOverAndNoLongerThanADay) {
  std::string token = token_of(log_in(connections_.add(), "ann", "open sesame"));
  EXPECT_EQ(token_of(show(connections_.add(), token)), "");
  const std::uint64_t end = now_s_ + security::kTokenLifeSecondsMax;
  std::uint64_t renewals = 0;
  while (now_s_ + 400 < end) {
    now_s_ += 400;
    const auto& reply = show(connections_.add(), token);
    ASSERT_EQ(error_in(reply), ErrorCode::None) << "after " << renewals;
    if (const std::string next = token_of(reply); !next.empty()) {
      token = next;
      ++renewals;
    }
  }
  EXPECT_GT(renewals, 200u);
  now_s_ = end;
  EXPECT_EQ(error_in(show(connections_.add(), token)), ErrorCode::TokenExpired);
}

TEST_F(AuthenticateTest, ATokenEndsWithItsUser) {
  const std::string token = token_of(log_in(connections_.add(), "ann", "open sesame"));
  const KnownUser before = users_.users["ann"];
  users_.users["ann"].disabled = true;
  EXPECT_EQ(error_in(show(connections_.add(), token)), ErrorCode::TokenRevoked);
  users_.users.erase("ann");
  EXPECT_EQ(error_in(show(connections_.add(), token)), ErrorCode::TokenRevoked);
  users_.users["ann"] = before;
  EXPECT_EQ(error_in(show(connections_.add(), token)), ErrorCode::None);
  users_.add("ann", "another");
  EXPECT_EQ(error_in(show(connections_.add(), token)), ErrorCode::TokenRevoked);
}

TEST_F(AuthenticateTest, ANodeWithOlderUsersSaysSoAndCountsNoFailure) {
  const std::string token = token_of(log_in(connections_.add(), "ann", "open sesame"));
  users_.now = 0;
  const auto connection = connections_.add();
  EXPECT_EQ(error_in(show(connection, token)), ErrorCode::UsersBehind);
  EXPECT_EQ(connections_.identity(connection)->attempts_failed, 0u);
}

TEST_F(AuthenticateTest, ATokenOfAnotherClusterIsForeignUntilItsSecretIsThePreviousOne) {
  const std::string token = token_of(log_in(connections_.add(), "ann", "open sesame"));
  requests_.set_keys(identity_keys(security::ClusterSecret::generate()));
  EXPECT_EQ(error_in(show(connections_.add(), token)), ErrorCode::TokenForeign);
  requests_.set_keys(identity_keys(secret_.rotated()));
  EXPECT_EQ(error_in(show(connections_.add(), token)), ErrorCode::None);
}

TEST_F(AuthenticateTest, WithoutASecretThereAreNoPasswords) {
  requests_.set_keys({});
  EXPECT_EQ(error_in(log_in(connections_.add(), "ann", "open sesame")),
            ErrorCode::AuthenticationUnsupported);
}

TEST_F(AuthenticateTest, AConnectionThatFailsTooOftenIsNotHeardAnyMore) {
  const auto connection = connections_.add();
  for (std::uint32_t k = 0; k < kAttemptsOfConnection; ++k) {
    EXPECT_EQ(error_in(log_in(connection, "ann", "wrong")), ErrorCode::AuthenticationFailed);
  }
  EXPECT_EQ(error_in(log_in(connection, "ann", "open sesame")), ErrorCode::AuthenticationThrottled);
  EXPECT_EQ(error_in(log_in(connections_.add(), "ann", "open sesame")), ErrorCode::None);
}

TEST_F(AuthenticateTest, AnAddressThatFailsTooOftenWaitsWhileOthersDoNot) {
  for (std::uint32_t k = 0; k < kAttemptsOfSource; ++k) {
    EXPECT_EQ(error_in(show(connections_.add(7), "gct1.nonsense")), ErrorCode::TokenMalformed);
  }
  EXPECT_EQ(error_in(log_in(connections_.add(7), "ann", "open sesame")),
            ErrorCode::AuthenticationThrottled);
  EXPECT_EQ(error_in(log_in(connections_.add(8), "ann", "open sesame")), ErrorCode::None);
  now_s_ += kAttemptBackMs / 1000;
  EXPECT_EQ(error_in(log_in(connections_.add(7), "ann", "open sesame")), ErrorCode::None);
}

// Else a stranger behind the same address could have all others of it cut off at their tokens' end.
TEST_F(AuthenticateTest, ARightTokenCountsWhateverItsAddressHasFailed) {
  const std::string token = token_of(log_in(connections_.add(7), "ann", "open sesame"));
  for (std::uint32_t k = 0; k < kAttemptsOfSource; ++k) {
    show(connections_.add(7), "gct1.nonsense");
  }
  EXPECT_EQ(error_in(show(connections_.add(7), "gct1.nonsense")),
            ErrorCode::AuthenticationThrottled);
  EXPECT_EQ(error_in(show(connections_.add(7), token)), ErrorCode::None);
}

TEST_F(AuthenticateTest, PayloadsThatAreNoneAreRefused) {
  const auto connection = connections_.add();
  for (const char* bytes : {"", "\x01", "\x03", "\x02\x05", "\x01\x01"}) {
    const auto& reply = send(connection,
                             slot_of(protocol::RequestKind::Authenticate),
                             protocol::bytes_of(std::string_view{bytes}));
    EXPECT_EQ(error_in(reply), ErrorCode::PayloadMalformed);
  }
}

TEST_F(AuthenticateTest, AConnectionHasOnePasswordCheckedAtATime) {
  const auto connection = connections_.add();
  connections_.identity(connection)->checking = true;
  EXPECT_EQ(error_in(log_in(connection, "ann", "open sesame")), ErrorCode::AuthenticationBusy);
  EXPECT_EQ(counts_.queue_full.value(), 1u);
}

// Nobody waits for the answers, as of somebody who hangs up at once.
TEST_F(AuthenticateTest, AnAddressThatHangsUpBeforeTheAnswersHasTriedAllTheSame) {
  for (std::uint32_t k = 0; k < kAttemptsOfSource; ++k) {
    const auto connection = connections_.add(7);
    send(connection, slot_of(protocol::RequestKind::Authenticate), wrong_password());
    connections_.open.erase(connection.value);
  }
  for (std::uint32_t k = 0; k < kAttemptsOfSource; ++k) {  // All have had their turns.
    ASSERT_TRUE(done_.try_acquire_for(std::chrono::seconds{60}));
  }
  requests_.advance();
  EXPECT_EQ(counts_.passwords_wrong.value(), kAttemptsOfSource);
  EXPECT_EQ(error_in(log_in(connections_.add(7), "ann", "open sesame")),
            ErrorCode::AuthenticationThrottled);
  EXPECT_EQ(error_in(log_in(connections_.add(8), "ann", "open sesame")), ErrorCode::None);
}

// Else a crowd that gives up while a node is busy would throttle those of its address that wait.
TEST_F(AuthenticateTest, WhoGivesUpBeforeItsTurnCountsAgainstNobody) {
  std::unique_lock stopped{worker_goes_on_};
  const auto attempt = [this] {
    const auto connection = connections_.add(7);
    send(connection, slot_of(protocol::RequestKind::Authenticate), wrong_password());
    return connection;
  };
  attempt();
  ASSERT_TRUE(wait_for_worker());
  for (std::uint32_t k = 0; k < kChecksOfSource; ++k) {
    connections_.open.erase(attempt().value);
  }
  requests_.advance();  // It sees that they are gone, and the worker has had none of them.
  stopped.unlock();
  for (std::uint32_t k = 0; k < kChecksOfSource; ++k) {
    ASSERT_TRUE(wait_for_worker());
  }
  static_assert(kChecksOfSource >= kAttemptsOfSource);
  EXPECT_EQ(counts_.passwords_wrong.value(), 1u);
  EXPECT_EQ(counts_.throttled.value(), 0u);
  EXPECT_EQ(error_in(log_in(connections_.add(7), "ann", "open sesame")), ErrorCode::None);
}

TEST_F(AuthenticateTest, OneAddressDoesNotTakeTheWholeQueue) {
  std::vector<protocol::ConnectionId> all;
  for (std::uint32_t k = 0; k <= kChecksOfSource; ++k) {  // None is taken out of the queue here.
    all.push_back(connections_.add(7));
    send(all.back(), slot_of(protocol::RequestKind::Authenticate), wrong_password());
  }
  EXPECT_EQ(replies_.count, 1u);
  EXPECT_EQ(error_in(replies_.last[all.back().value]), ErrorCode::AuthenticationBusy);
  const auto other = connections_.add(8);
  send(other, slot_of(protocol::RequestKind::Authenticate), wrong_password());
  while (replies_.count < kChecksOfSource + 2 && wait_for_worker()) {
  }
  EXPECT_EQ(error_in(replies_.last[other.value]), ErrorCode::AuthenticationFailed);
}

TEST_F(AuthenticateTest, AnAnswerForAConnectionThatIsGoneIsDropped) {
  const auto connection = connections_.add();
  send(connection,
       slot_of(protocol::RequestKind::Authenticate),
       protocol::encode_authenticate({.method = protocol::AuthenticateMethod::Password,
                                      .user = "ann",
                                      .password = "open sesame"}));
  connections_.open.clear();
  ASSERT_TRUE(wait_for_worker());
  EXPECT_EQ(counts_.passwords_right.value(), 1u);
  EXPECT_EQ(replies_.count, 0u);
}

TEST(PasswordWorker, RefusesWhatItsQueueCannotHoldAndForgetsTheRestAtItsEnd) {
  const std::string dear = security::hash_password("a", {14, 8, 1}).value();
  std::size_t taken = 0;
  {
    PasswordWorker worker{[] {}};
    while (worker.check(dear, "a", {[](PasswordWorker::Outcome) {}}) &&
           taken < 10 * PasswordWorker::kQueueMax) {
      ++taken;
    }
  }
  // One or more are under way or done beside those that wait.
  EXPECT_GE(taken, PasswordWorker::kQueueMax);
  EXPECT_LT(taken, 2 * PasswordWorker::kQueueMax);
}

// Who comes after a crowd that has hung up does not wait for its turns.
TEST(PasswordWorker, DoesNotCheckWhatNobodyWaitsFor) {
  const std::string verifier = security::hash_password("a", {1, 8, 1}).value();
  std::counting_semaphore<> woken{0};
  PasswordWorker worker{[&] { woken.release(); }};
  std::vector<PasswordWorker::Outcome> outcomes;
  for (const auto& [abandoned, password] :
       {std::pair{true, "a"}, std::pair{false, "a"}, std::pair{false, "b"}}) {
    ASSERT_TRUE(
        worker.check(verifier,
                     password,
                     {.done = [&](PasswordWorker::Outcome outcome) { outcomes.push_back(outcome); },
                      .abandoned = std::make_shared<std::atomic<bool>>(abandoned)}));
    woken.acquire();
    EXPECT_TRUE(worker.take_done());
  }
  using enum PasswordWorker::Outcome;
  EXPECT_EQ(outcomes, (std::vector{NotChecked, Right, Wrong}));
}

TEST(TokenCache, TheOldestGoesFirst) {
  TokenCache cache;
  const security::TokenClaims claims{.roles_epoch = 3};
  for (std::size_t k = 0; k <= TokenCache::kTokensMax; ++k) {
    cache.add("token " + std::to_string(k), claims);
  }
  EXPECT_EQ(cache.size(), TokenCache::kTokensMax);
  EXPECT_EQ(cache.find("token 0"), nullptr);
  ASSERT_NE(cache.find("token 1"), nullptr);
  EXPECT_EQ(cache.find("token 1")->roles_epoch, 3u);
}

TEST(AttemptLimits, RemembersABoundedNumberOfAddresses) {
  AttemptLimits limits;
  for (std::uint32_t k = 0; k < 2 * AttemptLimits::kSourcesMax; ++k) {
    ConnectionIdentity connection;
    connection.source = {static_cast<unsigned char>(k), static_cast<unsigned char>(k >> 8)};
    limits.on_failure(connection, 0);
  }
  EXPECT_EQ(limits.source_count(), AttemptLimits::kSourcesMax);
}

}  // namespace
}  // namespace gcoord::server
