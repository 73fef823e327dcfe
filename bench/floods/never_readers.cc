#include "bench/floods/never_readers.h"

#include "bench/floods/flood_requests.h"
#include "bench/leases/node_link.h"
#include "common/name_hash.h"
#include "protocol/hello.h"

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <optional>
#include <thread>
#include <utility>

namespace gcoord::bench {

namespace {

constexpr std::uint32_t kTtlMs = 3'600'000;

// Sent in one piece; what a socket does not take waits.
constexpr std::size_t kPieceBytes = std::size_t{64} << 10;

// Between looks at sockets that take nothing, and attempts to connect again.
constexpr int kPollMs = 5;

// Names tried until one is led by the node in question.
constexpr int kNamesTried = 1000;

int connect_to(const std::string& endpoint) {
  const sockaddr_in address = loopback_address(endpoint);
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  ::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof(address));
  return socket;  // Connected or not: the first write says so.
}

// One connection of the flood, again and again.
class NeverReader {
 public:
  NeverReader(std::string endpoint, FloodKind kind, FloodSubject subject)
      : endpoint_(std::move(endpoint)), requests_(kind, std::move(subject)) {}

  ~NeverReader() { close(); }

  NeverReader(NeverReader&& other) noexcept
      : endpoint_(std::move(other.endpoint_)),
        requests_(std::move(other.requests_)),
        socket_(std::exchange(other.socket_, -1)) {}

  NeverReader& operator=(NeverReader&&) = delete;

  int socket() const { return socket_; }

  bool open() const { return socket_ >= 0; }

  void connect() {
    socket_ = connect_to(endpoint_);
    builder_ = protocol::FrameBuilder{protocol::FrameDirection::Requests};
    out_.clear();
    begin_ = 0;
    protocol::RequestSlot hello;
    hello.kind = protocol::RequestKind::Hello;
    protocol::Hello said;
    said.client = "never-reader";
    builder_.add(hello, protocol::encode(said));
    builder_.finish(out_);
  }

  // Until the socket takes no more. Empty when the node has closed it.
  std::optional<std::uint64_t> send() {
    std::uint64_t taken = 0;
    while (true) {
      if (begin_ == out_.size()) {
        refill();
      }
      const ssize_t sent =
          ::send(socket_, out_.data() + begin_, out_.size() - begin_, MSG_NOSIGNAL);
      if (sent < 0) {
        return errno == EAGAIN ? std::optional{taken} : std::nullopt;
      }
      begin_ += static_cast<std::size_t>(sent);
      taken += static_cast<std::uint64_t>(sent);
    }
  }

  void close() {
    if (socket_ >= 0) {
      ::close(std::exchange(socket_, -1));
    }
  }

 private:
  void refill() {
    out_.clear();
    begin_ = 0;
    while (out_.size() < kPieceBytes) {
      requests_.append_frame(builder_, out_);
    }
  }

  std::string endpoint_;
  FloodRequests requests_;
  int socket_ = -1;
  protocol::FrameBuilder builder_{protocol::FrameDirection::Requests};
  std::vector<std::byte> out_;
  std::size_t begin_ = 0;
};

// A session, of any node.
Result<std::uint64_t> open_session(NodeLink& link) {
  protocol::RequestSlot slot;
  slot.kind = protocol::RequestKind::OpenSession;
  slot.ttl_ms = kTtlMs;
  link.add(slot);
  GCOORD_TRY_STATUS(link.flush());
  protocol::ReplySlot answer;
  GCOORD_TRY_STATUS(link.await_replies([&](const auto& reply, auto) { answer = reply; }));
  if (answer.code != StatusCode::Ok) {
    return Status{answer.code, "no session for the flood"};
  }
  return answer.extra;
}

// A long name whose lock this node leads and the session holds from now on.
Result<std::string> hold_lock(NodeLink& link, std::uint64_t session, std::uint32_t shards) {
  const std::string begin(protocol::kNameBytesMax - 16, 'l');
  protocol::ReplySlot answer;
  for (int n = 0; n < kNamesTried; ++n) {
    const std::string name = begin + std::to_string(n);
    protocol::RequestSlot slot;
    slot.kind = protocol::RequestKind::LockAcquire;
    slot.shard = shard_of(hash_name(name), shards).value;
    slot.session = session;
    slot.sequence = 1;
    slot.acked_below = 1;
    slot.ttl_ms = kTtlMs;
    link.add(slot, std::as_bytes(std::span{name}));
    GCOORD_TRY_STATUS(link.flush());
    GCOORD_TRY_STATUS(link.await_replies([&](const auto& reply, auto) { answer = reply; }));
    if (answer.code == StatusCode::Ok) {
      return name;
    }
  }
  return Status{answer.code, "no lock for the flood: GC" + std::to_string(answer.detail)};
}

}  // namespace

struct NeverReaders::State {
  std::vector<NeverReader> readers;
  std::atomic<bool> stopping{false};
  std::atomic<std::uint64_t> opened{0};
  std::atomic<std::uint64_t> closed{0};
  std::atomic<std::uint64_t> bytes{0};
  std::thread thread;

  // Those that a poll finds writable; a connection that is gone begins anew.
  void send_all(const std::vector<pollfd>& polled) {
    for (std::size_t k = 0; k < readers.size(); ++k) {
      NeverReader& reader = readers[k];
      if (!reader.open()) {
        reader.connect();
        opened.fetch_add(1, std::memory_order_relaxed);
      } else if (k < polled.size() && polled[k].revents != 0) {
        const auto taken = reader.send();
        bytes.fetch_add(taken.value_or(0), std::memory_order_relaxed);
        if (!taken) {
          reader.close();
          closed.fetch_add(1, std::memory_order_relaxed);
        }
      }
    }
  }

  void run() {
    std::vector<pollfd> polled;
    while (!stopping.load(std::memory_order_relaxed)) {
      send_all(polled);
      polled.clear();
      for (const NeverReader& reader : readers) {
        polled.push_back({.fd = reader.socket(), .events = POLLOUT, .revents = 0});
      }
      ::poll(polled.data(), polled.size(), kPollMs);
    }
  }
};

NeverReaders::NeverReaders(std::unique_ptr<State> state) : state_(std::move(state)) {
  state_->thread = std::thread([state = state_.get()] { state->run(); });
}

NeverReaders::~NeverReaders() {
  state_->stopping.store(true, std::memory_order_relaxed);
  state_->thread.join();
}

NeverReaders::Counts NeverReaders::counts() const {
  return {.opened = state_->opened.load(std::memory_order_relaxed),
          .closed = state_->closed.load(std::memory_order_relaxed),
          .bytes = state_->bytes.load(std::memory_order_relaxed)};
}

Result<std::unique_ptr<NeverReaders>> NeverReaders::start(const NeverReadersOptions& options) {
  auto state = std::make_unique<State>();
  std::vector<std::string> locks;
  for (std::uint32_t k = 0; k < options.connections; ++k) {
    const std::string& endpoint = options.endpoints[k % options.endpoints.size()];
    GCOORD_TRY(const auto link, NodeLink::open(endpoint));
    GCOORD_TRY(const std::uint64_t session, open_session(*link));
    if (k < options.endpoints.size()) {
      GCOORD_TRY(std::string lock, hold_lock(*link, session, options.shards));
      locks.push_back(std::move(lock));
    }
    const auto kind = static_cast<FloodKind>(k / options.endpoints.size() %
                                             static_cast<std::uint32_t>(FloodKind::Count));
    state->readers.emplace_back(endpoint,
                                kind,
                                FloodSubject{.shards = options.shards,
                                             .session = session,
                                             .ttl_ms = kTtlMs,
                                             .lock = locks[k % options.endpoints.size()],
                                             .names = "flood/" + std::to_string(k)});
  }
  return std::unique_ptr<NeverReaders>(new NeverReaders(std::move(state)));
}

}  // namespace gcoord::bench
