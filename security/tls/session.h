// One TLS connection from memory to memory: bytes of the wire in, plain bytes out, and back.
//
// It knows no sockets: whoever has one feeds receive() with what came and sends what take_output()
// gives. Nothing waits. A client's first message is in the output from the start. Output may come
// of every call, also of one that fails: then it is the alert for the other side, which goes out
// before the connection closes. Bytes are copied once on each way beside OpenSSL's own work. A
// session keeps its context alive, and goes on with it when its files have changed. One thread at
// a time; the thread may change.
#pragma once

#include "common/status.h"
#include "security/secret/bytes.h"
#include "security/tls/context.h"
#include "security/tls/peer.h"

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gcoord::security {

// What the first byte of a TLS connection is: the record of a handshake (RFC 8446 5.1).
inline constexpr std::byte kTlsFirstByte{0x16};

class TlsSession {
 public:
  // Plain bytes that wait for the end of the handshake, and those that wait for read().
  static constexpr std::size_t kEarlyBytesMax = std::size_t{1} << 20;
  static constexpr std::size_t kUnreadBytesMax = std::size_t{16} << 20;

  // A client's `server_name`: the name or address that the server's certificate must have; empty:
  // it must only be of a trusted authority. `endpoint`: who shares tickets, besides the name.
  explicit TlsSession(std::shared_ptr<const TlsContext> context,
                      const std::string& server_name = {},
                      const std::string& endpoint = {});
  ~TlsSession();

  TlsSession(TlsSession&&) noexcept;
  TlsSession& operator=(TlsSession&&) noexcept;

  // Takes bytes of the wire, in order, in pieces of any size. A failure ends the session
  // (errors.h), and plain bytes from before it are still there to be read.
  Status receive(std::span<const std::byte> wire);

  // The same, and appends the plain bytes to `plain` rather than keep them for read().
  Status receive(std::span<const std::byte> wire, std::vector<std::byte>& plain);

  // Whether the handshake is done, and the other side's certificate, if any, verified.
  bool open() const;

  // Moves plain bytes out, and says how many; 0: there are none now.
  std::size_t read(std::span<std::byte> plain);

  // Encrypts in as few records as there can be. Before the session is open the bytes are kept, up
  // to kEarlyBytesMax (GC3111). GC3112 when the session has ended or is shut.
  Status send(std::span<const std::byte> plain);

  // Appends everything that must go out, and forgets it.
  void take_output(std::vector<std::byte>& wire);

  // Whether take_output() has something to give.
  bool has_output() const;

  // Nothing more will come: the other side has shut, or a failure ended the session.
  bool ended() const;

  // Why; Ok if the other side has shut in order, or nothing has ended.
  const Status& failure() const;

  // Once open: who the other side is; nullptr if it showed no certificate.
  const TlsPeer* peer() const;

  // Key material of the connection for another use (RFC 8446 section 7.5), the same at both ends
  // and known to nobody else. Once open; before, and after a failure, empty.
  SecretBytes exported_key(std::string_view label, std::size_t count) const;

  // Whether the handshake went by a ticket, without certificates.
  bool resumed() const;

  // Gives back memory that was kept for the next bytes.
  void release();

  // Says to the other side that nothing more comes from here (close_notify). What it sends can
  // still be read.
  void shut();

 private:
  struct Inner;
  std::unique_ptr<Inner> inner_;
};

}  // namespace gcoord::security
