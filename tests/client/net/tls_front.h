// A front with TLS before a node that speaks plain TCP: it decrypts towards the node and encrypts
// what the node says.
//
// One thread for each connection. What a handshake said is kept for the test. Thread-safe.
#pragma once

#include "security/tls/session.h"

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace gcoord::client {

class TlsFront {
 public:
  struct Ends {
    std::string behind;              // "127.0.0.1:PORT".
    std::string host = "127.0.0.1";  // Where it listens.
  };

  TlsFront(const security::TlsFiles& files, const security::TlsPolicy& policy, const Ends& ends);
  ~TlsFront();

  // "HOST:PORT" at which clients connect.
  std::string endpoint(const std::string& host) const { return host + ":" + std::to_string(port_); }

  std::string endpoint() const { return endpoint(host_); }

  // Of every handshake that was done: who came, and whether by a ticket.
  struct Guest {
    std::string common_name;  // Empty: without a certificate.
    bool resumed = false;
  };

  std::vector<Guest> guests() const;

  // Ends the connections that there are.
  void hang_up();

 private:
  struct Line;

  void accept_all();
  void serve(Line& line);
  void note(const security::TlsSession& session);

  std::shared_ptr<const security::TlsContext> context_;
  const std::string host_;
  std::uint16_t behind_;
  int listener_ = -1;
  std::uint16_t port_ = 0;
  mutable std::mutex mutex_;  // Guards what follows.
  std::vector<std::unique_ptr<Line>> lines_;
  std::vector<Guest> guests_;
  bool closed_ = false;
  std::thread thread_;
};

}  // namespace gcoord::client
