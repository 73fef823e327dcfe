#include "security/credentials/principal.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace gcoord::security {
namespace {

constexpr ClusterId kHere{77};

using Names = std::vector<std::string>;

Principal principal(const Names& uris, const Names& dns = {}, std::string_view common_name = {}) {
  return principal_of({uris, dns, common_name}, kHere);
}

const Principal kNobody{};

TEST(Principal, ANodeIsNamedByItsClusterAndId) {
  const Principal node{PrincipalKind::Node, "2"};
  EXPECT_EQ(principal({"gcoord://77/node/2"}), node);
  EXPECT_EQ(principal({"spiffe://corp.example/gcoord/77/node/2"}), node);
  EXPECT_EQ(to_string(node), "node 2");
}

TEST(Principal, AnIdThatIsNoneNamesNoNode) {
  for (const char* id : {"", "0", "02", "-1", "+2", "2x", "4294967296", "2/3", " 2"}) {
    EXPECT_EQ(principal({std::string{"gcoord://77/node/"} + id}), kNobody) << id;
  }
}

TEST(Principal, AUserIsNamedByItsCluster) {
  EXPECT_EQ(principal({"gcoord://77/user/ann"}), (Principal{PrincipalKind::Certificate, "ann"}));
}

TEST(Principal, WhoNamesAnotherClusterIsNobodyWhateverElseItSays) {
  EXPECT_EQ(principal({"gcoord://78/user/ann"}, {"ann.example"}, "ann"), kNobody);
  EXPECT_EQ(principal({"gcoord://077/user/ann"}, {"ann.example"}, "ann"), kNobody);
  EXPECT_EQ(principal({"gcoord://"}, {"ann.example"}, "ann"), kNobody);
  EXPECT_EQ(principal({"spiffe://t/gcoord/78/node/1", "spiffe://t/ann"}), kNobody);
  EXPECT_EQ(principal({"gcoord://78/user/ann", "gcoord://77/user/bob"}),
            (Principal{PrincipalKind::Certificate, "bob"}));
}

TEST(Principal, ASpiffeIdIsAName) {
  EXPECT_EQ(principal({"https://x", "spiffe://corp/ns/jobs"}, {"a.example"}, "a"),
            (Principal{PrincipalKind::Certificate, "spiffe://corp/ns/jobs"}));
}

TEST(Principal, ElseItIsTheFirstDnsNameElseTheCommonName) {
  EXPECT_EQ(principal({}, {"*.example", "a.example", "b.example"}, "c"),
            (Principal{PrincipalKind::Certificate, "a.example"}));
  EXPECT_EQ(principal({}, {"*.example"}, "c"), (Principal{PrincipalKind::Certificate, "c"}));
  EXPECT_EQ(principal({}, {}, ""), kNobody);
}

TEST(Principal, NamesThatCannotBePrintedAreNobodys) {
  EXPECT_EQ(principal({}, {}, "a\x1b[2J"), kNobody);
  EXPECT_EQ(principal({}, {}, std::string_view("root\0", 5)), kNobody);
  EXPECT_EQ(principal({}, {}, std::string(256, 'a')), kNobody);
  EXPECT_EQ(principal({"gcoord://77/user/" + std::string(256, 'a')}), kNobody);
  EXPECT_EQ(principal({}, {}, std::string(255, 'a')).name.size(), 255u);
}

}  // namespace
}  // namespace gcoord::security
