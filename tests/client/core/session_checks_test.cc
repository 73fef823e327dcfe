// S11: sessions that are bound to health checks. The checks are real commands and sockets; when
// they run, a clock says that the test moves.
#include "client/core/session_checks.h"

#include "gcoord/health.h"
#include "tests/client/client_fixture.h"
#include "tests/scratch_folder.h"

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <future>
#include <optional>
#include <string>

namespace gcoord::client {
namespace {

using namespace std::chrono_literals;
using protocol::RequestKind;
using testing::ElementsAre;
using testing::HasSubstr;

// Answers every connection with these bytes, until it is told others.
class TinyServer {
 public:
  explicit TinyServer(std::string answer) : answer_(std::move(answer)) {
    thread_ = std::thread{[this] { serve(); }};
  }

  ~TinyServer() {
    ended_ = true;
    asio::io_context context;
    asio::ip::tcp::socket last{context};
    asio::error_code ignored;
    last.connect(acceptor_.local_endpoint(), ignored);
    thread_.join();
  }

  TinyServer(const TinyServer&) = delete;
  TinyServer& operator=(const TinyServer&) = delete;

  std::string address() const {
    return "127.0.0.1:" + std::to_string(acceptor_.local_endpoint().port());
  }

  void answer_with(std::string answer) {
    const std::lock_guard lock{mutex_};
    answer_ = std::move(answer);
  }

 private:
  void serve() {
    while (!ended_) {
      asio::error_code error;
      asio::ip::tcp::socket socket = acceptor_.accept(error);
      std::array<char, 4096> asked{};
      if (!error && !ended_) {
        socket.read_some(asio::buffer(asked), error);
        const std::lock_guard lock{mutex_};
        asio::write(socket, asio::buffer(answer_), error);
      }
    }
  }

  asio::io_context context_;
  asio::ip::tcp::acceptor acceptor_{context_, {asio::ip::address_v4::loopback(), 0}};
  std::atomic<bool> ended_{false};
  std::mutex mutex_;
  std::string answer_;
  std::thread thread_;
};

class S11 : public ClientTest {
 protected:
  void SetUp() override { set_healthy(true); }

  std::filesystem::path flag() const { return folder_.path() / "healthy"; }

  // What check() looks at.
  void set_healthy(bool healthy) const {
    if (healthy) {
      std::ofstream{flag()} << "yes";
    } else {
      std::filesystem::remove(flag());
    }
  }

  HealthCheck check() const {
    return {.kind = CheckKind::Command,
            .target = "test -e '" + flag().string() + "'",
            .interval = 1s,
            .timeout = 30s,
            .failures = 3};
  }

  SessionOptions bound_to(HealthCheck check, UnhealthyAction action = UnhealthyAction::Starve) {
    return {.ttl = 9s,
            .on_event = [this](SessionEvent event) { events_.add(event); },
            .health = {.checks = {std::move(check)},
                       .on_unhealthy = action,
                       .on_report = [this](const CheckReport& report) { reports_.add(report); }}};
  }

  // Of the next run, which is news.
  CheckReport next_report() {
    const std::size_t before = reports_.count();
    clock_->advance(1s);
    return reports_.wait_for(before + 1).back();
  }

  static bool gone(pid_t process) { return ::kill(process, 0) != 0 && errno == ESRCH; }

  // Gone, or waited for by nobody: the first process of a container need not reap.
  static bool dead(pid_t process) {
    std::string line;
    std::ifstream status{"/proc/" + std::to_string(process) + "/stat"};
    return !std::getline(status, line) || line.find(") Z ") != std::string::npos;
  }

  const ScratchFolder folder_;
  Collected<SessionEvent> events_;
  Collected<CheckReport> reports_;
};

TEST_F(S11, SessionsAreBoundToNothingUnlessAProgramAsksForIt) {
  EXPECT_TRUE(SessionOptions{}.health.checks.empty());
  EXPECT_TRUE(GrantOptions{}.health.checks.empty());
  EXPECT_TRUE(AttachOptions{}.health.checks.empty());
  EXPECT_TRUE(LeaseOptions{}.health.checks.empty());
  Client client = connect();
  EXPECT_TRUE(open(client).healthy());
}

TEST_F(S11, WhatCannotBeCheckedIsRefused) {
  for (const char* text : {"",
                           "tcp:",
                           "tcp:host",
                           "tcp:host:0",
                           "tcp:host:70000",
                           "tcp:ho st:80",
                           "command:",
                           "https://host/",
                           "http://",
                           "http://user@host/",
                           "http://host:x/",
                           "http://host/a b",
                           "http://host/\r\nX: y",
                           "udp:host:80"}) {
    EXPECT_EQ(parse_health_check(text).status().detail(), 6352u) << text;
  }
  for (const char* text :
       {"tcp:host:80", "tcp:[::1]:80", "http://host", "http://[::1]:8080/live?a=b"}) {
    EXPECT_TRUE(parse_health_check(text).ok()) << text;
  }
  Client client = connect();
  const auto refused = [&](HealthCheck check) {
    return client.open_session(bound_to(std::move(check))).status().detail();
  };
  HealthCheck odd = check();
  odd.interval = 99ms;
  EXPECT_EQ(refused(odd), 6352u);
  odd = check();
  odd.timeout = 61s;
  EXPECT_EQ(refused(odd), 6352u);
  odd = check();
  odd.failures = 0;
  EXPECT_EQ(refused(odd), 6352u);
  SessionOptions many = bound_to(check());
  many.health.checks.resize(kHealthChecksMax + 1, check());
  EXPECT_EQ(client.open_session(many).status().detail(), 6352u);
  AttachOptions attached{.session_id = 41};
  attached.health.checks = {check()};
  EXPECT_EQ(client.attach_session(attached).status().detail(), 6352u)
      << "nobody keeps it alive here";
  EXPECT_TRUE(cluster_.requests(RequestKind::OpenSession).empty());
}

TEST_F(S11, ASessionWhoseCheckFailsIsNotOpened) {
  Client client = connect();
  set_healthy(false);
  const auto opened = client.open_session(bound_to(check()));
  EXPECT_EQ(opened.status().detail(), 6350u);
  EXPECT_THAT(opened.status().message(), HasSubstr("exit code 1"));
  EXPECT_TRUE(cluster_.requests(RequestKind::OpenSession).empty());
  const auto lease = client.take_lease(
      "name", {.health = {.checks = {{.kind = CheckKind::Command, .target = "exit 7"}}}});
  EXPECT_THAT(lease.status().message(), HasSubstr("exit code 7"));
}

TEST_F(S11, AFewFailuresChangeNothing) {
  Client client = connect();
  Session session = open(client, bound_to(check()));
  set_healthy(false);
  EXPECT_EQ(next_report().failures_in_row, 1u);
  EXPECT_EQ(next_report().failures_in_row, 2u);
  EXPECT_TRUE(session.healthy());
  set_healthy(true);
  const CheckReport report = next_report();
  EXPECT_TRUE(report.passing);
  EXPECT_TRUE(report.session_healthy);
  set_healthy(false);
  EXPECT_EQ(next_report().failures_in_row, 1u) << "only failures in a row count";
  EXPECT_TRUE(session.acquire("name").ok());
  EXPECT_EQ(events_.count(), 0u);
}

TEST_F(S11, KeepAlivesStopWhenTheCheckHasFailedOftenEnoughAndGoOnWhenItPasses) {
  Client client = connect();
  Session session = open(client, bound_to(check()));
  auto lock = session.acquire("name");
  ASSERT_TRUE(lock.ok());
  set_healthy(false);
  next_report();
  next_report();
  EXPECT_FALSE(next_report().session_healthy);
  EXPECT_FALSE(session.healthy());
  // Those of the third second, with which the lease ends in the twelfth.
  const auto sent_before = cluster_.wait_for(RequestKind::KeepAlive, 3).size();
  EXPECT_EQ(session.acquire("other").status().detail(), 6351u);
  EXPECT_EQ(session.renew().detail(), 6351u);
  EXPECT_TRUE(lock.value().valid()) << "nobody else can have it yet";
  for (int second = 0; second < 6; ++second) {
    next_report();
  }
  EXPECT_THAT(events_.wait_for(1), ElementsAre(SessionEvent::Jeopardy));
  EXPECT_EQ(cluster_.requests(RequestKind::KeepAlive).size(), sent_before);
  set_healthy(true);
  const CheckReport report = next_report();
  EXPECT_TRUE(report.session_healthy) << report.evidence;
  EXPECT_THAT(events_.wait_for(2), ElementsAre(SessionEvent::Jeopardy, SessionEvent::Safe));
  EXPECT_TRUE(lock.value().valid());
  EXPECT_TRUE(session.acquire("other").ok());
}

TEST_F(S11, AStarvedSessionIsLostWhenItsTtlIsOverAndIsNotClosed) {
  Client client = connect();
  Session session = open(client, bound_to(check()));
  auto lock = session.acquire("name");
  ASSERT_TRUE(lock.ok());
  set_healthy(false);
  next_report();
  next_report();
  next_report();
  clock_->advance(9s);
  EXPECT_THAT(events_.wait_for(2), ElementsAre(SessionEvent::Jeopardy, SessionEvent::Expired));
  EXPECT_FALSE(lock.value().valid());
  EXPECT_EQ(session.acquire("other").status().detail(), kDetailSessionExpired);
  EXPECT_TRUE(cluster_.requests(RequestKind::CloseSession).empty())
      << "the nodes let its TTL run out, and the lock-delay begins then";
}

TEST_F(S11, OtherSessionsOfTheProgramAreKeptAlive) {
  Client client = connect();
  Session session = open(client, bound_to(check()));
  Session other = open(client, {.ttl = 9s});
  set_healthy(false);
  next_report();
  next_report();
  next_report();
  const auto sent_before = cluster_.requests(RequestKind::KeepAlive).size();
  EXPECT_TRUE(other.renew().ok());
  EXPECT_GT(cluster_.requests(RequestKind::KeepAlive).size(), sent_before);
  EXPECT_TRUE(other.healthy());
  EXPECT_TRUE(other.acquire("name").ok());
}

TEST_F(S11, ASessionThatIsToBeClosedIsToldFirst) {
  Client client = connect();
  HealthCheck once = check();
  once.failures = 1;
  Session session = open(client, bound_to(once, UnhealthyAction::Close));
  auto lock = session.acquire("name");
  ASSERT_TRUE(lock.ok());
  set_healthy(false);
  next_report();
  EXPECT_THAT(events_.wait_for(2), ElementsAre(SessionEvent::Jeopardy, SessionEvent::Expired));
  EXPECT_FALSE(lock.value().valid());
  EXPECT_EQ(cluster_.wait_for(RequestKind::CloseSession, 3).size(), 3u) << "every node is told";
}

TEST_F(S11, ACommandThatHangsIsKilledAndHasFailed) {
  Client client = connect();
  const std::filesystem::path pid_file = folder_.path() / "pid";
  HealthCheck hanging = check();
  hanging.target += " || { echo $$ > '" + pid_file.string() + ".new'; mv '" + pid_file.string() +
                    ".new' '" + pid_file.string() + "'; exec sleep 1000; }";
  hanging.failures = 1;
  Session session = open(client, bound_to(hanging));
  set_healthy(false);
  clock_->advance(1s);
  settle_until(client, [&](const ClientStatistics&) { return std::filesystem::exists(pid_file); });
  pid_t command = 0;
  std::ifstream{pid_file} >> command;
  ASSERT_GT(command, 0);
  EXPECT_EQ(::kill(command, 0), 0);
  EXPECT_EQ(reports_.count(), 0u);
  clock_->advance(30s);
  EXPECT_THAT(reports_.wait_for(1).back().evidence, HasSubstr("no result within 30000 ms"));
  settle_until(client, [&](const ClientStatistics&) { return gone(command); });
}

TEST_F(S11, ACommandWhoseExitCodeIsTakenAwayHasFailed) {
  const auto before = ::signal(SIGCHLD, SIG_IGN);
  Client client = connect();
  const auto opened = client.open_session(bound_to(check()));
  EXPECT_EQ(opened.status().detail(), 6350u);
  EXPECT_TRUE(cluster_.requests(RequestKind::OpenSession).empty());
  ::signal(SIGCHLD, before);
  EXPECT_TRUE(client.open_session(bound_to(check())).ok());
}

TEST_F(S11, WhatACommandLeavesRunningIsKilledWhenItEnds) {
  Client client = connect();
  const std::filesystem::path pid_file = folder_.path() / "pid";
  HealthCheck leaving = check();
  leaving.target = "sleep 1000 & echo $! > '" + pid_file.string() + "'";
  Session session = open(client, bound_to(leaving));
  pid_t left = 0;
  std::ifstream{pid_file} >> left;
  ASSERT_GT(left, 0);
  settle_until(client, [&](const ClientStatistics&) { return dead(left); });
}

TEST_F(S11, ACommandReadsNothingOfItsProgramsInput) {
  std::array<int, 2> input{};
  ASSERT_EQ(::pipe(input.data()), 0);
  ASSERT_EQ(::write(input[1], "line\n", 5), 5);
  const int before = ::dup(STDIN_FILENO);
  ::dup2(input[0], STDIN_FILENO);
  Client client = connect();
  const auto opened = client.open_session(
      bound_to({.kind = CheckKind::Command, .target = "! read line", .timeout = 30s}));
  EXPECT_TRUE(opened.ok()) << opened.status().to_string();
  before >= 0 ? ::dup2(before, STDIN_FILENO) : ::close(STDIN_FILENO);
  for (const int fd : {input[0], input[1], before}) {
    ::close(fd);
  }
}

TEST_F(S11, AGrantThatComesToAnUnhealthySessionIsGivenBack) {
  Client client = connect();
  HealthCheck once = check();
  once.failures = 1;
  Session session = open(client, bound_to(once));
  std::promise<void> waiting;
  std::promise<void> grant;
  cluster_.answer_with([&](const FakeRequest& request) -> std::optional<FakeReply> {
    if (request.slot.kind == RequestKind::LockAcquire) {
      waiting.set_value();
      grant.get_future().wait();
    }
    return friendly_reply(request);
  });
  auto coming = session.acquire_async("name", {.wait = kForever});
  waiting.get_future().wait();
  set_healthy(false);
  EXPECT_FALSE(next_report().session_healthy);
  grant.set_value();
  EXPECT_EQ(coming.get().status().detail(), 6351u);
  EXPECT_EQ(cluster_.wait_for(RequestKind::LockRelease, 1).front().slot.token, 7u);
}

TEST_F(S11, ASessionThatIsAttachedToAsTheClientEndsStartsNoCommand) {
  const auto core = std::make_shared<Core>(options());
  std::promise<void> connected;
  core->start([&](const Status&) { connected.set_value(); });
  connected.get_future().wait();
  core->stop();
  const auto session = std::make_shared<SessionRecord>();
  std::make_shared<SessionChecks>(*core, bound_to(check()).health)->bind(session);
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "there is a child";
  EXPECT_EQ(errno, ECHILD);
}

TEST_F(S11, AConnectionIsACheck) {
  Client client = connect();
  Session session =
      open(client,
           bound_to({.kind = CheckKind::Tcp, .target = cluster_.endpoints()[2], .interval = 1s}));
  cluster_.stop_node(NodeId{3});
  EXPECT_THAT(next_report().evidence, HasSubstr("Connection refused"));
}

TEST_F(S11, ANameIsLookedUp) {
  TinyServer server{""};
  Client client = connect();
  const std::string address = server.address();
  Session session = open(client,
                         bound_to({.kind = CheckKind::Tcp,
                                   .target = "localhost" + address.substr(address.find(':')),
                                   .interval = 1s}));
  EXPECT_TRUE(session.healthy());
}

TEST_F(S11, AGetIsACheck) {
  TinyServer server{"HTTP/1.1 204 No Content\r\n\r\n"};
  Client client = connect();
  Session session = open(client,
                         bound_to({.kind = CheckKind::Http,
                                   .target = "http://" + server.address() + "/live",
                                   .interval = 1s}));
  server.answer_with("HTTP/1.1 503 Service Unavailable\r\n\r\n");
  EXPECT_EQ(next_report().evidence, "HTTP status 503");
  server.answer_with("SSH-2.0-x\r\n");
  EXPECT_EQ(next_report().evidence, "no HTTP answer");
  server.answer_with(std::string(100'000, 'x'));
  EXPECT_EQ(next_report().evidence, "no HTTP answer");
  server.answer_with("HTTP/1.1 301 Moved Permanently\r\nLocation: /\r\n\r\n");
  EXPECT_EQ(next_report().evidence, "HTTP status 301");
  EXPECT_FALSE(session.healthy());
  server.answer_with("HTTP/1.0 200 OK\r\n\r\n");
  EXPECT_TRUE(next_report().session_healthy);
}

TEST_F(S11, AClientThatEndsBreaksItsFirstChecksOff) {
  std::optional<Client> client{connect()};
  HealthCheck hanging = check();
  hanging.target = "exec sleep 1000";
  auto coming = client->open_session_async(bound_to(hanging));
  client.reset();
  EXPECT_EQ(coming.get().status().detail(), 4010u);
}

TEST_F(S11, AClosedSessionIsCheckedNoMore) {
  Client client = connect();
  {
    Session session = open(client, bound_to(check()));
    EXPECT_TRUE(session.close().ok());
  }
  set_healthy(false);
  clock_->advance(1s);
  clock_->advance(1s);
  EXPECT_TRUE(client.check("name", 7).ok()) << "a round trip through the thread that would tell";
  EXPECT_EQ(reports_.count(), 0u);
}

TEST_F(S11, AnAttachedSessionIsKeptAliveAsLongAsItsChecksPass) {
  Client client = connect();
  AttachOptions options{.session_id = 41, .ttl = 9s, .keep_alive = true};
  options.health = bound_to(check()).health;
  auto session = client.attach_session(options);
  ASSERT_TRUE(session.ok());
  EXPECT_TRUE(session.value().renew().ok());
  set_healthy(false);
  next_report();
  next_report();
  next_report();
  EXPECT_EQ(session.value().renew().detail(), 6351u);
  session.value().detach();
}

}  // namespace
}  // namespace gcoord::client
