// One TCP connection of the tcp transport: cuts what arrives into frames, keeps what could not be
// written. Knows sockets, not epoll. Not thread-safe.
#pragma once

#include "netcore/channel/message_sink.h"
#include "netcore/memory/aligned_bytes.h"
#include "netcore/tls/link_tls.h"
#include "netcore/transport/tcp_socket.h"
#include "netcore/transport/transport.h"

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gcoord::netcore {

class TcpLink {
 public:
  enum class Phase : std::uint8_t { Connecting, Open };

  // `tls`: nothing, or how the link has it.
  TcpLink(FileDescriptor fd, Phase phase, std::optional<LinkTls> tls = {})
      : fd_(std::move(fd)), phase_(phase), tls_(std::move(tls)) {}

  int fd() const { return fd_.get(); }

  Phase phase() const { return phase_; }

  // The connection stands. With TLS the first message of its handshake leaves.
  void open();

  bool is_encrypted() const { return tls_.has_value() && !tls_->is_plain(); }

  const security::TlsPeer* certificate() const { return tls_ ? tls_->peer() : nullptr; }

  security::SecretBytes exported_key(std::string_view label, std::size_t count) const {
    return tls_.has_value() ? tls_->exported_key(label, count) : security::SecretBytes{};
  }

  // TLS was tried, and the other side has not completed its handshake.
  bool has_failed_tls() const { return is_encrypted() && !tls_->is_open(); }

  void trust() { is_trusted_ = true; }

  void shut() { fd_.reset(); }

  bool has_unsent() const { return !unsent_.empty(); }

  // Writes what is left over, then the messages, in one call where possible. Returns how many
  // messages were taken: each either written whole or its rest kept. Errors surface by receive().
  std::size_t send(std::span<const std::span<const std::byte>> messages);
  // Writes what is left over; true when nothing is.
  bool send_unsent();

  // Why a link ended.
  struct End {
    DropReason drop = DropReason::None;
    std::string reason;
  };

  // Reads until the socket is empty or the turn's share is used up, and calls `deliver` for each
  // whole message; `deliver` returns false to stop (the link was closed meanwhile). A value says
  // that the link has ended.
  std::optional<End> receive(MessageSink deliver);

 private:
  enum class Cut : std::uint8_t { NeedMore, Stopped, Broken };

  Cut cut_messages(MessageSink deliver);
  std::size_t send_encrypted(std::span<const std::span<const std::byte>> messages);
  // Bytes that recv() put at the end of received_ are plain after it. A value: the link has ended.
  std::optional<End> decrypt(std::size_t count);
  void queue_output();
  std::size_t message_bytes_max() const;

  FileDescriptor fd_;
  Phase phase_;
  bool is_trusted_ = false;
  DropReason broken_ = DropReason::None;
  AlignedBytes received_;
  std::size_t received_bytes_ = 0;
  std::size_t wanted_bytes_ = 0;  // Whole length of the message at the front, once it is known.
  FrameBuffer unsent_;
  std::optional<LinkTls> tls_;
  std::vector<std::byte> plain_;  // The next two are for TLS alone; empty between calls.
  std::vector<std::byte> wire_;
};

}  // namespace gcoord::netcore
