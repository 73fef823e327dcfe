#include "common/http/grpc_channel.h"

#include "common/http/curl_library.h"

#include <sys/socket.h>

#include <algorithm>
#include <cstdint>
#include <future>
#include <iterator>
#include <mutex>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

namespace gcoord {
namespace {

// Before each message: whether it is compressed, and its length in four bytes, the highest first.
constexpr std::size_t kHeaderBytes = 5;

// Streams of one connection; etcd has no limit of its own.
constexpr long kStreamsMax = 100'000;

// Nothing is missed by a longer one; calls wake the thread.
constexpr int kPollMs = 1000;

std::string framed(const std::string& message) {
  std::string frame(kHeaderBytes, '\0');
  for (std::size_t i = 0; i < 4; ++i) {
    frame[1 + i] = static_cast<char>((message.size() >> (24 - 8 * i)) & 0xff);
  }
  return frame + message;
}

// libcurl's own sockets would pass to child processes.
constexpr auto kSocket = +[](void*, curlsocktype, curl_sockaddr* address) -> curl_socket_t {
  return ::socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
};

// One call: its handle, what it sends and what it has received.
struct Call {
  CURL* easy = nullptr;
  std::string path;
  std::string request;
  std::size_t sent = 0;
  std::string received;
  bool* connected = nullptr;  // Becomes true with the first bytes.
  bool broken = false;        // What came is no gRPC.
  bool is_stream = false;
  std::function<void(std::string_view)> on_message;
  GrpcChannel::Done done;
};

// The first whole message of what was received, whose length is `bytes` with its header.
struct Frame {
  bool whole = false;
  bool valid = true;
  std::size_t bytes = 0;
};

Frame first_frame(std::string_view received) {
  if (received.size() < kHeaderBytes) {
    return {};
  }
  std::size_t length = 0;
  for (std::size_t i = 1; i < kHeaderBytes; ++i) {
    length = length << 8 | static_cast<unsigned char>(received[i]);
  }
  const std::size_t bytes = kHeaderBytes + length;
  return {received.size() >= bytes, received[0] == 0 && length <= GrpcChannel::kReplyMax, bytes};
}

// False ends the call.
bool take_received(Call& call, std::string_view bytes) {
  *call.connected = true;
  call.received.append(bytes);
  Frame frame = first_frame(call.received);
  while (call.is_stream && frame.valid && frame.whole) {
    call.on_message(
        std::string_view{call.received}.substr(kHeaderBytes, frame.bytes - kHeaderBytes));
    call.received.erase(0, frame.bytes);
    frame = first_frame(call.received);
  }
  call.broken = !frame.valid || call.received.size() > GrpcChannel::kReplyMax + kHeaderBytes;
  return !call.broken;
}

std::size_t receive(Call& call, char* bytes, std::size_t count) {
  return take_received(call, {bytes, count}) ? count : 0;
}

// Of a stream: its one message, and then nothing, without an end.
std::size_t send(Call& call, char* into, std::size_t room) {
  const std::size_t bytes = call.request.copy(into, room, call.sent);
  call.sent += bytes;
  return bytes > 0 ? bytes : std::size_t{CURL_READFUNC_PAUSE};
}

// The same as libcurl calls it, with the number of bytes in two factors, the first of which is 1.
using Move = std::size_t (*)(Call& call, char* bytes, std::size_t count);

template <Move move, typename... Rest>
std::size_t called(char* bytes, Rest... rest) {
  const auto [one, count, call] = std::tuple{rest...};
  return move(*static_cast<Call*>(call), bytes, one * count);
}

constexpr auto kReceive = &called<receive, std::size_t, std::size_t, void*>;
constexpr auto kSend = &called<send, std::size_t, std::size_t, void*>;

}  // namespace

// The thread, its handle of libcurl, and the calls under way.
class GrpcChannel::Loop {
 public:
  Loop(const CurlLibrary& library, HttpOrigin origin, std::chrono::milliseconds timeout)
      : library_(library), timeout_(timeout), multi_(library.multi_init()) {
    const bool v6 = origin.host.find(':') != std::string::npos;
    url_ = "http://" + (v6 ? "[" + origin.host + "]" : origin.host) + ":" + origin.port;
    library_.multi_setopt(multi_, CURLMOPT_MAX_HOST_CONNECTIONS, 1L);
    library_.multi_setopt(multi_, CURLMOPT_MAX_CONCURRENT_STREAMS, kStreamsMax);
    for (const char* header : {"content-type: application/grpc", "te: trailers", "expect:"}) {
      headers_ = library_.slist_append(headers_, header);
    }
    thread_ = std::thread([this] { run(); });
  }

  ~Loop() {
    close();
    for (const auto& call : idle_) {
      library_.easy_cleanup(call->easy);
    }
    library_.multi_cleanup(multi_);
    library_.slist_free_all(headers_);
  }

  void add(std::unique_ptr<Call> call) {
    {
      const std::lock_guard lock(mutex_);
      if (closing_) {
        return;
      }
      waiting_.push_back(std::move(call));
    }
    if (std::this_thread::get_id() != thread_.get_id()) {
      library_.multi_wakeup(multi_);
    }
  }

  void close() {
    {
      const std::lock_guard lock(mutex_);
      closing_ = true;
    }
    library_.multi_wakeup(multi_);
    if (thread_.joinable()) {
      thread_.join();
    }
  }

 private:
  void run() {
    while (begin_what_may()) {
      int running = 0;
      library_.multi_perform(multi_, &running);
      if (!end_what_is_done() && !more_may_begin()) {
        library_.multi_poll(multi_, nullptr, 0, kPollMs, nullptr);
      }
    }
    cancel_all();
  }

  // The first call of a connection goes alone: libcurl 7.88 sets HTTP/2 up anew for each one that
  // asks for it by prior knowledge (its pull request 10643), so the others must find a connection.
  std::size_t count_that_may() const {
    const bool alone = !connected_ && running_.empty();
    return connected_ ? waiting_.size() : std::min<std::size_t>(alone ? 1 : 0, waiting_.size());
  }

  bool more_may_begin() {
    const std::lock_guard lock(mutex_);
    return count_that_may() > 0;
  }

  // False when the channel is being closed.
  bool begin_what_may() {
    std::vector<std::unique_ptr<Call>> next;
    {
      const std::lock_guard lock(mutex_);
      if (closing_) {
        return false;
      }
      const auto end = waiting_.begin() + static_cast<std::ptrdiff_t>(count_that_may());
      std::move(waiting_.begin(), end, std::back_inserter(next));
      waiting_.erase(waiting_.begin(), end);
    }
    for (auto& call : next) {
      begin(std::move(call));
    }
    return true;
  }

  void begin(std::unique_ptr<Call> call) {
    if (call->easy == nullptr && !idle_.empty() && !call->is_stream) {
      call->easy = std::exchange(idle_.back()->easy, nullptr);
      idle_.pop_back();
    }
    if (call->easy == nullptr) {
      call->easy = library_.easy_init();
      set_up(*call);
    }
    call->connected = &connected_;
    library_.easy_setopt(call->easy,
                         CURLOPT_HTTP_VERSION,
                         static_cast<long>(connected_ ? CURL_HTTP_VERSION_2_0
                                                      : CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE));
    library_.easy_setopt(call->easy, CURLOPT_URL, (url_ + call->path).c_str());
    library_.easy_setopt(call->easy, CURLOPT_WRITEDATA, call.get());
    library_.easy_setopt(call->easy, CURLOPT_PRIVATE, call.get());
    if (call->is_stream) {
      library_.easy_setopt(call->easy, CURLOPT_READFUNCTION, kSend);
      library_.easy_setopt(call->easy, CURLOPT_READDATA, call.get());
    } else {
      library_.easy_setopt(call->easy, CURLOPT_POSTFIELDS, call->request.data());
      library_.easy_setopt(
          call->easy, CURLOPT_POSTFIELDSIZE, static_cast<long>(call->request.size()));
    }
    library_.multi_add_handle(multi_, call->easy);
    running_.push_back(std::move(call));
  }

  // What is the same for every call.
  void set_up(Call& call) {
    library_.easy_setopt(call.easy, CURLOPT_POST, 1L);
    library_.easy_setopt(call.easy, CURLOPT_PIPEWAIT, 1L);
    library_.easy_setopt(call.easy, CURLOPT_HTTPHEADER, headers_);
    library_.easy_setopt(call.easy, CURLOPT_WRITEFUNCTION, kReceive);
    library_.easy_setopt(call.easy, CURLOPT_OPENSOCKETFUNCTION, kSocket);
    library_.easy_setopt(call.easy, CURLOPT_NOSIGNAL, 1L);
    library_.easy_setopt(call.easy, CURLOPT_NOPROXY, "*");
    library_.easy_setopt(call.easy, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(timeout_.count()));
    if (!call.is_stream) {
      library_.easy_setopt(call.easy, CURLOPT_TIMEOUT_MS, static_cast<long>(timeout_.count()));
    }
  }

  // Whether any was.
  bool end_what_is_done() {
    bool any = false;
    int left = 0;
    while (CURLMsg* message = library_.multi_read(multi_, &left)) {
      if (message->msg == CURLMSG_DONE) {
        end(message->easy_handle, message->data.result);
        any = true;
      }
    }
    return any;
  }

  void end(CURL* easy, CURLcode code) {
    Call* found = nullptr;
    library_.easy_getinfo(easy, CURLINFO_PRIVATE, &found);
    Result<std::string> reply = reply_of(*found, code);
    std::unique_ptr<Call> call = take_running(found);
    connected_ = connected_ && (code == CURLE_OK || code == CURLE_OPERATION_TIMEDOUT);
    library_.multi_remove_handle(multi_, easy);
    if (!connected_ && code != CURLE_OK) {
      fail_waiting(reply.status());  // One after the other they would wait for as many timeouts.
    }
    const Done done = std::move(call->done);
    if (call->is_stream) {
      library_.easy_cleanup(easy);
    } else {
      idle_.push_back(std::move(call));
    }
    done(std::move(reply));
  }

  std::unique_ptr<Call> take_running(const Call* call) {
    for (auto& each : running_) {
      if (each.get() == call) {
        std::swap(each, running_.back());
        auto taken = std::move(running_.back());
        running_.pop_back();
        return taken;
      }
    }
    return nullptr;
  }

  // A header of the answer, or of its end; empty when there is none.
  std::string header_of(CURL* easy, const char* name) const {
    for (const unsigned int origin : {CURLH_TRAILER, CURLH_HEADER}) {
      curl_header* header = nullptr;
      if (library_.easy_header(easy, name, 0, origin, -1, &header) == CURLHE_OK) {
        return header->value;
      }
    }
    return {};
  }

  Result<std::string> reply_of(const Call& call, CURLcode code) const {
    if (call.broken || code == CURLE_WEIRD_SERVER_REPLY || code == CURLE_HTTP2) {
      return Status{StatusCode::DataLoss, url_ + " does not speak gRPC"};
    }
    if (code != CURLE_OK) {
      return Status{StatusCode::Unavailable, url_ + ": " + library_.easy_strerror(code)};
    }
    const std::string status = header_of(call.easy, "grpc-status");
    if (status != "0") {
      return status.empty() ? Status{StatusCode::DataLoss, url_ + " does not speak gRPC"}
                            : status_of(status, header_of(call.easy, "grpc-message"));
    }
    if (call.is_stream) {
      return std::string{};
    }
    const Frame frame = first_frame(call.received);
    if (!frame.valid || !frame.whole) {
      return Status{StatusCode::DataLoss, url_ + " sent no whole reply"};
    }
    return call.received.substr(kHeaderBytes, frame.bytes - kHeaderBytes);
  }

  // gRPC's numbers are those of StatusCode.
  static Status status_of(const std::string& number, const std::string& message) {
    const bool digits = number.size() <= 2 && number.find_first_not_of("0123456789") == number.npos;
    const int code = digits ? std::stoi(number) : -1;
    const bool known = code >= 1 && code <= static_cast<int>(StatusCode::Unauthenticated);
    return {known ? static_cast<StatusCode>(code) : StatusCode::Unknown,
            message.empty() ? "status " + number : message};
  }

  void fail_waiting(const Status& status) {
    std::vector<std::unique_ptr<Call>> all;
    {
      const std::lock_guard lock(mutex_);
      all.swap(waiting_);
    }
    for (auto& call : all) {
      call->done(status);
    }
  }

  void cancel_all() {
    const Status cancelled{StatusCode::Cancelled, "the channel was closed"};
    for (auto& call : running_) {
      library_.multi_remove_handle(multi_, call->easy);
      library_.easy_cleanup(call->easy);
    }
    for (auto& call : std::exchange(running_, {})) {
      call->done(cancelled);
    }
    fail_waiting(cancelled);
  }

  const CurlLibrary& library_;
  std::chrono::milliseconds timeout_;
  std::string url_;
  CURLM* multi_;
  curl_slist* headers_ = nullptr;
  bool connected_ = false;  // Of the thread, as what follows.
  std::vector<std::unique_ptr<Call>> running_;
  std::vector<std::unique_ptr<Call>> idle_;  // Their handles are used again.
  std::mutex mutex_;
  std::vector<std::unique_ptr<Call>> waiting_;
  bool closing_ = false;
  std::thread thread_;
};

GrpcChannel::GrpcChannel(std::unique_ptr<Loop> loop) : loop_(std::move(loop)) {}

GrpcChannel::~GrpcChannel() = default;

Result<std::unique_ptr<GrpcChannel>> GrpcChannel::open(HttpOrigin origin,
                                                       std::chrono::milliseconds timeout) {
  GCOORD_TRY(const CurlLibrary* library, load_curl_library());
  return std::unique_ptr<GrpcChannel>{
      new GrpcChannel(std::make_unique<Loop>(*library, std::move(origin), timeout))};
}

void GrpcChannel::call(std::string path, std::string message, Done done) {
  auto call = std::make_unique<Call>();
  call->path = std::move(path);
  call->request = framed(message);
  call->done = std::move(done);
  loop_->add(std::move(call));
}

void GrpcChannel::stream(std::string path, std::string message, Listener listener) {
  auto call = std::make_unique<Call>();
  call->path = std::move(path);
  call->request = framed(message);
  call->is_stream = true;
  call->on_message = std::move(listener.on_message);
  call->done = std::move(listener.ended);
  loop_->add(std::move(call));
}

Result<std::string> GrpcChannel::call_and_wait(std::string path, std::string message) {
  std::promise<Result<std::string>> reply;
  call(std::move(path), std::move(message), [&reply](Result<std::string> each) {
    reply.set_value(std::move(each));
  });
  return reply.get_future().get();
}

void GrpcChannel::close() {
  loop_->close();
}

}  // namespace gcoord
