#include "netcore/tls/node_names.h"

#include <gtest/gtest.h>

namespace gcoord::netcore {
namespace {

bool names(std::string_view uri) {
  return names_node(uri, ClusterId{42}, NodeId{3});
}

TEST(NodeNames, NameClusterAndNode) {
  EXPECT_TRUE(names("gcoord://42/node/3"));
  EXPECT_TRUE(names("spiffe://example.org/gcoord/42/node/3"));
}

TEST(NodeNames, AreNoneOfAnotherNodeClusterOrKind) {
  for (const char* uri : {"",
                          "gcoord://",
                          "gcoord://42/node/4",
                          "gcoord://42/node/33",
                          "gcoord://42/node/3/",
                          "gcoord://42/node/03",
                          "gcoord://43/node/3",
                          "gcoord://42/user/3",
                          "GCOORD://42/node/3",
                          "https://42/node/3",
                          "spiffe:///gcoord/42/node/3",
                          "spiffe://gcoord/42/node/3",
                          "spiffe://example.org/x/gcoord/42/node/3",
                          "spiffe://example.org/gcoord/42/node/3/x"}) {
    EXPECT_FALSE(names(uri)) << uri;
  }
}

TEST(NodeNames, AreAnyOfACertificate) {
  const security::TlsPeer peer{.uris = {"gcoord://42/user/ann", "gcoord://42/node/3"}};
  EXPECT_TRUE(names_node(peer, ClusterId{42}, NodeId{3}));
  EXPECT_FALSE(names_node(peer, ClusterId{42}, NodeId{2}));
  EXPECT_FALSE(
      names_node(security::TlsPeer{.common_name = "gcoord://42/node/3"}, ClusterId{42}, NodeId{3}));
}

}  // namespace
}  // namespace gcoord::netcore
