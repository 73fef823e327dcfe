// A blocking connection to one node, for load that needs no library: frames out, replies in.
// One thread.
#pragma once

#include "common/status.h"
#include "protocol/frame.h"
#include "protocol/hello.h"

#include <netinet/in.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace gcoord::bench {

// "127.0.0.1:port" as an address of loopback.
sockaddr_in loopback_address(const std::string& endpoint);

class NodeLink {
 public:
  using OnReply = std::function<void(const protocol::ReplySlot&, std::span<const std::byte>)>;

  // "127.0.0.1:port"; says hello and waits for the welcome.
  static Result<std::unique_ptr<NodeLink>> open(const std::string& endpoint);

  ~NodeLink();
  NodeLink(const NodeLink&) = delete;
  NodeLink& operator=(const NodeLink&) = delete;

  const protocol::Welcome& welcome() const { return welcome_; }

  // Queues a request; flush() sends all that is queued.
  void add(const protocol::RequestSlot& slot, std::span<const std::byte> payload = {});
  Status flush();

  // Reads until every request has its reply. Unavailable when the node is gone.
  Status await_replies(const OnReply& on_reply);

  std::size_t outstanding() const { return outstanding_; }

 private:
  explicit NodeLink(int socket) : socket_(socket) {}

  int socket_;
  protocol::Welcome welcome_;
  protocol::FrameBuilder builder_{protocol::FrameDirection::Requests};
  protocol::FrameDecoder decoder_{protocol::FrameDirection::Replies};
  std::vector<std::byte> out_;
  std::size_t outstanding_ = 0;
};

}  // namespace gcoord::bench
