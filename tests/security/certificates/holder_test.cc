#include "security/certificates/holder.h"

#include "security/certificates/error_details.h"
#include "security/certificates/host_name.h"
#include "tests/security/certificates/lab.h"

#include <gtest/gtest.h>

namespace gcoord::certificates {
namespace {

TEST(HolderTest, AUriNamesTheHolderThatItIsOf) {
  for (const Holder& each : {node(3),
                             user("alice"),
                             user("ops+deploy@example.org"),
                             Holder{.kind = HolderKind::Authority, .cluster = 17}}) {
    EXPECT_EQ(parse_holder(uri_of(each)), each) << uri_of(each);
  }
  EXPECT_EQ(uri_of(node(3)), "gcoord://17/node/3");
  EXPECT_EQ(uri_of(user("alice")), "gcoord://17/user/alice");
}

TEST(HolderTest, AnIdentityOfSpiffeIsReadToo) {
  EXPECT_EQ(parse_holder("spiffe://prod.example.org/gcoord/17/node/3"), node(3));
  EXPECT_EQ(parse_holder("spiffe://prod.example.org/gcoord/17/user/alice"), user("alice"));
}

TEST(HolderTest, EveryOtherUriNamesNobody) {
  for (const char* uri : {"",
                          "gcoord://",
                          "gcoord://17",
                          "gcoord://17/node",
                          "gcoord://17/node/",
                          "gcoord://17/node/0",
                          "gcoord://17/node/03",
                          "gcoord://17/node/-3",
                          "gcoord://17/node/3/",
                          "gcoord://17/node/3/4",
                          "gcoord://17/node/4294967296",
                          "gcoord://0/node/3",
                          "gcoord://017/node/3",
                          "gcoord://18446744073709551616/node/3",
                          "gcoord://17/user/",
                          "gcoord://17/user/a b",
                          "gcoord://17/user/a/b",
                          "gcoord://17/user/%61",
                          "gcoord://17/role/admin",
                          "GCOORD://17/node/3",
                          "https://17/node/3",
                          "spiffe://gcoord/17/node/3",
                          "spiffe:///gcoord/17/node/3",
                          "spiffe://prod/other/17/node/3"}) {
    EXPECT_EQ(parse_holder(uri), std::nullopt) << uri;
  }
}

TEST(HolderTest, ANameOfAUserFitsACommonNameAndAUri) {
  EXPECT_TRUE(is_user_name(std::string(64, 'a')));
  EXPECT_FALSE(is_user_name(std::string(65, 'a')));
  EXPECT_FALSE(is_user_name(""));
  EXPECT_FALSE(is_user_name("a\nb"));
  EXPECT_FALSE(is_user_name("\xc3\xa9"));
  EXPECT_EQ(check_holder(node(0)).detail(), kHolderInvalid);
  EXPECT_EQ(check_holder(node(1, 0)).detail(), kHolderInvalid);
  EXPECT_EQ(check_holder(user("a b")).detail(), kHolderInvalid);
  EXPECT_TRUE(check_holder(user("a-b")).ok());
}

TEST(HostNameTest, ATextIsAnAddressANameOrNeither) {
  for (const char* address : {"10.0.0.1", "::1", "2001:db8::7"}) {
    EXPECT_EQ(kind_of_host(address), HostKind::Address) << address;
  }
  for (const char* name : {"localhost", "db1.example.org", "*.example.org", "a_b.c", "1a"}) {
    EXPECT_EQ(kind_of_host(name), HostKind::Name) << name;
  }
  for (const char* neither : {"",
                              "10.0.0.256",
                              "10.0.0",
                              "a..b",
                              "-a",
                              "a-",
                              "a b",
                              "db1:7400",
                              "[::1]",
                              "*",
                              "a.*.b",
                              "fe80::1%eth0",
                              "a,b"}) {
    EXPECT_EQ(kind_of_host(neither), HostKind::Neither) << neither;
  }
}

}  // namespace
}  // namespace gcoord::certificates
