// Real nodes, mostly three, with TLS on every port, and their users, for tests of who may do what.
#pragma once

#include "tests/cli/cluster/cluster_ports.h"
#include "tests/cli/programs.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

namespace gcoord::cli {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

inline Words joined(Words first, const Words& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

inline void write_private(const fs::path& path, const std::string& text) {
  std::ofstream(path) << text << "\n";
  fs::permissions(path, fs::perms::owner_read | fs::perms::owner_write);
}

class TrustTest : public testing::Test {
 protected:
  using Environment = std::vector<std::pair<std::string, std::string>>;

  // The flags of each node beside its file, and those of `cluster init` beside --with-tls.
  explicit TrustTest(Words flags = {}, Words init = {}, int nodes = 3)
      : flags_(std::move(flags)), init_(std::move(init)), count_(nodes) {}

  void SetUp() override {
    port_ = first_port();
    ASSERT_NE(port_, 0);
    const Words init = {"cluster",
                        "init",
                        "--with-tls",
                        "--dir",
                        folder_.path() / "made",
                        "--client-port",
                        std::to_string(port_),
                        "--shards",
                        "16",
                        "--nodes",
                        std::to_string(count_)};
    const Finished made = run("gcoordctl", joined(init, init_));
    ASSERT_EQ(made.code, 0) << made.err;
    init_said_ = made.err;
    start_nodes({});
  }

  // All of them, node k with the k-th of these environments, where there is one.
  void start_nodes(const std::vector<Environment>& environments) {
    nodes_.clear();
    for (int node = 1; node <= count_; ++node) {
      const Words config = {"--config", made_file("node-" + std::to_string(node) + ".toml")};
      ChildOptions options = program("gcoordd", joined(config, flags_));
      if (nodes_.size() < environments.size()) {
        const Environment& more = environments[nodes_.size()];
        options.environment.insert(options.environment.end(), more.begin(), more.end());
      }
      auto child = ChildProcess::start(options);
      ASSERT_TRUE(child.ok());
      nodes_.push_back(std::move(child).value());
    }
    for (ChildProcess& node : nodes_) {
      ASSERT_TRUE(node.read_line(kPatience).has_value());
    }
  }

  std::string made_file(const std::string& name) const { return folder_.path() / "made" / name; }

  // All nodes, or the one of this number.
  Ctl ctl(int node = 0) const {
    std::string endpoints;
    for (int k = 1; k <= count_; ++k) {
      if (node == 0 || node == k) {
        endpoints += (endpoints.empty() ? "" : ",") + host_ + ":" + std::to_string(port_ + k - 1);
      }
    }
    return Ctl{endpoints};
  }

  // With time that only bounds a failure.
  Words nobody() const {
    return {"-o", "json", "--timeout", "1m", "--cacert", made_file("ca.crt")};
  }

  Words admin() const {
    return joined(nobody(), {"--cert", made_file("admin.crt"), "--key", made_file("admin.key")});
  }

  Words bob() const {
    return joined(nobody(), {"--user", "bob", "--password-file", folder_.path() / "bob.pw"});
  }

  Finished as(const Words& who, const Words& what, int node = 0) const {
    return ctl(node)(joined(who, what));
  }

  // Tried again while the nodes do not know each other's releases yet, which is so at the start,
  // and while one has not confirmed the newest roles, which a machine without time may be late
  // with.
  void must(const Words& who, const Words& what) const {
    Finished done = as(who, what);
    for (int tries = 0; tries < 100 && is_early(done); ++tries) {
      done = as(who, what);
    }
    EXPECT_EQ(done.code, 0) << done.out << done.err;
  }

  static bool is_early(const Finished& done) {
    const std::string code = done.error_code();
    return code == "GC6518" || code == "GC6561" || code == "GC6746";
  }

  void refused(const Words& who, const Words& what, const std::string& code) const {
    const Finished done = as(who, what);
    EXPECT_EQ(done.code, 4) << done.out << done.err;
    EXPECT_EQ(done.error_code(), code) << done.out;
  }

  // With a certificate, which costs less than a password.
  void add_certified(const std::string& user, const std::string& role) const {
    const Finished issued =
        run("gcoordctl",
            {"cert", "issue", "user", user, "--dir", made_file("ca"), "--out", made_file(user)});
    ASSERT_EQ(issued.code, 0) << issued.err;
    must(admin(), {"user", "add", user, "--role", role, "--no-password"});
  }

  Words certified(const std::string& user) const {
    return joined(nobody(),
                  {"--cert", made_file(user + ".crt"), "--key", made_file(user + ".key")});
  }

  // Rights on, and bob with a password and a role over jobs/.
  void enable() const {
    write_private(folder_.path() / "bob.pw", "a password of bob's");
    must(admin(), {"user", "add", "admin", "--role", "root", "--no-password"});
    must(admin(), {"auth", "enable"});
    must(admin(), {"role", "add", "jobs", "read", "write", "details", "--prefix", "jobs/"});
    must(admin(),
         {"user", "add", "bob", "--role", "jobs", "--password-file", folder_.path() / "bob.pw"});
  }

  const Words flags_;
  const Words init_;
  const int count_;
  std::string host_ = "127.0.0.1";
  std::string init_said_;
  const ScratchFolder folder_;
  std::uint16_t port_ = 0;
  std::vector<ChildProcess> nodes_;
};

}  // namespace gcoord::cli
