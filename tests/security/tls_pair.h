// Both ends of a TLS session in one test, and files for them.
#pragma once

#include "security/tls/session.h"
#include "tests/scratch_folder.h"
#include "tests/security/certificates.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gcoord::security {

// An authority, a server's certificate and a client's, in files.
class TlsTestFiles {
 public:
  TlsTestFiles() {
    write_private(path("ca.crt"), authority.certificate());
    write_certificate(folder_.path().string(), "server", authority.issue());
    client = authority.issue({.common_name = "alice", .names = {"URI:gcoord://c1/user/alice"}});
    write_certificate(folder_.path().string(), "client", client);
  }

  std::string path(std::string_view name) const { return folder_.path(name); }

  std::string folder() const { return folder_.path().string(); }

  TlsFiles server_files() const {
    return {
        .certificate = path("server.crt"), .key = path("server.key"), .authority = path("ca.crt")};
  }

  TlsFiles client_files() const {
    return {
        .certificate = path("client.crt"), .key = path("client.key"), .authority = path("ca.crt")};
  }

  TestAuthority authority;
  MadeCertificate client;

 private:
  ScratchFolder folder_;
};

inline std::shared_ptr<const TlsContext> loaded(TlsSide side,
                                                const TlsFiles& files,
                                                const TlsPolicy& policy = {}) {
  auto context = TlsContext::load(side, files, policy);
  EXPECT_TRUE(context.ok()) << context.status().to_string();
  return std::move(context).value();
}

inline std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span{text.data(), text.size()});
}

// Everything that read() gives.
inline std::string read_all(TlsSession& session) {
  std::string text;
  std::vector<std::byte> piece(1000);
  for (std::size_t count = session.read(piece); count > 0; count = session.read(piece)) {
    text.append(reinterpret_cast<const char*>(piece.data()), count);
  }
  return text;
}

struct TlsPair {
  TlsPair(std::shared_ptr<const TlsContext> of_server,
          std::shared_ptr<const TlsContext> of_client,
          const std::string& name = "localhost")
      : server(std::move(of_server)), client(std::move(of_client), name) {}

  // Carries what one end has to the other, in pieces; true if there was something.
  bool carry(bool to_server, std::size_t piece_bytes) {
    std::vector<std::byte> wire;
    (to_server ? client : server).take_output(wire);
    for (std::size_t begin = 0; begin < wire.size(); begin += piece_bytes) {
      const std::size_t count = std::min(piece_bytes, wire.size() - begin);
      const std::span<const std::byte> piece = std::span{wire}.subspan(begin, count);
      if (Status status = (to_server ? server : client).receive(piece); !status.ok()) {
        (to_server ? server_failure : client_failure) = status;
      }
    }
    return !wire.empty();
  }

  // Until neither end has anything to say.
  void settle(std::size_t piece_bytes = 100'000) {
    bool moved = true;
    while (moved) {
      moved = carry(true, piece_bytes);
      moved = carry(false, piece_bytes) || moved;
    }
  }

  // What a connection that lasts does: with the 16th record of its client it gets a ticket.
  void work() {
    for (int k = 0; k < 16; ++k) {
      EXPECT_TRUE(client.send(bytes_of("a question")).ok());
      settle();
    }
  }

  TlsSession server;
  TlsSession client;
  Status server_failure;
  Status client_failure;
};

}  // namespace gcoord::security
