// Client socket that an I/O thread serves: calls hand over, and reports come back (io_thread.h).
//
// It knows what the thread has reported, so what it says of the client lags behind by a pass at
// most. What it handed over and the thread has not sent counts as unsent. The loop's thread.
#pragma once

#include "server/client_io/client_socket.h"
#include "server/client_io/io_thread.h"
#include "server/client_io/messages.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

namespace gcoord::server {

class HandedSocket final : public ClientSocket {
 public:
  // Its descriptor has been given to the thread under this key; both outlive it. `on_closed`: no
  // report for the key shall come here any more.
  HandedSocket(IoThread& thread, std::uint64_t key, std::function<void()> on_closed);
  ~HandedSocket() override;

  bool open() const override { return open_; }

  void await_input() override;
  Read read() override;
  protocol::DecodeStep next(protocol::FrameView& frame) override;

  const PreparedRequest* prepared(std::size_t slot) const override {
    return input_ == nullptr ? nullptr : input_->prepared(slot);
  }

  protocol::BadFrame bad() const override;
  Input input() const override;
  void release_input() override;
  bool write(ReplyOutbox& out, bool tell) override;

  bool blocked() const override { return blocked_; }

  std::size_t unsent_bytes() const override { return unsent_bytes_; }

  std::size_t output_memory_bytes() const override { return output_memory_bytes_; }

  void close() override;

  void on_report(IoReport& report);

 private:
  IoThread& thread_;
  std::uint64_t key_;
  std::function<void()> on_closed_;
  std::unique_ptr<CheckedInput> input_;  // Not with the thread.
  Input noted_;                          // Of the input that the thread has.
  bool more_ = false;                    // The last read that was reported filled its buffer.
  bool open_ = true;
  bool blocked_ = false;
  std::size_t unsent_bytes_ = 0;
  std::size_t output_memory_bytes_ = 0;
};

}  // namespace gcoord::server
