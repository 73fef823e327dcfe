// One TCP connection of the tcp transport: cuts what arrives into frames, keeps what could not be
// written. Knows sockets, not epoll. Not thread-safe.
#pragma once

#include "netcore/channel/message_sink.h"
#include "netcore/memory/aligned_bytes.h"
#include "netcore/transport/tcp_socket.h"
#include "netcore/transport/transport.h"

#include <cstddef>
#include <optional>
#include <span>
#include <string>

namespace gcoord::netcore {

class TcpLink {
 public:
  enum class Phase : std::uint8_t { Connecting, Open };

  TcpLink(FileDescriptor fd, Phase phase) : fd_(std::move(fd)), phase_(phase) {}

  int fd() const { return fd_.get(); }

  Phase phase() const { return phase_; }

  void open() { phase_ = Phase::Open; }

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
  std::size_t message_bytes_max() const;

  FileDescriptor fd_;
  Phase phase_;
  bool is_trusted_ = false;
  DropReason broken_ = DropReason::None;
  AlignedBytes received_;
  std::size_t received_bytes_ = 0;
  std::size_t wanted_bytes_ = 0;  // Whole length of the message at the front, once it is known.
  FrameBuffer unsent_;
};

}  // namespace gcoord::netcore
