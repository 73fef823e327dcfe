// Sessions that live when a new revocation list comes.
#include "security/tls/revocation_check.h"

#include "tests/security/tls_pair.h"

#include <gtest/gtest.h>

namespace gcoord::security {
namespace {

using Context = std::shared_ptr<const TlsContext>;

class LaterList : public testing::Test {
 protected:
  // A server's context with these lists, as PEM.
  Context with_lists(const std::string& lists) {
    const std::string path = files_.path("crl.pem");
    write_private(path, lists);
    TlsFiles files = files_.server_files();
    files.revoked = path;
    return loaded(TlsSide::Server, files, {.demand_certificate = true});
  }

  // A session of the client of the files.
  TlsPair pair_with(const Context& server) {
    TlsPair pair(server, client_);
    pair.settle();
    EXPECT_TRUE(pair.server.open()) << pair.server_failure.to_string();
    return pair;
  }

  static bool revokes(const Context& context, const TlsSession& session) {
    return RevocationCheck(context).revokes(*session.peer());
  }

  TlsTestFiles files_;
  Context client_ = loaded(TlsSide::Client, files_.client_files());
};

TEST_F(LaterList, FindsASessionWhoseCertificateItRevokesAndNoOther) {
  const TlsPair pair = pair_with(with_lists(files_.authority.revoke({})));
  const std::uint64_t serial = files_.client.serial;
  EXPECT_FALSE(revokes(with_lists(files_.authority.revoke({})), pair.server));
  EXPECT_FALSE(revokes(with_lists(files_.authority.revoke({serial + 1, 900})), pair.server));
  EXPECT_TRUE(revokes(with_lists(files_.authority.revoke({serial, 900})), pair.server));
  // The same number at another authority is another certificate.
  TestAuthority other("another authority");
  EXPECT_FALSE(
      revokes(with_lists(files_.authority.revoke({}) + other.revoke({serial})), pair.server));
  EXPECT_FALSE(revokes(loaded(TlsSide::Server, files_.server_files()), pair.server));
  EXPECT_FALSE(revokes(nullptr, pair.server));
}

TEST_F(LaterList, FindsTheServerOfASessionToo) {
  const TlsPair pair = pair_with(with_lists(files_.authority.revoke({})));
  const std::uint64_t server_serial = files_.client.serial - 1;
  EXPECT_TRUE(revokes(with_lists(files_.authority.revoke({server_serial})), pair.client));
  EXPECT_FALSE(revokes(with_lists(files_.authority.revoke({files_.client.serial})), pair.client));
}

// Neither side shows a chain then.
TEST_F(LaterList, FindsSessionsThatWentByATicket) {
  const Context server = with_lists(files_.authority.revoke({}));
  TlsPair first = pair_with(server);
  first.work();
  const TlsPair again = pair_with(server);
  ASSERT_TRUE(again.server.resumed());
  const Context later = with_lists(files_.authority.revoke({files_.client.serial}));
  EXPECT_TRUE(revokes(later, again.server));
  EXPECT_FALSE(revokes(later, again.client));
  const std::uint64_t server_serial = files_.client.serial - 1;
  EXPECT_TRUE(revokes(with_lists(files_.authority.revoke({server_serial})), again.client));
}

// With a chain that was shown; one that is known and not verified again; and by a ticket.
TEST_F(LaterList, FindsSessionsByAnAuthorityBetween) {
  TestAuthority below("below", files_.authority);
  MadeCertificate made = below.issue({.common_name = "bob"});
  made.certificate += below.certificate();
  write_certificate(files_.folder(), "client", made);
  client_ = loaded(TlsSide::Client, files_.client_files());
  const auto lists = [&](const std::vector<std::uint64_t>& of_root) {
    return files_.authority.revoke(of_root) + below.revoke({});
  };
  const Context server = with_lists(lists({}));
  TlsPair first = pair_with(server);
  const TlsPair known = pair_with(server);
  first.work();
  const TlsPair resumed = pair_with(server);
  ASSERT_TRUE(resumed.server.resumed());
  const Context later = with_lists(lists({below.serial()}));
  for (const TlsPair* pair : {static_cast<const TlsPair*>(&first), &known, &resumed}) {
    EXPECT_TRUE(revokes(later, pair->server));
    EXPECT_FALSE(revokes(with_lists(lists({900})), pair->server));
  }
}

TEST(ChainLinksTest, TravelWhole) {
  const ChainLinks links = {{"issuer", "1"}, {std::string(300, 'x'), "2"}};
  const std::string bytes = encode_links(links);
  const auto* begin = reinterpret_cast<const unsigned char*>(bytes.data());
  const auto read = decode_links({begin, bytes.size()});
  ASSERT_NE(read, nullptr);
  EXPECT_EQ(*read, links);
  for (std::size_t count = 1; count < bytes.size(); ++count) {
    const auto part = decode_links({begin, count});
    EXPECT_TRUE(part == nullptr || part->size() < links.size()) << count;
  }
  EXPECT_EQ(encode_links({{std::string(kChainLinksBytesMax, 'x'), "1"}}), "");
}

}  // namespace
}  // namespace gcoord::security
