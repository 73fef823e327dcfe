// One table of bad input for every front end: the native protocol, C++, C, Python and gcoordctl,
// against one node. A mistake has the same number everywhere; where a front end finds it in another
// way, its cell says so. Each number that a node can give is in
// tests/server/lock_service/bad_input_test.cc; a client that never reads its stream is in
// tests/server/watch/hub_test.cc (GC6202).
#include "client/net/asio.h"
#include "common/name_hash.h"
#include "gcoord/client.h"
#include "gcoord/gcoord_locks.h"
#include "gcoord/gcoord_sessions.h"
#include "protocol/frame.h"
#include "protocol/hello.h"
#include "protocol/lock_messages.h"
#include "tests/bad_requests.h"
#include "tests/cli/programs.h"
#include "tests/client/manual_clock.h"
#include "tests/source_dir.h"

#include <cstdio>
#include <filesystem>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

namespace gcoord::client {
namespace {

using std::chrono::milliseconds;

constexpr std::uint32_t kShards = 16;        // Of DevNode.
constexpr std::int64_t kLongTtlMs = 60'000;  // Nothing expires by itself.

// A lock that a session asked for or holds.
struct Claim {
  std::uint64_t session = 0;
  std::uint64_t sequence = 0;
  std::string name;
  std::uint64_t token = 0;
};

// What every front end can be asked; the answer is a number of docs/reference/errors.md, 0 for
// success.
class Front {
 public:
  Front() = default;
  virtual ~Front() = default;
  Front(const Front&) = delete;
  Front& operator=(const Front&) = delete;

  virtual const char* title() const = 0;
  virtual std::uint32_t open(std::int64_t ttl_ms) = 0;
  virtual std::uint32_t acquire(const Claim& claim) = 0;
  virtual std::uint32_t release(const Claim& claim) = 0;
  virtual std::uint32_t check(const Claim& claim) = 0;
};

// The bytes of the protocol, with nothing in between that could help.
class Wire final : public Front {
 public:
  explicit Wire(const std::string& endpoint) {
    const std::size_t colon = endpoint.rfind(':');
    const int port = std::stoi(endpoint.substr(colon + 1));
    socket_.connect({asio::ip::make_address(endpoint.substr(0, colon)),
                     static_cast<asio::ip::port_type>(port)});
    protocol::RequestSlot hello;
    hello.kind = protocol::RequestKind::Hello;
    const auto payload = protocol::encode(protocol::Hello{});
    ask(hello, protocol::text_of(payload));
  }

  const char* title() const override { return "wire"; }

  std::uint32_t open(std::int64_t ttl_ms) override {
    protocol::RequestSlot slot;
    slot.kind = protocol::RequestKind::OpenSession;
    slot.ttl_ms = static_cast<std::uint32_t>(
        std::min<std::int64_t>(ttl_ms, std::numeric_limits<std::uint32_t>::max() - 1));
    return ask(slot, "");
  }

  std::uint32_t acquire(const Claim& claim) override {
    protocol::RequestSlot slot = slot_of(protocol::RequestKind::LockAcquire, claim);
    slot.ttl_ms = kLongTtlMs;
    return ask(slot, claim.name);
  }

  std::uint32_t release(const Claim& claim) override {
    return ask(slot_of(protocol::RequestKind::LockRelease, claim), claim.name);
  }

  std::uint32_t check(const Claim& claim) override {
    protocol::RequestSlot slot;
    slot.kind = protocol::RequestKind::LockCheck;
    slot.shard = shard_of(hash_name(claim.name), kShards).value;
    slot.token = claim.token;
    return ask(slot, claim.name);
  }

 private:
  static protocol::RequestSlot slot_of(protocol::RequestKind kind, const Claim& claim) {
    protocol::RequestSlot slot;
    slot.kind = kind;
    slot.shard = shard_of(hash_name(claim.name), kShards).value;
    slot.session = claim.session;
    slot.sequence = claim.sequence;
    slot.acked_below = 1;
    slot.token = claim.token;
    return slot;
  }

  std::uint32_t ask(protocol::RequestSlot slot, std::string_view payload) {
    slot.request_id = ++request_id_;
    slot.deadline_ms = 10'000;
    builder_.add(slot, protocol::bytes_of(payload));
    std::vector<std::byte> bytes;
    builder_.finish(bytes);
    asio::write(socket_, asio::buffer(bytes));
    protocol::FrameView frame;
    while (decoder_.next(frame) != protocol::DecodeStep::Frame) {
      const auto room = decoder_.writable();
      decoder_.written(socket_.read_some(asio::buffer(room.data(), room.size())));
    }
    return frame.reply(0).detail;
  }

  asio::io_context context_;
  asio::ip::tcp::socket socket_{context_};
  protocol::FrameBuilder builder_{protocol::FrameDirection::Requests};
  protocol::FrameDecoder decoder_{protocol::FrameDirection::Replies};
  std::uint64_t request_id_ = 0;
};

class Cpp final : public Front {
 public:
  explicit Cpp(Client& client) : client_(client) {}

  const char* title() const override { return "C++"; }

  std::uint32_t open(std::int64_t ttl_ms) override {
    return client_.open_session({.ttl = milliseconds{ttl_ms}}).status().detail();
  }

  std::uint32_t acquire(const Claim& claim) override {
    auto session = attached(claim);
    auto lock = session.try_acquire(claim.name);
    if (lock.ok()) {
      lock.value().detach();
    }
    session.detach();
    return lock.status().detail();
  }

  std::uint32_t release(const Claim& claim) override {
    auto session = attached(claim);
    const Status released = session.release(claim.name, claim.token);
    session.detach();
    return released.detail();
  }

  std::uint32_t check(const Claim& claim) override {
    return client_.check(claim.name, claim.token).status().detail();
  }

 private:
  Session attached(const Claim& claim) {
    return client_
        .attach_session({.session_id = claim.session,
                         .ttl = milliseconds{kLongTtlMs},
                         .first_sequence = claim.sequence})
        .value();
  }

  Client& client_;
};

class PlainC final : public Front {
 public:
  explicit PlainC(const std::string& endpoint) {
    gcoord_client_options options;
    gcoord_client_options_init(&options);
    options.endpoints = endpoint.c_str();
    EXPECT_EQ(gcoord_client_connect(&options, &client_, nullptr), GCOORD_OK);
  }

  ~PlainC() override { static_cast<void>(gcoord_client_free(client_)); }

  const char* title() const override { return "C"; }

  std::uint32_t open(std::int64_t ttl_ms) override {
    gcoord_session* session = nullptr;
    const auto status = gcoord_session_open(client_, ttl_ms, nullptr, nullptr, &session, &error_);
    gcoord_session_free(session);
    return number_of(status);
  }

  std::uint32_t acquire(const Claim& claim) override {
    gcoord_session* session = attached(claim);
    gcoord_lock* lock = nullptr;
    const auto status = gcoord_lock_acquire(session, claim.name.c_str(), 0, &lock, &error_);
    gcoord_lock_detach(lock);
    gcoord_lock_free(lock);
    return leave(session, status);
  }

  std::uint32_t release(const Claim& claim) override {
    gcoord_session* session = attached(claim);
    const auto status = gcoord_session_release(session, claim.name.c_str(), claim.token, &error_);
    return leave(session, status);
  }

  std::uint32_t check(const Claim& claim) override {
    std::int32_t verdict = 0;
    return number_of(gcoord_check(client_, claim.name.c_str(), claim.token, &verdict, &error_));
  }

 private:
  gcoord_session* attached(const Claim& claim) {
    gcoord_session_options options;
    gcoord_session_options_init(&options);
    options.session_id = claim.session;
    options.ttl_ms = kLongTtlMs;
    gcoord_session* session = nullptr;
    EXPECT_EQ(gcoord_session_attach(client_, &options, false, claim.sequence, &session, nullptr),
              GCOORD_OK);
    return session;
  }

  std::uint32_t leave(gcoord_session* session, gcoord_status status) const {
    const std::uint32_t number = number_of(status);
    gcoord_session_detach(session);
    gcoord_session_free(session);
    return number;
  }

  std::uint32_t number_of(gcoord_status status) const {
    return status == GCOORD_OK ? 0 : error_.number;
  }

  gcoord_client* client_ = nullptr;
  gcoord_error error_{};
};

// A process for each question.
class Python final : public Front {
 public:
  explicit Python(std::string endpoint) : endpoint_(std::move(endpoint)) {}

  const char* title() const override { return "Python"; }

  std::uint32_t open(std::int64_t ttl_ms) override {
    return run("client.open_session(ttl=float(words[0]) / 1000)", {std::to_string(ttl_ms)});
  }

  std::uint32_t acquire(const Claim& claim) override {
    return run("attached().try_acquire(words[2]).detach()", words_of(claim));
  }

  std::uint32_t release(const Claim& claim) override {
    return run("attached().release(words[2], int(words[3]))", words_of(claim));
  }

  std::uint32_t check(const Claim& claim) override {
    return run("client.check(words[2], int(words[3]))", words_of(claim));
  }

 private:
  static std::vector<std::string> words_of(const Claim& claim) {
    return {std::to_string(claim.session),
            std::to_string(claim.sequence),
            claim.name,
            std::to_string(claim.token)};
  }

  std::uint32_t run(const std::string& statement, const std::vector<std::string>& words) const {
    const std::string script =
        "import os, sys, gcoord\n"
        "words = sys.argv[1:]\n"
        "client = gcoord.Client(os.environ['GCOORD_ENDPOINTS'])\n"
        "kept = []\n"
        "def attached():\n"
        "    kept.append(client.attach_session(int(words[0]), ttl=60, "
        "first_sequence=int(words[1])))\n"
        "    return kept[0]\n"
        "number = 0\n"
        "try:\n"
        "    " +
        statement +
        "\n"
        "except gcoord.GcoordError as error:\n"
        "    number = error.number\n"
        "for session in kept:\n"
        "    session.detach()\n"
        "print(number)\n";
    ChildOptions options;
    options.arguments = {GCOORD_PYTHON, "-X", "utf8", "-c", script};
    options.arguments.insert(options.arguments.end(), words.begin(), words.end());
    options.capture_output = true;
    options.environment = {{"GCOORD_ENDPOINTS", endpoint_},
                           {"GCOORD_CLIENT_LIBRARY", GCOORD_BUILD_DIR "/lib/libgcoord_client.so"},
                           {"PYTHONDONTWRITEBYTECODE", "1"},
                           {"PYTHONPATH", in_sources("client/python")}};
    auto child = ChildProcess::start(options);
    EXPECT_TRUE(child.ok());
    const auto number = child.value().read_line(cli::kPatience);
    EXPECT_TRUE(number.has_value()) << statement;
    return static_cast<std::uint32_t>(std::stoul(number.value_or("99999")));
  }

  std::string endpoint_;
};

class CommandLine final : public Front {
 public:
  explicit CommandLine(cli::Ctl ctl) : ctl_(std::move(ctl)) {}

  const char* title() const override { return "gcoordctl"; }

  std::uint32_t open(std::int64_t ttl_ms) override {
    return run({"session", "open", "--ttl=" + std::to_string(ttl_ms) + "ms"});
  }

  std::uint32_t acquire(const Claim& claim) override {
    return run({"lock",
                "acquire",
                claim.name,
                "--try",
                "--session",
                std::to_string(claim.session),
                "--sequence",
                std::to_string(claim.sequence),
                "--ttl",
                "60s"});
  }

  std::uint32_t release(const Claim& claim) override {
    return run({"lock",
                "release",
                claim.name,
                "--session",
                std::to_string(claim.session),
                "--token",
                std::to_string(claim.token)});
  }

  std::uint32_t check(const Claim& claim) override {
    return run({"lock", "check", claim.name, "--token", std::to_string(claim.token)});
  }

 private:
  std::uint32_t run(std::vector<std::string> words) const {
    words.insert(words.begin(), {"-o", "json"});
    const std::string code = ctl_(words).error_code();
    return code.empty() ? 0 : static_cast<std::uint32_t>(std::stoul(code.substr(2)));
  }

  cli::Ctl ctl_;
};

std::uint32_t ask(Front& front, std::uint64_t session, const BadRequest& bad) {
  switch (bad.verb) {
    case BadVerb::Acquire:
      return front.acquire({session, 1000, bad.name});
    case BadVerb::Release:
      return front.release({session, 1001, bad.name, bad.token});
    case BadVerb::Check:
      return front.check({0, 0, bad.name, bad.token});
    case BadVerb::Open:
      return front.open(bad.ttl_ms);
  }
  return 0;
}

// A name in the shard of "a", where its sessions are known.
std::string neighbour(const std::string& stem) {
  std::string name = stem;
  while (shard_of(hash_name(name), kShards) != shard_of(hash_name("a"), kShards)) {
    name += "x";
  }
  return name;
}

// The value, or the end of the test with what went wrong.
template <typename R>
auto must(R result) {
  if (!result.ok()) {
    std::fprintf(stderr, "%s\n", result.status().to_string().c_str());
  }
  return std::move(result).value();
}

// A node that has just begun may close a connection that comes before it serves.
Client connect_in_time(const std::string& endpoint) {
  auto client = Client::connect({.endpoints = {endpoint}});
  for (const auto end = std::chrono::steady_clock::now() + std::chrono::minutes{1};
       !client.ok() && std::chrono::steady_clock::now() < end;) {
    client = Client::connect({.endpoints = {endpoint}});
  }
  return must(std::move(client));
}

class BadInputFronts : public testing::Test {
 protected:
  BadInputFronts()
      : client_(connect_in_time(node_.endpoint())),
        holder_(must(client_.open_session({.ttl = milliseconds{kLongTtlMs}}))),
        other_(must(client_.open_session({.ttl = milliseconds{kLongTtlMs}}))) {
    held_.emplace(must(holder_.acquire("a")));
    // Its token is none that "a" ever had, and its holder is known in the shard of "a".
    for (int turn = 0; turn < 7; ++turn) {
      EXPECT_TRUE(must(other_.acquire(other_name_)).release().ok());
    }
    other_held_.emplace(must(other_.acquire(other_name_)));
    fronts_.push_back(std::make_unique<Wire>(node_.endpoint()));
    fronts_.push_back(std::make_unique<Cpp>(client_));
    fronts_.push_back(std::make_unique<PlainC>(node_.endpoint()));
    fronts_.push_back(std::make_unique<Python>(node_.endpoint()));
    fronts_.push_back(std::make_unique<CommandLine>(node_.ctl()));
  }

  // A session that a program used and that ran out since.
  std::uint64_t session_that_ran_out() {
    auto session = client_.open_session({.ttl = milliseconds{500}}).value();
    const std::uint64_t id = session.id();
    auto watch = client_.watch({.session_id = id}).value();
    session.acquire(neighbour("gone")).value().detach();
    session.detach();
    bool expired = false;
    while (!expired) {
      const auto batch = watch.next();
      EXPECT_TRUE(batch.ok()) << batch.status().to_string();
      expired = !batch.ok();
      for (const WatchEvent& event :
           batch.ok() ? batch.value().events : std::vector<WatchEvent>{}) {
        expired = expired || event.kind == EventKind::Expired;
      }
    }
    return id;
  }

  cli::DevNode node_;
  Client client_;
  Session holder_;
  Session other_;
  const std::string other_name_ = neighbour("b");
  std::optional<Lock> held_;
  std::optional<Lock> other_held_;
  std::vector<std::unique_ptr<Front>> fronts_;
};

TEST_F(BadInputFronts, EachMistakeHasOneNumberInEveryFrontEndAndChangesNothing) {
  struct Case {
    const char* what;
    std::uint32_t number;
    std::function<std::uint32_t(Front&)> ask;
    std::uint32_t on_wire = 0;  // Where it is another.
  };

  const std::uint64_t session = holder_.id();
  const std::uint64_t token = held_->fence();
  const std::uint64_t gone = session_that_ran_out();
  const auto open = [](std::int64_t ttl_ms) {
    return [ttl_ms](Front& front) { return front.open(ttl_ms); };
  };
  const auto release = [](const Claim& claim) {
    return [claim](Front& front) { return front.release(claim); };
  };
  std::uint64_t fresh = 5000;  // Sessions of their own, for numbers of their own.
  const auto reuse = [this, &fresh](Front& front) {
    const std::uint64_t own = ++fresh;
    const std::string stem = std::to_string(own);
    must(client_.grant_session({.ttl = milliseconds{kLongTtlMs}, .session_id = own})).detach();
    EXPECT_EQ(front.acquire({own, 1, neighbour("first/" + stem)}), 0u);
    return front.acquire({own, 1, neighbour("second/" + stem)});
  };
  std::vector<Case> cases = {
      // A number without a sign there: a huge one.
      {"a negative TTL", 1104, open(-5000), 1105},
      {"a TTL of ages", 1105, open(9'000'000'000'000)},
      {"by who does not hold it", 6004, release({other_.id(), 1001, "a", token})},
      {"the token of another name", 6003, release({session, 1001, "a", other_held_->fence()})},
      {"an unknown session", 6008, release({999, 1, "a", token})},
      {"a session that ran out", 6008, release({gone, 1001, neighbour("gone"), 1})},
      {"a number used for other arguments", 6011, reuse},
  };
  for (const BadRequest& bad : bad_requests()) {
    cases.push_back({bad.what, bad.number(), [session, bad](Front& front) {
                       return ask(front, session, bad);
                     }});
  }
  for (const Case& each : cases) {
    for (const auto& front : fronts_) {
      const bool wire = front == fronts_.front();
      EXPECT_EQ(each.ask(*front), wire && each.on_wire != 0 ? each.on_wire : each.number)
          << front->title() << ": " << each.what;
    }
  }
  EXPECT_EQ(client_.check("a", token).value(), Verdict::Valid);
  EXPECT_EQ(client_.check(other_name_, other_held_->fence()).value(), Verdict::Valid);
  EXPECT_EQ(client_.check("a", other_held_->fence()).value(), Verdict::Stale);
}

// What was stopped and goes on finds its lock lost by its own clock, before it asks anybody.
TEST_F(BadInputFronts, AStoppedClientThatGoesOnHasLostItsLock) {
  const auto clock = std::make_shared<ManualClock>();
  auto stopped = Client::connect({.endpoints = {node_.endpoint()}, .clock = clock}).value();
  auto opened = stopped.open_session({.ttl = milliseconds{kLongTtlMs}});
  ASSERT_TRUE(opened.ok()) << opened.status().to_string();
  auto session = std::move(opened).value();
  auto acquired = session.acquire("stopped");
  ASSERT_TRUE(acquired.ok()) << acquired.status().to_string();
  auto lock = std::move(acquired).value();
  clock->advance(milliseconds{kLongTtlMs});
  EXPECT_FALSE(lock.valid());
  EXPECT_EQ(session.acquire("another").status().detail(), kDetailSessionExpired);
  EXPECT_EQ(lock.release().detail(), kDetailSessionExpired);
}

}  // namespace
}  // namespace gcoord::client
