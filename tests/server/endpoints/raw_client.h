// A client of a node over a loopback socket that sends what it likes and reads when it likes.
//
// For tests; one thread.
#pragma once

#include "protocol/frame.h"
#include "security/tls/session.h"

#include <asio/buffer.hpp>
#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace gcoord::server {

// A client that sends any bytes it likes and decodes what comes back.
class RawClient {
 public:
  // `from`: an address of this host, all of which are loopback; another one is another source.
  RawClient(asio::io_context& context, std::uint16_t port, const char* from = "127.0.0.1")
      : socket_(context) {
    socket_.open(asio::ip::tcp::v4());
    socket_.bind({asio::ip::make_address(from), 0});
    socket_.connect({asio::ip::address_v4::loopback(), port});
    socket_.non_blocking(true);
  }

  // Everything goes through TLS from now on; `name` is what the node's certificate must have.
  void speak_tls(std::shared_ptr<const security::TlsContext> context, const std::string& name) {
    tls.emplace(std::move(context), name);
    flush_tls();
  }

  // Returns how many bytes the socket took; with TLS all, or those of the records that it took.
  std::size_t send(std::span<const std::byte> bytes) {
    if (tls.has_value()) {
      return tls->send(bytes).ok() && flush_tls() ? bytes.size() : 0;
    }
    return send_raw(bytes);
  }

  std::size_t send_raw(std::span<const std::byte> bytes) {
    asio::error_code error;
    const std::size_t sent = socket_.write_some(asio::buffer(bytes.data(), bytes.size()), error);
    return sent;
  }

  // Reads what is there. False once the node has closed the connection.
  bool receive() {
    std::byte bytes[65536];
    asio::error_code error;
    const std::size_t count = socket_.read_some(asio::buffer(bytes), error);
    if (error && error != asio::error::would_block) {
      return false;
    }
    append({bytes, count});
    protocol::FrameView frame;
    while (decoder_.next(frame) == protocol::DecodeStep::Frame) {
      ++frames;
      for (std::size_t i = 0; i < frame.slot_count(); ++i) {
        replies.push_back(frame.reply(i));
        const auto payload = frame.payload(replies.back());
        payloads.emplace_back(payload.begin(), payload.end());
      }
    }
    return true;
  }

  void reset() {
    asio::error_code ignored;
    socket_.set_option(asio::socket_base::linger(true, 0), ignored);
    socket_.close(ignored);
  }

  std::deque<protocol::ReplySlot> replies;
  std::deque<std::vector<std::byte>> payloads;
  std::size_t frames = 0;
  std::optional<security::TlsSession> tls;

 private:
  // What the socket does not take now waits for the next call.
  bool flush_tls() {
    tls->take_output(wire_);
    wire_.erase(wire_.begin(), wire_.begin() + static_cast<std::ptrdiff_t>(send_raw(wire_)));
    return wire_.empty();
  }

  void append(std::span<const std::byte> bytes) {
    if (!tls.has_value()) {
      decoder_.append(bytes);
      return;
    }
    std::vector<std::byte> plain;
    static_cast<void>(tls->receive(bytes, plain));
    flush_tls();
    decoder_.append(plain);
  }

  std::vector<std::byte> wire_;
  asio::ip::tcp::socket socket_;
  protocol::FrameDecoder decoder_{protocol::FrameDirection::Replies};
};

}  // namespace gcoord::server
