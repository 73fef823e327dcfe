#include "security/certificates/authority.h"

#include "protocol/error_codes.h"
#include "security/certificates/error_details.h"
#include "tests/security/certificates/lab.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <set>

namespace gcoord::certificates {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;

class AuthorityTest : public testing::TestWithParam<KeyAlgorithm> {
 protected:
  Authority authority_ = make_authority(kCluster, GetParam());
  PrivateKey key_ = make_key(GetParam());
};

INSTANTIATE_TEST_SUITE_P(Algorithms,
                         AuthorityTest,
                         testing::Values(KeyAlgorithm::P256, KeyAlgorithm::Ed25519));

TEST_P(AuthorityTest, ItSignsForOneClusterAndSaysSo) {
  EXPECT_EQ(authority_.cluster(), kCluster);
  EXPECT_TRUE(authority_.facts().authority);
  EXPECT_EQ(authority_.facts().subject, "CN = gcoord lab CA");
  EXPECT_EQ(authority_.facts().key, kAlgorithmNames[static_cast<int>(GetParam())]);
  EXPECT_EQ(authority_.facts().not_after_s, kToday + 3650 * kDay);
}

TEST_P(AuthorityTest, ACertificateOfANodeHasItsNames) {
  const auto pem = authority_.issue(node_wishes(3), key_);
  ASSERT_TRUE(pem.ok()) << pem.status().to_string();
  const CertificateFacts facts = read_certificates(pem.value()).value().front();
  EXPECT_EQ(facts.subject, "CN = node-3");
  EXPECT_EQ(facts.issuer, authority_.facts().subject);
  EXPECT_THAT(facts.uris, ElementsAre("gcoord://17/node/3"));
  EXPECT_THAT(facts.dns, ElementsAre("db1.example.org"));
  EXPECT_THAT(facts.addresses, ElementsAre("10.0.0.1", "::1"));
  EXPECT_FALSE(facts.authority);
  EXPECT_EQ(facts.not_after_s, kToday + kNodeDays * kDay);
  EXPECT_LT(facts.not_before_s, kToday);
}

TEST_P(AuthorityTest, ACertificateOfAUserIsShorterAndNeedsNoHosts) {
  const auto pem = authority_.issue({.holder = user("alice"), .now_s = kToday}, key_);
  ASSERT_TRUE(pem.ok()) << pem.status().to_string();
  const CertificateFacts facts = read_certificates(pem.value()).value().front();
  EXPECT_THAT(facts.uris, ElementsAre("gcoord://17/user/alice"));
  EXPECT_EQ(facts.not_after_s, kToday + kUserDays * kDay);
}

TEST_P(AuthorityTest, ARenewedCertificateKeepsItsNamesAndItsKey) {
  const std::string before = authority_.issue(node_wishes(), key_).value();
  const auto after = authority_.renew(before, "", {.now_s = kToday + 300 * kDay});
  ASSERT_TRUE(after.ok()) << after.status().to_string();
  const CertificateFacts old = read_certificates(before).value().front();
  const CertificateFacts renewed = read_certificates(after.value()).value().front();
  EXPECT_EQ(renewed.subject, old.subject);
  EXPECT_EQ(renewed.uris, old.uris);
  EXPECT_EQ(renewed.dns, old.dns);
  EXPECT_EQ(renewed.addresses, old.addresses);
  EXPECT_NE(renewed.serial, old.serial);
  EXPECT_EQ(renewed.not_after_s, kToday + (300 + kNodeDays) * kDay);
  CheckWishes check = check_of(after.value(), authority_.pem().value());
  check.now_s = kToday + 400 * kDay;
  check.holder = node(1);
  check.key = &key_;
  EXPECT_TRUE(check_certificate(check).ok());
}

TEST_P(AuthorityTest, ARenewalWithANewKeyIsOfThatKey) {
  const std::string before = authority_.issue(node_wishes(), key_).value();
  const PrivateKey other = make_key(KeyAlgorithm::Ed25519);
  const auto after =
      authority_.renew(before, "", {.now_s = kToday, .days = 5, .replacement = &other});
  ASSERT_TRUE(after.ok());
  CheckWishes check = check_of(after.value(), authority_.pem().value());
  check.key = &key_;
  EXPECT_EQ(check_certificate(check).detail(), kCertificateKey);
  check.key = &other;
  EXPECT_TRUE(check_certificate(check).ok());
}

TEST_P(AuthorityTest, ARevokedSerialStaysInEveryLaterList) {
  const std::string first = authority_.issue(node_wishes(1), key_).value();
  const std::string second = authority_.issue(node_wishes(2), key_).value();
  std::string list = authority_.revoke("", {}, kToday).value();
  EXPECT_THAT(read_revocations(list).value().serials, IsEmpty());
  list = authority_.revoke(list, {serial_of_pem(first)}, kToday + 1).value();
  list = authority_.revoke(list, {serial_of_pem(second), serial_of_pem(first)}, kToday + 2).value();
  const RevocationFacts facts = read_revocations(list).value();
  EXPECT_EQ(facts.serials.size(), 2u);
  EXPECT_THAT(facts.serials, Contains(serial_of_pem(first)));
  EXPECT_THAT(facts.serials, Contains(serial_of_pem(second)));
  EXPECT_EQ(facts.number, "3");
  EXPECT_EQ(facts.next_update_s, authority_.facts().not_after_s);
  EXPECT_EQ(authority_.renew(first, list, {.now_s = kToday}).status().detail(),
            kCertificateRevoked);
}

TEST(AuthorityInputTest, EachBadWishHasANumberOfItsOwn) {
  const Authority authority = make_authority();
  const PrivateKey key = make_key();
  const auto refusal = [&](const IssueWishes& wishes) {
    return authority.issue(wishes, key).status().detail();
  };
  EXPECT_EQ(refusal({.holder = node(0), .hosts = {"a"}, .now_s = kToday}), kHolderInvalid);
  EXPECT_EQ(refusal({.holder = user("a b"), .now_s = kToday}), kHolderInvalid);
  EXPECT_EQ(refusal({.holder = node(1, 18), .hosts = {"a"}, .now_s = kToday}), kClusterDiffers);
  EXPECT_EQ(refusal({.holder = node(1), .now_s = kToday}), kHostsMissing);
  EXPECT_EQ(refusal({.holder = node(1), .hosts = {"a:7400"}, .now_s = kToday}), kHostInvalid);
  EXPECT_EQ(refusal({.holder = node(1), .hosts = {"a"}, .now_s = kToday, .days = 3651}),
            kValidityInvalid);
  EXPECT_EQ(refusal({.holder = node(1), .hosts = {"a"}, .now_s = kToday, .days = kDaysMax + 1}),
            kValidityInvalid);
  EXPECT_EQ(refusal({.holder = node(1), .hosts = {"a"}, .now_s = kToday + 4000 * kDay}),
            kCertificateExpired);
}

TEST(AuthorityInputTest, WithoutDaysACertificateEndsWithItsCa) {
  const Authority authority = make_authority(kCluster, KeyAlgorithm::P256, 30);
  const PrivateKey key = make_key();
  const std::string pem = authority.issue(node_wishes(), key).value();
  EXPECT_EQ(read_certificates(pem).value().front().not_after_s, authority.facts().not_after_s);
}

TEST(AuthorityInputTest, WhatAnotherCaMadeIsNeitherRenewedNorContinued) {
  const Authority authority = make_authority();
  const Authority other = make_authority();
  const PrivateKey key = make_key();
  const std::string foreign = other.issue(node_wishes(), key).value();
  EXPECT_EQ(authority.renew(foreign, "", {.now_s = kToday}).status().detail(), kCertificateForeign);
  EXPECT_EQ(authority.renew("nothing", "", {.now_s = kToday}).status().detail(),
            kCertificateMalformed);
  const std::string list = other.revoke("", {}, kToday).value();
  EXPECT_EQ(authority.revoke(list, {}, kToday).status().detail(), kRevocationsUnfit);
  EXPECT_EQ(authority.revoke("nothing", {}, kToday).status().detail(), kRevocationsUnfit);
  for (const char* serial : {"", "xyz", "-1", "0123456789012345678901234567890123456789f"}) {
    EXPECT_EQ(authority.revoke("", {serial}, kToday).status().detail(), kCertificateMalformed)
        << serial;
  }
}

TEST(AuthorityInputTest, ALeafIsNoCaAndAForeignKeyNoneOfIts) {
  const Authority authority = make_authority();
  PrivateKey key = make_key();
  const std::string leaf = authority.issue(node_wishes(), key).value();
  EXPECT_EQ(Authority::load(leaf, std::move(key)).status().detail(), kAuthorityUnfit);
  EXPECT_EQ(Authority::load(authority.pem().value(), make_key()).status().detail(),
            kCertificateKey);
  EXPECT_EQ(Authority::load("nothing", make_key()).status().detail(), kCertificateMalformed);
}

TEST(AuthorityInputTest, ACaNeedsAClusterANameAndATime) {
  EXPECT_EQ(Authority::found({.cluster = 0, .now_s = kToday}, make_key()).status().detail(),
            kHolderInvalid);
  EXPECT_EQ(
      Authority::found({.cluster = 1, .now_s = kToday, .days = 0}, make_key()).status().detail(),
      kValidityInvalid);
  EXPECT_EQ(
      Authority::found({.cluster = 1, .name = "", .now_s = kToday}, make_key()).status().detail(),
      kAuthorityUnfit);
}

TEST(CertificateNumbersTest, TheTableOfTheProtocolHasEachOfThem) {
  for (std::uint32_t number = kCertificateUnreadable; number <= kCryptographyFailed; ++number) {
    EXPECT_NE(protocol::find_error(number), nullptr) << number;
  }
  EXPECT_EQ(static_cast<std::uint32_t>(protocol::ErrorCode::CertificateUnreadable),
            kCertificateUnreadable);
  EXPECT_EQ(static_cast<std::uint32_t>(protocol::ErrorCode::CryptographyFailed),
            kCryptographyFailed);
}

TEST(SerialTest, NoTwoCertificatesHaveTheSame) {
  const Authority authority = make_authority();
  const PrivateKey key = make_key();
  std::set<std::string> serials;
  for (int i = 0; i < 50; ++i) {
    serials.insert(serial_of_pem(authority.issue(node_wishes(), key).value()));
  }
  EXPECT_EQ(serials.size(), 50u);
}

}  // namespace
}  // namespace gcoord::certificates
