// What a client shows to nodes of itself: passwords once, then tokens; and keys before requests.
#include "client/credentials/login.h"

#include "client/credentials/session_keyring.h"
#include "protocol/error_codes.h"
#include "protocol/identities/authenticate_messages.h"
#include "protocol/session_messages.h"
#include "tests/scratch_folder.h"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace gcoord::client {
namespace {

using protocol::AuthenticateMethod;
using protocol::ErrorCode;
using protocol::RequestKind;

constexpr TimePoint kNow = std::chrono::seconds{1000};

// "password ann/secret" or "token TEXT".
std::string shown(Login& login) {
  const auto proof = login.next(Privacy::Private);
  if (!proof.ok()) {
    return "GC" + std::to_string(proof.status().detail());
  }
  const auto order = protocol::decode_authenticate(proof.value().payload).value();
  EXPECT_EQ(proof.value().shown.by_password(), order.method == AuthenticateMethod::Password);
  EXPECT_EQ(login.early(Privacy::Private).payload.empty(), proof.value().shown.by_password());
  return order.method == AuthenticateMethod::Token
             ? "token " + std::string{order.token}
             : "password " + std::string{order.user} + "/" + std::string{order.password};
}

protocol::ReplySlot reply(ErrorCode code = ErrorCode::None) {
  protocol::ReplySlot slot;
  slot.kind = RequestKind::Authenticate;
  slot.detail = static_cast<std::uint32_t>(code);
  slot.code =
      code == ErrorCode::None ? gcoord::StatusCode::Ok : protocol::find_error(slot.detail)->status;
  return slot;
}

Login::Shown next_of(const Login& login) {
  const auto proof = login.next(Privacy::Private);
  EXPECT_TRUE(proof.ok()) << proof.status().to_string();
  return proof.ok() ? proof.value().shown : Login::Shown{};
}

struct Asked {
  Login& login;
  Login::Shown shown;
};

// A node believes what was shown, for so long, and gives a token for it or none.
Login::Outcome accept(const Asked& asked, const std::string& token, std::uint32_t life_s = 600) {
  const auto payload = protocol::encode_authenticated(
      {.principal = {security::PrincipalKind::User, "ann"}, .life_s = life_s, .token = token});
  return asked.login.take({reply(), payload, kNow, asked.shown});
}

Login::Outcome accept(Login& login, const std::string& token, std::uint32_t life_s = 600) {
  return accept(Asked{login, next_of(login)}, token, life_s);
}

Login::Outcome refuse(Login& login, const Login::Shown& shown, ErrorCode code) {
  return login.take({reply(code), {}, kNow, shown});
}

Login::Outcome refuse(Login& login, ErrorCode code) {
  return refuse(login, next_of(login), code);
}

TEST(Login, WithoutCredentialsThereIsNothingToShow) {
  EXPECT_FALSE(Login{{}}.wanted());
  EXPECT_TRUE(Login{{.user = "ann"}}.wanted());
  EXPECT_TRUE(Login{{.token = "t"}}.wanted());
}

TEST(Login, APasswordIsShownOnceAndItsTokenFromThenOn) {
  Login login{{.user = "ann", .password = "secret"}};
  EXPECT_EQ(shown(login), "password ann/secret");
  const Login::Outcome outcome = accept(login, "first");
  EXPECT_TRUE(outcome.status.ok());
  EXPECT_EQ(outcome.life, std::chrono::seconds{600});
  EXPECT_EQ(shown(login), "token first");
  EXPECT_EQ(login.identity(kNow)->name, "ann");
  EXPECT_EQ(login.identity(kNow)->token, "first");
  EXPECT_EQ(login.identity(kNow + std::chrono::seconds{100})->token_left,
            std::chrono::seconds{500});
  EXPECT_TRUE(accept(login, "").status.ok()) << "no other token: the one that was shown stays";
  EXPECT_EQ(shown(login), "token first");
  EXPECT_TRUE(accept(login, "second").status.ok());
  EXPECT_EQ(shown(login), "token second");
}

// For a day nodes renew a token from half its time on; then they only say what is left of it.
TEST(Login, ATokenThatNodesRenewNoMoreIsReplacedByThePasswordBeforeItsEnd) {
  Login login{{.user = "ann", .password = "secret"}};
  accept(login, "first");
  EXPECT_TRUE(accept(login, "", 300).status.ok());
  EXPECT_EQ(shown(login), "token first");
  EXPECT_TRUE(accept(login, "", 299).status.ok());
  EXPECT_EQ(shown(login), "password ann/secret");
  EXPECT_TRUE(accept(login, "second", 100).status.ok());
  EXPECT_EQ(shown(login), "token second") << "a node gives shorter ones now";
}

TEST(Login, ATokenAloneIsShownToItsEnd) {
  Login login{{.token = "given"}};
  accept(login, "");
  accept(login, "", 10);
  EXPECT_EQ(shown(login), "token given");
}

TEST(Login, ATokenThatIsNotTakenIsReplacedByThePassword) {
  Login login{{.user = "ann", .password = "secret"}};
  EXPECT_EQ(shown(login), "password ann/secret");
  accept(login, "first");
  EXPECT_EQ(shown(login), "token first");
  const Login::Outcome outcome = refuse(login, ErrorCode::TokenExpired);
  EXPECT_TRUE(outcome.again);
  EXPECT_EQ(shown(login), "password ann/secret");
  EXPECT_TRUE(accept(login, "second").status.ok());
  EXPECT_EQ(shown(login), "token second");
}

TEST(Login, ARefusalOfATokenThatWasReplacedMeanwhileLeavesTheNewOne) {
  Login login{{.user = "ann", .password = "secret"}};
  accept(login, "first");
  const Login::Shown first = next_of(login);
  EXPECT_TRUE(refuse(login, first, ErrorCode::TokenExpired).again);
  accept(login, "second");
  // Of another connection, which showed the first one too.
  EXPECT_TRUE(refuse(login, first, ErrorCode::TokenExpired).again);
  EXPECT_EQ(shown(login), "token second");
}

// Several connections show a token that is half over; the first answer brings another one.
TEST(Login, WhatIsSaidOfATokenThatWasReplacedMeanwhileDoesNotWearTheNewOne) {
  Login login{{.user = "ann", .password = "secret"}};
  accept(login, "first");
  const Login::Shown first = next_of(login);
  accept(Asked{login, first}, "second");
  const Login::Outcome late = accept(Asked{login, first}, "", 10);
  EXPECT_EQ(late.life, std::chrono::seconds{10}) << "so long the node believes that connection";
  EXPECT_EQ(shown(login), "token second");
  EXPECT_EQ(login.identity(kNow)->token_left, std::chrono::seconds{600});
}

TEST(Login, AreWipedAlsoWhereAMoveLeftThem) {
  Credentials kept{.user = "ann", .password = "a short one", .token = "a token"};
  const char* const memory = kept.password.data();  // Within the object: short texts do not move.
  const Credentials taken = std::move(kept);
  EXPECT_EQ(taken.password, "a short one");
  wipe(kept);  // NOLINT(bugprone-use-after-move)
  EXPECT_EQ(std::string_view(memory, 11), std::string(11, '\0'));
  EXPECT_TRUE(kept.password.empty());
}

TEST(Login, AWrongPasswordIsNotShownAgainByItself) {
  Login login{{.user = "ann", .password = "wrong"}};
  EXPECT_EQ(shown(login), "password ann/wrong");
  const Login::Outcome outcome = refuse(login, ErrorCode::AuthenticationFailed);
  EXPECT_FALSE(outcome.again);
  EXPECT_EQ(outcome.status.detail(), 6531u);
}

TEST(Login, AGivenTokenGoesBeforeThePasswordAndAloneHasNoOther) {
  Login both{{.user = "ann", .password = "secret", .token = "given"}};
  EXPECT_EQ(shown(both), "token given");
  EXPECT_TRUE(refuse(both, ErrorCode::TokenRevoked).again);
  EXPECT_EQ(shown(both), "password ann/secret");
  Login alone{{.token = "given"}};
  EXPECT_EQ(shown(alone), "token given");
  EXPECT_FALSE(refuse(alone, ErrorCode::TokenRevoked).again);
}

class LoginFileTest : public testing::Test {
 protected:
  void write(const std::string& text) const {
    std::ofstream{path_} << text;
    std::filesystem::permissions(
        path_, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  }

  const ScratchFolder folder_;
  const std::string path_ = (folder_.path() / "token").string();
};

TEST_F(LoginFileTest, ATokenFileIsReadAnewAndOnlyIfNobodyElseCan) {
  write("one\n");
  Login login{{.token_file = path_}};
  EXPECT_EQ(shown(login), "token one");
  write("two\n");
  EXPECT_EQ(shown(login), "token two");
  accept(login, "a node's");
  EXPECT_EQ(shown(login), "token a node's");
  accept(login, "", 10);
  EXPECT_EQ(shown(login), "token two") << "somebody else may have renewed it";
  std::filesystem::permissions(path_, std::filesystem::perms::all);
  EXPECT_EQ(shown(login), "GC6544");
  EXPECT_EQ(shown(*std::make_unique<Login>(Credentials{.token_file = path_ + ".none"})), "GC6544");
}

// The node's word on the file's token is none on the worn one, and the other way round.
TEST_F(LoginFileTest, AFileIsShownBesidesAWornTokenWhichServesOnWhereTheFileIsRefused) {
  write("a file's");
  Login login{{.token_file = path_}};
  accept(login, "a node's");
  accept(login, "", 10);
  EXPECT_EQ(shown(login), "token a file's");
  accept(login, "", 590);
  EXPECT_EQ(shown(login), "token a file's") << "the node's own has not grown younger";
  EXPECT_TRUE(refuse(login, ErrorCode::TokenExpired).again);
  EXPECT_EQ(shown(login), "token a node's");
  EXPECT_TRUE(refuse(login, ErrorCode::TokenExpired).again);
  EXPECT_EQ(shown(login), "token a file's");
  EXPECT_FALSE(refuse(login, ErrorCode::TokenExpired).again) << "there is nothing else";
  EXPECT_EQ(shown(login), "token a file's") << "of the next connection: it may be another one then";
}

TEST_F(LoginFileTest, AnEmptyFileSaysSoAndGivesWayToThePassword) {
  write(" \n");
  const Login login{{.token_file = path_}};
  const auto nothing = login.next(Privacy::Private);
  EXPECT_EQ(nothing.status().detail(), 6544u);
  EXPECT_NE(nothing.status().message().find(path_ + " holds no token"), std::string::npos);
  Login both{{.user = "ann", .password = "secret", .token_file = path_}};
  EXPECT_EQ(shown(both), "password ann/secret");
}

// With the number of the refusal, or of what is missing.
TEST(Login, WithNothingLeftToShowItSaysWhy) {
  Login revoked{{.token = "given"}};
  refuse(revoked, ErrorCode::TokenRevoked);
  EXPECT_EQ(shown(revoked), "GC6537");
  Login expired{{.token = "given"}};
  refuse(expired, ErrorCode::TokenExpired);
  EXPECT_EQ(shown(expired), "GC6536");
  Login bare{{.user = "ann"}};
  EXPECT_EQ(shown(bare), "GC1002");
  EXPECT_NE(bare.next(Privacy::Private).status().message().find("ann"), std::string::npos);
}

TEST(Login, WhatOthersCouldReadIsNotShown) {
  for (const Credentials& each : {Credentials{.user = "ann", .password = "secret"},
                                  Credentials{.token = "given"},
                                  Credentials{.token_file = "/nonexistent"}}) {
    const Login login{each};
    EXPECT_EQ(login.next(Privacy::Readable).status().detail(), 6685u);
    EXPECT_TRUE(login.early(Privacy::Readable).payload.empty());
  }
  const Login allowed{{.token = "given"}, Exposure::Allowed};
  EXPECT_TRUE(allowed.next(Privacy::Readable).ok());
  EXPECT_FALSE(allowed.early(Privacy::Readable).payload.empty());
}

// What is said of each node; what to do about it is said once, behind all of them.
TEST(Login, FailuresAreEvidenceWithANumber) {
  Login login{{.user = "ann", .password = "wrong"}};
  const auto* row = protocol::find_error(6531);
  const Login::Outcome outcome = refuse(login, ErrorCode::AuthenticationFailed);
  EXPECT_EQ(outcome.status.message(), row->cause);
  const Login absent{{.token_file = "/nonexistent"}};
  const auto unreadable = absent.next(Privacy::Private);
  EXPECT_EQ(unreadable.status().detail(), 6544u);
  EXPECT_EQ(unreadable.status().message().find(protocol::find_error(6544)->fix), std::string::npos);
}

TEST(Login, AnAnswerThatIsNoneIsAFailure) {
  Login login{{.user = "ann", .password = "secret"}};
  EXPECT_EQ(shown(login), "password ann/secret");
  EXPECT_EQ(login.take({reply(), {}, kNow, next_of(login)}).status.detail(), 4014u);
  EXPECT_FALSE(login.identity(kNow).has_value());
}

class SessionKeyringTest : public testing::Test {
 protected:
  security::SessionKey key(std::uint64_t session) const {
    return security::SessionKey::derive(secret_, SessionId{session});
  }

  // Sessions that are attached before the request.
  std::vector<std::uint64_t> before(const protocol::RequestSlot& slot,
                                    std::span<const std::byte> payload = {}) {
    std::vector<std::uint64_t> sessions;
    for (const auto& shown : keyring_.before(slot, payload, attached_)) {
      EXPECT_EQ(shown.slot.kind, RequestKind::SessionAttach);
      EXPECT_EQ(shown.key, key(shown.slot.session));
      sessions.push_back(shown.slot.session);
    }
    return sessions;
  }

  static protocol::RequestSlot slot(RequestKind kind, std::uint64_t session = 0) {
    protocol::RequestSlot request;
    request.kind = kind;
    request.session = session;
    return request;
  }

  const std::vector<std::byte> secret_ = std::vector<std::byte>(32, std::byte{3});
  SessionKeyring keyring_;
  SessionKeyring::Attached attached_;
};

TEST_F(SessionKeyringTest, ASessionIsAttachedOnceByEachConnection) {
  protocol::ReplySlot opened;
  opened.kind = RequestKind::OpenSession;
  opened.extra = 9;
  keyring_.hear(opened, key(9).bytes());
  EXPECT_EQ(before(slot(RequestKind::LockAcquire, 9)), std::vector<std::uint64_t>{9});
  EXPECT_TRUE(before(slot(RequestKind::LockRelease, 9)).empty());
  attached_.clear();  // Another connection.
  EXPECT_EQ(before(slot(RequestKind::LockRelease, 9)), std::vector<std::uint64_t>{9});
}

TEST_F(SessionKeyringTest, AKeepAliveAttachesEachOfItsList) {
  keyring_.keep(SessionId{1}, key(1));
  keyring_.keep(SessionId{2}, key(2));
  const std::vector<SessionId> all{SessionId{1}, SessionId{2}, SessionId{3}};
  const auto list = protocol::encode_keep_alive(all);
  EXPECT_EQ(before(slot(RequestKind::KeepAlive), list), (std::vector<std::uint64_t>{1, 2}));
  EXPECT_TRUE(before(slot(RequestKind::KeepAlive), list).empty());
}

TEST_F(SessionKeyringTest, AnAttachmentMayBringAnotherKeyOfAKnownSession) {
  keyring_.keep(SessionId{9}, key(8));
  protocol::ReplySlot attached;
  attached.kind = RequestKind::SessionAttach;
  attached.extra = 9;
  keyring_.hear(attached, {});
  EXPECT_EQ(keyring_.find(SessionId{9}), key(8));
  keyring_.hear(attached, key(9).bytes());
  EXPECT_EQ(keyring_.find(SessionId{9}), key(9));
  attached.extra = 10;
  keyring_.hear(attached, key(10).bytes());
  EXPECT_FALSE(keyring_.find(SessionId{10}).has_value());
}

TEST_F(SessionKeyringTest, WithoutAKeyNothingIsAttached) {
  protocol::ReplySlot opened;
  opened.kind = RequestKind::OpenSession;
  opened.extra = 9;
  keyring_.hear(opened, {});
  EXPECT_TRUE(before(slot(RequestKind::LockAcquire, 9)).empty());
  EXPECT_TRUE(before(slot(RequestKind::NodeStatus)).empty());
}

TEST_F(SessionKeyringTest, KeysOfEndedSessionsAreForgottenLate) {
  for (std::uint64_t session = 1; session <= SessionKeyring::kEndedKept + 1; ++session) {
    keyring_.keep(SessionId{session}, key(session));
    keyring_.on_ended(SessionId{session});
  }
  EXPECT_FALSE(keyring_.find(SessionId{1}).has_value());
  EXPECT_TRUE(keyring_.find(SessionId{2}).has_value());
}

}  // namespace
}  // namespace gcoord::client
