#include "security/certificates/check.h"

#include "security/certificates/error_details.h"
#include "tests/security/certificates/lab.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gcoord::certificates {
namespace {

class CheckTest : public testing::Test {
 protected:
  std::uint32_t refusal(const CheckWishes& wishes) { return check_certificate(wishes).detail(); }

  Authority authority_ = make_authority();
  PrivateKey key_ = make_key();
  std::string ca_ = authority_.pem().value();
  std::string node_ = authority_.issue(node_wishes(), key_).value();
  std::string user_ = authority_.issue({.holder = user("alice"), .now_s = kToday}, key_).value();
};

TEST_F(CheckTest, ItsOwnCaBelievesIt) {
  CheckWishes wishes = check_of(node_, ca_);
  wishes.holder = node(1);
  wishes.key = &key_;
  for (const char* host : {"db1.example.org", "10.0.0.1", "::1"}) {
    wishes.host = host;
    EXPECT_TRUE(check_certificate(wishes).ok()) << host;
  }
}

TEST_F(CheckTest, AnotherCaDoesNot) {
  EXPECT_EQ(refusal(check_of(node_, make_authority().pem().value())), kCertificateUntrusted);
  EXPECT_EQ(refusal(check_of(node_, node_)), kAuthorityUnfit);
  EXPECT_EQ(refusal(check_of(node_, "nothing")), kAuthorityUnfit);
  EXPECT_EQ(refusal(check_of("nothing", ca_)), kCertificateMalformed);
}

TEST_F(CheckTest, ACertificateHasABeginningAndAnEnd) {
  CheckWishes wishes = check_of(node_, ca_);
  wishes.now_s = kToday + 364 * kDay;
  EXPECT_TRUE(check_certificate(wishes).ok());
  wishes.now_s = kToday + 366 * kDay;
  EXPECT_EQ(refusal(wishes), kCertificateExpired);
  wishes.now_s = kToday - kDay;
  EXPECT_EQ(refusal(wishes), kCertificateEarly);
}

TEST_F(CheckTest, ARevokedOneIsRefusedAndAnotherIsNot) {
  const std::string list = authority_.revoke("", {serial_of_pem(user_)}, kToday).value();
  CheckWishes wishes = check_of(user_, ca_);
  wishes.revocations_pem = list;
  EXPECT_EQ(refusal(wishes), kCertificateRevoked);
  wishes.certificate_pem = node_;
  EXPECT_TRUE(check_certificate(wishes).ok());
}

TEST_F(CheckTest, AListOfAnotherCaIsNoneOfItsOwn) {
  const std::string foreign = make_authority().revoke("", {}, kToday).value();
  CheckWishes wishes = check_of(node_, ca_);
  wishes.revocations_pem = foreign;
  EXPECT_EQ(refusal(wishes), kRevocationsUnfit);
  wishes.revocations_pem = "nothing";
  EXPECT_EQ(refusal(wishes), kRevocationsUnfit);
}

TEST_F(CheckTest, ItIsForItsOwnHostsAlone) {
  CheckWishes wishes = check_of(node_, ca_);
  for (const char* host : {"db2.example.org", "10.0.0.2", "node-1", "example.org"}) {
    wishes.host = host;
    const Status status = check_certificate(wishes);
    EXPECT_EQ(status.detail(), kCertificateName) << host;
    EXPECT_THAT(status.message(), testing::HasSubstr("db1.example.org"));
  }
}

TEST_F(CheckTest, ItIsForItsOwnHolderAlone) {
  CheckWishes wishes = check_of(node_, ca_);
  wishes.holder = node(2);
  EXPECT_EQ(refusal(wishes), kCertificateName);
  wishes.holder = node(1, 18);
  EXPECT_EQ(refusal(wishes), kCertificateName);
  wishes = check_of(user_, ca_);
  wishes.holder = user("alice");
  EXPECT_TRUE(check_certificate(wishes).ok());
  wishes.holder = user("bob");
  EXPECT_EQ(refusal(wishes), kCertificateName);
}

TEST_F(CheckTest, ACertificateOfAUserIsNoServers) {
  CheckWishes wishes = check_of(user_, ca_);
  wishes.holder = node(1);
  EXPECT_EQ(refusal(wishes), kCertificatePurpose);
}

TEST_F(CheckTest, AnotherKeyIsNotItsOwn) {
  const PrivateKey other = make_key();
  CheckWishes wishes = check_of(node_, ca_);
  wishes.key = &other;
  EXPECT_EQ(refusal(wishes), kCertificateKey);
}

TEST_F(CheckTest, OneChangedByteBreaksTheSignature) {
  std::string changed = node_;
  const std::size_t middle = changed.find('\n') + 200;
  changed[middle] = changed[middle] == 'A' ? 'B' : 'A';
  const std::uint32_t number = refusal(check_of(changed, ca_));
  EXPECT_THAT(number, testing::AnyOf(kCertificateUntrusted, kCertificateMalformed));
}

TEST_F(CheckTest, ACutTextIsNoCertificate) {
  for (std::size_t bytes = 0; bytes < node_.size() - 1; bytes += 7) {
    EXPECT_EQ(read_certificates(std::string_view{node_}.substr(0, bytes)).status().detail(),
              kCertificateMalformed)
        << bytes;
  }
}

}  // namespace
}  // namespace gcoord::certificates
