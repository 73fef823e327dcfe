#include "server/client_io/handed_socket.h"

#include "common/assert.h"

#include <algorithm>
#include <utility>

namespace gcoord::server {

HandedSocket::HandedSocket(IoThread& thread, std::uint64_t key, std::function<void()> on_closed)
    : thread_(thread),
      key_(key),
      on_closed_(std::move(on_closed)),
      input_(std::make_unique<CheckedInput>(thread.ingress())) {}

HandedSocket::~HandedSocket() {
  close();
}

void HandedSocket::await_input() {
  GCOORD_ASSERT(open_ && input_ != nullptr && input_->taken());
  input_->forget_frames();
  noted_ = input();
  thread_.post({.kind = IoCommand::Kind::Receive, .socket = key_, .input = std::move(input_)});
}

// The thread has read and checked what is here.
ClientSocket::Read HandedSocket::read() {
  return {};
}

protocol::DecodeStep HandedSocket::next(protocol::FrameView& frame) {
  return input_ == nullptr ? protocol::DecodeStep::NeedMore : input_->next(frame);
}

protocol::BadFrame HandedSocket::bad() const {
  return input_ == nullptr ? protocol::BadFrame::None : input_->bad();
}

ClientSocket::Input HandedSocket::input() const {
  return input_ == nullptr
             ? noted_
             : Input{input_->begun(), input_->last_sequence(), input_->memory_bytes()};
}

void HandedSocket::release_input() {
  if (input_ != nullptr) {
    input_->release();
  } else if (open_ && noted_.memory_bytes > 0 && !noted_.begun) {
    noted_.memory_bytes = 0;
    thread_.post({.kind = IoCommand::Kind::Release, .socket = key_});
  }
}

bool HandedSocket::write(ReplyOutbox& out, bool tell) {
  const std::size_t byte_count = blocked_ ? 0 : out.bytes();
  if (byte_count == 0 && (!tell || unsent_bytes_ == 0)) {
    return true;
  }
  IoCommand command{.kind = IoCommand::Kind::Send, .tell = tell, .socket = key_};
  if (byte_count > 0) {
    command.bytes = out.take_all();
    unsent_bytes_ += byte_count;
    output_memory_bytes_ += command.bytes.capacity();
  }
  thread_.post(std::move(command));
  return true;
}

void HandedSocket::close() {
  if (std::exchange(open_, false)) {
    thread_.post({.kind = IoCommand::Kind::Close, .socket = key_});
    output_memory_bytes_ = 0;
    blocked_ = false;
    on_closed_();
  }
}

void HandedSocket::on_report(IoReport& report) {
  GCOORD_ASSERT(report.sent_bytes <= unsent_bytes_ && report.freed_bytes <= output_memory_bytes_);
  const bool was_blocked = std::exchange(blocked_, report.blocked);
  unsent_bytes_ -= report.sent_bytes;
  output_memory_bytes_ -= report.freed_bytes;
  if (report.tls != nullptr) {
    note_tls(std::move(report.tls));
    if (!open_) {
      return;
    }
  }
  const bool arrived = report.input != nullptr;
  const bool bulk = more_;
  if (arrived) {
    input_ = std::move(report.input);
    more_ = report.more;
  }
  // A report of something else says nothing of output, even while the client takes none.
  const bool moved = report.sent_bytes > 0 || (was_blocked && !blocked_);
  if (report.gone || moved || report.freed_bytes > 0) {
    owner().on_writable({report.gone, moved, std::move(report.buffer)});
  }
  if (open_ && arrived) {
    const bool part = input_->taken() && input_->bad() == protocol::BadFrame::None;
    owner().on_readable({.part = part, .bulk = bulk});
  }
}

}  // namespace gcoord::server
