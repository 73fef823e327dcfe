#include "security/tls/peer.h"

#include "tests/security/tls_pair.h"

#include <gtest/gtest.h>

#include <ctime>

namespace gcoord::security {
namespace {

TlsPeer seen_by_server(TlsTestFiles& files, const MadeCertificate& made) {
  write_certificate(files.folder(), "client", made);
  TlsPair pair(loaded(TlsSide::Server, files.server_files()),
               loaded(TlsSide::Client, files.client_files()));
  pair.settle();
  EXPECT_NE(pair.server.peer(), nullptr);
  return pair.server.peer() == nullptr ? TlsPeer{} : *pair.server.peer();
}

TEST(TlsPeer, HasAllNamesOfTheCertificate) {
  TlsTestFiles files;
  const auto made = files.authority.issue({.common_name = "Größe",
                                           .names = {"URI:gcoord://c1/node/3",
                                                     "URI:spiffe://x/gcoord/c1/node/3",
                                                     "DNS:node-3.example",
                                                     "IP:192.0.2.7",
                                                     "IP:2001:db8::7",
                                                     "email:a@example.org"},
                                           .ends_in_s = 1000});
  const TlsPeer peer = seen_by_server(files, made);
  EXPECT_EQ(peer.uris,
            (std::vector<std::string>{"gcoord://c1/node/3", "spiffe://x/gcoord/c1/node/3"}));
  EXPECT_EQ(peer.dns, std::vector<std::string>{"node-3.example"});
  EXPECT_EQ(peer.addresses, (std::vector<std::string>{"192.0.2.7", "2001:db8::7"}));
  EXPECT_EQ(peer.common_name, "Größe");
  EXPECT_EQ(peer.fingerprint.size(), 64u);
  EXPECT_EQ(peer.serial, "04");  // After the authority, the server and alice.
  EXPECT_NEAR(
      static_cast<double>(peer.not_after_s), static_cast<double>(std::time(nullptr) + 1000), 100);
}

TEST(TlsPeer, LeavesOutNamesThatAreTooManyOrTooLongOrNotText) {
  TlsTestFiles files;
  CertificateWish wish{.common_name = "tab\tname"};
  wish.names = {"DNS:" + std::string(kPeerNameBytesMax + 1, 'a'), "URI:with\x01 control"};
  for (std::size_t k = 0; k < kPeerNamesMax + 5; ++k) {
    wish.names.push_back("DNS:node-" + std::to_string(k));
  }
  const TlsPeer peer = seen_by_server(files, files.authority.issue(wish));
  EXPECT_EQ(peer.dns.size(), kPeerNamesMax);
  EXPECT_EQ(peer.dns.front(), "node-0");
  EXPECT_TRUE(peer.uris.empty());
  EXPECT_EQ(peer.common_name, "");
}

}  // namespace
}  // namespace gcoord::security
