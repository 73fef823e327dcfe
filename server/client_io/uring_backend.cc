#include "server/client_io/uring_backend.h"

#include "common/assert.h"
#include "server/client_io/client_socket.h"
#include "server/platform/operator_log.h"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <utility>

namespace gcoord::server {

namespace {

// Requests of one round; more of them take another system call.
constexpr unsigned kRequests = 1024;

// More may complete at once; then the kernel keeps them for a while.
constexpr unsigned kCompletions = 16'384;

// A power of two; 4 MiB of each thread, of which what was never used takes no memory.
constexpr std::uint32_t kBuffers = 64;
constexpr std::uint16_t kBufferGroup = 1;

constexpr std::uintptr_t kRequestBits = 7;

// How often the kernel may lack memory for requests, a millisecond apart.
constexpr std::uint32_t kRefusalsMax = 10'000;

[[noreturn]] void end_process(const char* what, int error) {
  log_error(LogComponent::Clients, "io_uring: {}: {}; this node ends", what, std::strerror(error));
  std::abort();
}

Status refused(const std::string& what, int error) {
  return Status{StatusCode::FailedPrecondition,
                "io_uring cannot be used here: " + what + ": " + std::strerror(error)};
}

}  // namespace

Result<std::unique_ptr<IoBackend>> UringBackend::open() {
  std::unique_ptr<UringBackend> backend(new UringBackend());
  GCOORD_TRY_STATUS(backend->set_up());
  return std::unique_ptr<IoBackend>(std::move(backend));
}

UringBackend::~UringBackend() {
  if (ring_open_) {
    ::io_uring_queue_exit(&ring_);  // Ends what is under way, before its memory does.
  }
  std::free(buffers_);
  for (const auto& [socket, owned] : leaving_) {
    ::close(socket->fd);
  }
  if (bell_ >= 0) {
    ::close(bell_);
  }
}

Status UringBackend::set_up() {
  io_uring_params parameters{};
  parameters.flags = IORING_SETUP_CLAMP | IORING_SETUP_CQSIZE;
  parameters.cq_entries = kCompletions;
  if (const int error = ::io_uring_queue_init_params(kRequests, &ring_, &parameters); error < 0) {
    return refused("the kernel refuses it", -error);
  }
  ring_open_ = true;
  bell_ = ::eventfd(0, EFD_CLOEXEC);  // Reading it waits.
  if (bell_ < 0) {
    return refused("eventfd", errno);
  }
  GCOORD_TRY_STATUS(set_up_buffers());
  GCOORD_TRY_STATUS(probe());
  ask_bell();
  return Status{};
}

Status UringBackend::set_up_buffers() {
  constexpr std::size_t kPage = 4096;
  static_assert(kBuffers * sizeof(io_uring_buf) <= kPage);
  buffers_ = static_cast<io_uring_buf_ring*>(std::aligned_alloc(kPage, kPage));
  if (buffers_ == nullptr) {
    return refused("memory", ENOMEM);
  }
  ::io_uring_buf_ring_init(buffers_);
  io_uring_buf_reg registration{};
  registration.ring_addr = reinterpret_cast<std::uintptr_t>(buffers_);
  registration.ring_entries = kBuffers;
  registration.bgid = kBufferGroup;
  if (const int error = ::io_uring_register_buf_ring(&ring_, &registration, 0); error < 0) {
    return refused("it has no rings of buffers", -error);
  }
  scratch_.resize(kSocketReadBytes);
  buffer_bytes_.reset(new std::byte[kBuffers * kSocketReadBytes]);
  for (std::uint32_t buffer = 0; buffer < kBuffers; ++buffer) {
    give_buffer(buffer);
  }
  return Status{};
}

// Some sandboxes let a ring be made and no request be done.
Status UringBackend::probe() {
  ::io_uring_prep_nop(&next_request());
  io_uring_cqe* completion = nullptr;
  int error = ::io_uring_submit(&ring_);
  error = error < 0 ? error : ::io_uring_wait_cqe(&ring_, &completion);
  error = error < 0 ? error : completion->res;
  if (completion != nullptr) {
    ::io_uring_cqe_seen(&ring_, completion);
  }
  return error < 0 ? refused("it does nothing", -error) : Status{};
}

void UringBackend::give_buffer(std::uint32_t buffer) {
  ::io_uring_buf_ring_add(buffers_,
                          &buffer_bytes_[buffer * kSocketReadBytes],
                          static_cast<unsigned>(kSocketReadBytes),
                          static_cast<unsigned short>(buffer),
                          ::io_uring_buf_ring_mask(kBuffers),
                          0);
  ::io_uring_buf_ring_advance(buffers_, 1);
}

// The ring's own waiting is for sockets that wait themselves.
bool UringBackend::add(IoSocket& socket) {
  const int flags = ::fcntl(socket.fd, F_GETFL);
  return flags >= 0 && ::fcntl(socket.fd, F_SETFL, flags & ~O_NONBLOCK) == 0;
}

io_uring_sqe& UringBackend::next_request() {
  io_uring_sqe* request = ::io_uring_get_sqe(&ring_);
  while (request == nullptr) {  // The queue is full of requests that were not given yet.
    tally().add(IoCall::Wait);
    judge(::io_uring_submit(&ring_));
    reap();  // It may refuse because too many completions wait.
    request = ::io_uring_get_sqe(&ring_);
  }
  return *request;
}

void UringBackend::ask(IoSocket& socket, Request request, int flags) {
  io_uring_sqe& entry = next_request();
  if (request == Request::Receive) {
    ::io_uring_prep_recv(&entry, socket.fd, nullptr, kSocketReadBytes, flags);
    entry.flags |= IOSQE_BUFFER_SELECT;
    entry.buf_group = kBufferGroup;
  } else {
    ::io_uring_prep_send(&entry, socket.fd, socket.sending.data(), socket.sending.size(), flags);
  }
  const auto address = reinterpret_cast<std::uintptr_t>(&socket);
  GCOORD_ASSERT((address & kRequestBits) == 0);
  ::io_uring_sqe_set_data64(&entry, address | static_cast<std::uintptr_t>(request));
  ++socket.under_way;
  ++request_count_;
}

void UringBackend::ask_bell() {
  io_uring_sqe& entry = next_request();
  ::io_uring_prep_read(&entry, bell_, &bell_count_, sizeof bell_count_, 0);
  ::io_uring_sqe_set_data64(&entry, 0);
}

void UringBackend::receive(IoSocket& socket) {
  GCOORD_ASSERT(!socket.receiving);
  socket.receiving = true;
  ask(socket, Request::Receive, 0);
}

void UringBackend::send(IoSocket& socket, std::span<const std::byte> bytes) {
  GCOORD_ASSERT(socket.sending.empty() && !bytes.empty());
  socket.sending = bytes;
  ask(socket, Request::Send, MSG_NOSIGNAL | MSG_DONTWAIT);
}

// Its end ends the requests that wait in the kernel.
void UringBackend::remove(std::unique_ptr<IoSocket> socket) {
  ::shutdown(socket->fd, SHUT_RDWR);
  if (socket->under_way == 0) {
    ::close(socket->fd);
    return;
  }
  socket->removed = true;
  IoSocket* const key = socket.get();
  leaving_.emplace(key, std::move(socket));
}

void UringBackend::advance(Sink& sink, int timeout_ms) {
  judge(submit(completed_.empty() ? timeout_ms : 0));
  reap();
  completing_.swap(completed_);  // What is reaped meanwhile is for the next call.
  for (const Completion& completion : completing_) {
    complete(completion, sink);
  }
  completing_.clear();
}

void UringBackend::reap() {
  io_uring_cqe* entry = nullptr;
  while (::io_uring_peek_cqe(&ring_, &entry) == 0) {
    completed_.push_back({entry->user_data, entry->res, entry->flags});
    ::io_uring_cqe_seen(&ring_, entry);
  }
}

int UringBackend::submit(int timeout_ms) {
  if (timeout_ms != 0 || ::io_uring_sq_ready(&ring_) > 0) {
    tally().add(IoCall::Wait);  // Else the library makes no call.
  }
  if (timeout_ms == 0) {
    return ::io_uring_submit(&ring_);
  }
  if (timeout_ms < 0) {
    return ::io_uring_submit_and_wait(&ring_, 1);
  }
  io_uring_cqe* first = nullptr;
  __kernel_timespec timeout{.tv_sec = timeout_ms / 1000,
                            .tv_nsec = std::int64_t{timeout_ms % 1000} * 1'000'000};
  return ::io_uring_submit_and_wait_timeout(&ring_, &first, 1, &timeout, nullptr);
}

// An interrupted wait is as good as one that has ended. EBADR: completions were lost, so nobody
// knows which sockets still have requests.
void UringBackend::judge(int error) {
  if (error >= 0 || error == -EINTR || error == -ETIME) {
    refusals_ = 0;
  } else if ((error != -EAGAIN && error != -EBUSY) || ++refusals_ > kRefusalsMax) {
    end_process("the kernel takes no requests", -error);
  } else if (refusals_ > 1) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

void UringBackend::complete(const Completion& completion, Sink& sink) {
  if (completion.tag == 0) {
    if (completion.result < 0 && completion.result != -EINTR && completion.result != -EAGAIN) {
      end_process("its bell cannot be read", -completion.result);
    }
    ask_bell();
    return;
  }
  if (completion.tag == LIBURING_UDATA_TIMEOUT) {
    return;
  }
  auto& socket = *reinterpret_cast<IoSocket*>(completion.tag & ~std::uint64_t{kRequestBits});
  --socket.under_way;
  if (static_cast<Request>(completion.tag & kRequestBits) == Request::Receive) {
    on_receive(socket, completion, sink);
  } else {
    on_send(socket, completion, sink);
  }
  if (socket.removed && socket.under_way == 0) {
    ::close(socket.fd);
    leaving_.erase(&socket);
  }
}

// Its bytes are here, or its end. To ask for it anew would have the kernel look at all of a round
// again for every 64 of them.
void UringBackend::receive_now(IoSocket& socket, Sink& sink) {
  tally().add(IoCall::Receive);
  const ssize_t count = ::recv(socket.fd, scratch_.data(), scratch_.size(), MSG_DONTWAIT);
  if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) {
    ask(socket, Request::Receive, 0);
    return;
  }
  socket.receiving = false;
  if (count > 0) {
    const auto byte_count = static_cast<std::size_t>(count);
    sink.on_received(
        socket,
        {.bytes = std::span{scratch_}.first(byte_count), .more = byte_count == scratch_.size()});
  } else {
    sink.on_gone(socket);
  }
}

void UringBackend::on_receive(IoSocket& socket, const Completion& completion, Sink& sink) {
  const bool has_buffer = (completion.flags & IORING_CQE_F_BUFFER) != 0;
  const std::uint32_t buffer = completion.flags >> IORING_CQE_BUFFER_SHIFT;
  if (!socket.removed) {
    if (completion.result > 0 && has_buffer) {
      const auto byte_count = static_cast<std::size_t>(completion.result);
      socket.receiving = false;
      sink.on_received(socket,
                       {.bytes = {&buffer_bytes_[buffer * kSocketReadBytes], byte_count},
                        .more = byte_count == kSocketReadBytes});
    } else if (completion.result == -ENOBUFS) {
      receive_now(socket, sink);
    } else if (completion.result == -EINTR || completion.result == -EAGAIN) {
      ask(socket, Request::Receive, 0);
    } else {
      socket.receiving = false;
      sink.on_gone(socket);
    }
  }
  if (has_buffer) {
    give_buffer(buffer);
  }
}

void UringBackend::on_send(IoSocket& socket, const Completion& completion, Sink& sink) {
  if (socket.removed) {
    return;
  }
  if (completion.result == -EAGAIN) {
    ask(socket, Request::Send, MSG_NOSIGNAL);  // Waits in the kernel.
    sink.on_blocked(socket);
  } else if (completion.result == -EINTR) {
    ask(socket, Request::Send, MSG_NOSIGNAL | MSG_DONTWAIT);
  } else {
    socket.sending = {};
    if (completion.result > 0) {
      sink.on_sent(socket, static_cast<std::size_t>(completion.result));
    } else {
      sink.on_gone(socket);
    }
  }
}

void UringBackend::wake() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(bell_, &one, sizeof one);
}

}  // namespace gcoord::server
