#include "server/health/systemd_notify.h"

#include "tests/notify_socket.h"
#include "tests/scratch_folder.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <map>

namespace gcoord::server {
namespace {

SystemdNotify::Environment environment(std::map<std::string, std::string> variables) {
  return [variables = std::move(variables)](const char* name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
}

TEST(SystemdNotify, WithoutASocketItSaysNothing) {
  SystemdNotify notify(environment({{"WATCHDOG_USEC", "1000"}}));
  EXPECT_FALSE(notify.active());
  notify.ready("ready");
  notify.on_turn(5);
  EXPECT_EQ(notify.until_next_ms(5, 1000), 1000u);
  EXPECT_FALSE(SystemdNotify(environment({{"NOTIFY_SOCKET", "relative"}})).active());
  EXPECT_FALSE(
      SystemdNotify(environment({{"NOTIFY_SOCKET", "/" + std::string(200, 'x')}})).active());
}

TEST(SystemdNotify, TheManagerHearsReadinessAndTheEnd) {
  const ScratchFolder folder;
  const std::string path = folder.path("notify");
  NotifySocket systemd(path);
  SystemdNotify notify(environment({{"NOTIFY_SOCKET", path}}));
  EXPECT_TRUE(notify.active());
  notify.status("majority: not heard:\nREADY=1");
  EXPECT_EQ(systemd.next(), "STATUS=majority: not heard: READY=1");
  notify.ready("ready");
  EXPECT_EQ(systemd.next(), "READY=1\nSTATUS=ready");
  notify.stopping("stopping: SIGTERM");
  EXPECT_EQ(systemd.next(), "STOPPING=1\nSTATUS=stopping: SIGTERM");
}

TEST(SystemdNotify, TheAbstractSpaceServesToo) {
  const std::string name = "@gcoord-notify-test-" + std::to_string(::getpid());
  NotifySocket systemd(name);
  SystemdNotify notify(environment({{"NOTIFY_SOCKET", name}}));
  notify.ready("ready");
  EXPECT_EQ(systemd.next(), "READY=1\nSTATUS=ready");
}

TEST(SystemdNotify, TheWatchdogHearsTurnsTwiceInItsInterval) {
  const ScratchFolder folder;
  const std::string path = folder.path("notify");
  NotifySocket systemd(path);
  SystemdNotify notify(environment({{"NOTIFY_SOCKET", path},
                                    {"WATCHDOG_USEC", "20000"},
                                    {"WATCHDOG_PID", std::to_string(::getpid())}}));
  notify.on_turn(1'000'000);
  EXPECT_EQ(systemd.next(), "WATCHDOG=1");
  EXPECT_EQ(notify.until_next_ms(1'004'000, 1000), 6u);
  EXPECT_EQ(notify.until_next_ms(1'004'000, 5), 5u);
  notify.on_turn(1'009'999);
  EXPECT_FALSE(systemd.waits());
  notify.on_turn(1'010'000);
  EXPECT_EQ(systemd.next(), "WATCHDOG=1");
}

TEST(SystemdNotify, TheWatchdogOfAnotherProcessIsNotOurs) {
  const ScratchFolder folder;
  const std::string path = folder.path("notify");
  NotifySocket systemd(path);
  SystemdNotify notify(
      environment({{"NOTIFY_SOCKET", path}, {"WATCHDOG_USEC", "20000"}, {"WATCHDOG_PID", "1"}}));
  notify.on_turn(1'000'000);
  EXPECT_FALSE(systemd.waits());
}

TEST(SystemdNotify, AManagerThatIsGoneHoldsNobodyUp) {
  const ScratchFolder folder;
  SystemdNotify notify(environment({{"NOTIFY_SOCKET", folder.path("nobody")}}));
  notify.ready("ready");
  EXPECT_TRUE(notify.active());
}

}  // namespace
}  // namespace gcoord::server
