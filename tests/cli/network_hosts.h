// Hosts of a test: network namespaces of their own, joined by a bridge in another one, in which the
// test and its clients are from then on. Nothing of it outlives the process.
//
// A host is cut off by closing its port of the bridge, so that what is sent to it and by it is lost
// without a word, as by a switch that died. Needs the right to make namespaces, and ip, bridge and
// tc. One thread: what it starts begins in the namespace in which it is.
#pragma once

#include "common/host/child_process.h"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace gcoord::cli {

class NetworkHosts {
 public:
  explicit NetworkHosts(std::uint32_t count) {
    before_ = own_namespace();
    hub_ = enter_another();
    run({"ip", "link", "set", "lo", "up"});
    run({"ip", "link", "add", "gcoord", "type", "bridge"});
    run({"ip", "addr", "add", "10.77.0.254/24", "dev", "gcoord"});
    run({"ip", "link", "set", "gcoord", "up"});
    for (std::uint32_t host = 1; host <= count && obstacle_.empty(); ++host) {
      add(host);
    }
  }

  ~NetworkHosts() {
    go_to(before_);
    for (const int each : hosts_) {
      ::close(each);
    }
    ::close(hub_);
    ::close(before_);
  }

  NetworkHosts(const NetworkHosts&) = delete;
  NetworkHosts& operator=(const NetworkHosts&) = delete;

  // Why there are none here; empty: there are.
  const std::string& obstacle() const { return obstacle_; }

  static std::string address(std::uint32_t host) { return "10.77.0." + std::to_string(host); }

  // Calls f; what it starts runs on the host.
  template <typename Function>
  auto on(std::uint32_t host, const Function& f) {
    go_to(hosts_[host - 1]);
    auto result = f();
    go_to(hub_);
    return result;
  }

  // The host hears nobody and is heard by nobody, until heal().
  void cut(std::uint32_t host) { set_port(host, "0"); }

  void heal(std::uint32_t host) { set_port(host, "3"); }

  // Both directions lose and delay packets from now on: at random where the kernel can, else what
  // comes in bursts. What it does is said.
  std::string disturb(std::uint32_t host) {
    const std::vector<std::string> at_random = {
        "netem", "delay", "2ms", "2ms", "loss", "2%", "reorder", "5%"};
    // Some packets of a burst find no room: what TCP sends in the first round trip is more.
    const std::vector<std::string> in_bursts = {
        "tbf", "rate", "2mbit", "burst", "1600", "limit", "2kb"};
    const std::string said = qdisc(port(host), at_random) ? "netem" : "tbf";
    const auto& chosen = said == "netem" ? at_random : in_bursts;
    if (said == "tbf" && !qdisc(port(host), chosen)) {
      return "nothing";
    }
    return on(host, [&] { return qdisc("eth0", chosen); }) ? said : "nothing";
  }

  // Packets that were lost on the way to the host.
  std::uint64_t lost(std::uint32_t host) {
    ChildOptions options;
    options.arguments = {"tc", "-s", "qdisc", "show", "dev", port(host)};
    options.capture_output = true;
    auto child = ChildProcess::start(options);
    const std::string text = child.ok() ? child.value().read_all(kToolPatience) : "";
    const std::size_t at = text.find("(dropped ");
    return at == std::string::npos ? 0 : std::stoull(text.substr(at + std::strlen("(dropped ")));
  }

 private:
  static constexpr std::chrono::milliseconds kToolPatience{30'000};

  static int own_namespace() { return ::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC); }

  static std::string port(std::uint32_t host) { return "port" + std::to_string(host); }

  int enter_another() {
    if (::unshare(CLONE_NEWNET) != 0) {
      obstacle_ = std::string{"no network namespace: "} + std::strerror(errno);
    }
    return own_namespace();
  }

  void go_to(int space) {
    if (::setns(space, CLONE_NEWNET) != 0 && obstacle_.empty()) {
      obstacle_ = std::string{"cannot enter a network namespace: "} + std::strerror(errno);
    }
  }

  void add(std::uint32_t host) {
    hosts_.push_back(enter_another());
    const std::string hub = "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(hub_);
    run({"ip", "link", "set", "lo", "up"});
    run({"ip", "link", "add", "eth0", "type", "veth", "peer", "name", port(host), "netns", hub});
    run({"ip", "addr", "add", address(host) + "/24", "dev", "eth0"});
    run({"ip", "link", "set", "eth0", "up"});
    go_to(hub_);
    run({"ip", "link", "set", port(host), "master", "gcoord", "up"});
  }

  void set_port(std::uint32_t host, const char* state) {
    run({"bridge", "link", "set", "dev", port(host), "state", state});
  }

  static bool qdisc(const std::string& device, const std::vector<std::string>& what) {
    std::vector<std::string> arguments = {"tc", "qdisc", "replace", "dev", device, "root"};
    arguments.insert(arguments.end(), what.begin(), what.end());
    return succeeds(arguments);
  }

  // What it says on stderr is not kept: that something cannot be done here is no failure.
  static bool succeeds(const std::vector<std::string>& arguments) {
    ChildOptions options;
    options.arguments = arguments;
    options.error_file = "/dev/null";
    auto child = ChildProcess::start(options);
    return child.ok() && child.value().wait_for(kToolPatience) == 0;
  }

  void run(const std::vector<std::string>& arguments) {
    if (obstacle_.empty() && !succeeds(arguments)) {
      obstacle_ = "this failed:";
      for (const std::string& word : arguments) {
        obstacle_ += " " + word;
      }
    }
  }

  std::string obstacle_;
  int before_ = -1;
  int hub_ = -1;
  std::vector<int> hosts_;
};

}  // namespace gcoord::cli
