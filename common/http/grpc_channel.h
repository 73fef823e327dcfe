// gRPC calls over one HTTP/2 connection without TLS, by libcurl (curl_library.h).
//
// For programs that drive a server of others, such as etcd, by its own interface without linking
// gRPC. Calls of one channel share its connection, as those of a gRPC library do. Messages are
// bytes: whoever calls writes and reads them. The server is not trusted: a reply has at most
// kReplyMax bytes.
//
// Threads: a channel has one, on which all callbacks run; they return soon. call() and stream() are
// for any thread, callbacks included; open() and close() are not for callbacks.
#pragma once

#include "common/http/client.h"
#include "common/status.h"

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace gcoord {

class GrpcChannel {
 public:
  static constexpr std::size_t kReplyMax = std::size_t{4} << 20;

  // The reply, or the failure: Unavailable when no connection or no answer came in time, DataLoss
  // when what came is no gRPC, Cancelled by close(), else the status that the server gave.
  using Done = std::function<void(Result<std::string>)>;

  // Of a stream: each message as it comes, and at last how it ended.
  struct Listener {
    std::function<void(std::string_view)> on_message;
    Done ended;
  };

  // Connects with the first call. Every call has this timeout; streams have none. Unavailable when
  // there is no libcurl.
  static Result<std::unique_ptr<GrpcChannel>> open(HttpOrigin origin,
                                                   std::chrono::milliseconds timeout);

  // As close().
  ~GrpcChannel();
  GrpcChannel(const GrpcChannel&) = delete;
  GrpcChannel& operator=(const GrpcChannel&) = delete;

  // A call with one message and one reply; `path` is "/package.Service/Method".
  void call(std::string path, std::string message, Done done);

  // A call that sends one message, stays open, and receives messages until it ends.
  void stream(std::string path, std::string message, Listener listener);

  // The same as call(), and waits for the reply. Not in a callback.
  Result<std::string> call_and_wait(std::string path, std::string message);

  // Ends what is under way with Cancelled. No callback runs when it has returned; later calls have
  // none. Once or more.
  void close();

 private:
  class Loop;

  explicit GrpcChannel(std::unique_ptr<Loop> loop);

  std::unique_ptr<Loop> loop_;
};

}  // namespace gcoord
