// Certificates of `gcoordd dev`: TLS for who wants it, without a command.
//
// In the folder tls of the data directory a CA of this node alone signs a certificate for the node,
// for loopback and the hosts that it listens and is advertised at, and one for a user "admin". They
// are used again by the next start with that directory, and made anew a month before they end. Who
// gives --tls-cert, or --client-tls off, has none of this. One thread.
#pragma once

#include "common/status.h"
#include "server/options/options.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace gcoord {

// What clients are given, in the folder tls.
struct DevPaths {
  std::filesystem::path authority;    // As --cacert.
  std::filesystem::path certificate;  // Of the user "admin", as --cert and --key.
  std::filesystem::path key;
};

DevPaths dev_paths(const std::string& data_dir);

// How a first lock is taken, without TLS and with it: lines for the terminal. `client`: HOST:PORT.
std::string dev_advice(const server::Invocation& invocation,
                       const std::string& client,
                       bool certificates);

class DevCertificates {
 public:
  // Makes what is missing or about to end, and has the options name it. Ok without anything where
  // none is to be made, and where the data directory cannot be had, which the node itself says
  // better. `now_s`: Unix seconds. DevCertificates (GC1237).
  Status make(server::NodeOptions& options, server::Verb verb, std::int64_t now_s);

  // Whether make() has given the node certificates.
  bool made() const { return !files_.certificate.empty(); }

  // Choices that were read again, with the files of make() where they name none.
  server::TlsChoices complete(server::TlsChoices choices) const;

 private:
  security::TlsFiles files_;
};

}  // namespace gcoord
