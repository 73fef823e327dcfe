// Three real nodes with TLS on every port, and their users, for tests of who may do what.
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
  // The flags of each node beside its file, and those of `cluster init` beside --with-tls.
  explicit TrustTest(Words flags = {}, Words init = {})
      : flags_(std::move(flags)), init_(std::move(init)) {}

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
                        "16"};
    const Finished made = run("gcoordctl", joined(init, init_));
    ASSERT_EQ(made.code, 0) << made.err;
    init_said_ = made.err;
    for (int node = 1; node <= 3; ++node) {
      const Words config = {"--config", made_file("node-" + std::to_string(node) + ".toml")};
      auto child = ChildProcess::start(program("gcoordd", joined(config, flags_)));
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
    for (int k = 1; k <= 3; ++k) {
      if (node == 0 || node == k) {
        endpoints += (endpoints.empty() ? "" : ",") + std::string("127.0.0.1:") +
                     std::to_string(port_ + k - 1);
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
    return done.error_code() == "GC6518" || done.error_code() == "GC6561";
  }

  void refused(const Words& who, const Words& what, const std::string& code) const {
    const Finished done = as(who, what);
    EXPECT_EQ(done.code, 4) << done.out << done.err;
    EXPECT_EQ(done.error_code(), code) << done.out;
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
  std::string init_said_;
  const ScratchFolder folder_;
  std::uint16_t port_ = 0;
  std::vector<ChildProcess> nodes_;
};

}  // namespace gcoord::cli
