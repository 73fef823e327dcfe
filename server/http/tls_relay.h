// TLS of one HTTP connection, before the library that serves it: encrypted bytes on the socket of
// the client, plain ones on a pair of sockets whose other end the library has.
//
// A client may say by TLS that it sends nothing more (close_notify) while it waits for an answer:
// it gets that first. The library hears of the end once the answer has begun, or when the client's
// TCP connection ends, too, as it would in plain text.
//
// Nothing waits: whoever polls the sockets says what is ready. At most one read waits in each
// direction, so a side that takes nothing stops the other. One thread.
#pragma once

#include "security/tls/peer.h"
#include "server/tls/connection_tls.h"

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace gcoord::server {

// Who has connected.
struct HttpArrival {
  int socket = -1;
  sockaddr_storage from{};
  socklen_t from_bytes = 0;
  std::shared_ptr<const security::TlsPeer> peer;  // Of a good certificate; else empty.
};

class TlsRelay {
 public:
  enum class State : std::uint8_t {
    Handshake,  // Nobody else knows of it.
    Ready,      // take() gives what the library shall serve.
    Relaying,
    Over,
  };

  // Takes the socket, which does not block.
  TlsRelay(HttpArrival client, PortTls::Rule rule, std::uint64_t now_ms);
  ~TlsRelay();
  TlsRelay(const TlsRelay&) = delete;
  TlsRelay& operator=(const TlsRelay&) = delete;

  State state() const { return state_; }

  std::uint64_t since_ms() const { return since_ms_; }

  // Since when one side has ended and the other only takes what is left; nothing: it goes on.
  std::optional<std::uint64_t> ending_since_ms() const { return ending_since_ms_; }

  const HttpArrival& client() const { return client_; }

  TlsNews news() const { return news_; }

  // What to poll for: of the client's socket, then of the pair's end.
  std::array<pollfd, 2> wanted() const;

  // Moves what can be moved, after poll() has filled in what is ready.
  void advance(const std::array<pollfd, 2>& ready, std::uint64_t now_ms);

  // The client's socket ends with a reset, so that the kernel keeps nothing for it either.
  void cut();

  // In Ready, once: the library's end. It is the client's own socket if that speaks plain text
  // where it may: then nothing is left to relay.
  HttpArrival take();

 private:
  void begin();
  void move(const std::array<pollfd, 2>& ready);
  void read_wire();
  void read_plain();
  bool flush(int socket, std::vector<std::byte>& bytes);
  void on_client_end();
  void end();

  HttpArrival client_;
  std::uint64_t since_ms_;
  TlsMode mode_;
  ConnectionTls tls_;
  State state_ = State::Handshake;
  TlsNews news_;
  int plain_ = -1;  // This end of the pair, and the library's until it is taken.
  int served_ = -1;
  bool begun_ = false;         // The first byte was seen.
  bool ending_ = false;        // Nothing more is read; what is here goes out.
  bool owed_ = false;          // Something came from the client, and no answer has begun since.
  bool client_ended_ = false;  // It sends nothing more and waits for what it is owed.
  bool end_told_ = false;      // The library has heard of it, or is to with the last bytes.
  std::optional<std::uint64_t> ending_since_ms_;
  std::vector<std::byte> to_wire_;
  std::vector<std::byte> to_plain_;
};

}  // namespace gcoord::server
