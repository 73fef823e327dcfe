// A client of a node over a loopback socket that sends what it likes and reads when it likes.
//
// For tests; one thread.
#pragma once

#include "protocol/frame.h"

#include <asio/buffer.hpp>
#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
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

  // Returns how many bytes the socket took.
  std::size_t send(std::span<const std::byte> bytes) {
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
    decoder_.append({bytes, count});
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

 private:
  asio::ip::tcp::socket socket_;
  protocol::FrameDecoder decoder_{protocol::FrameDirection::Replies};
};

}  // namespace gcoord::server
