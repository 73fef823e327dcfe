// What tests of snapshots ask of a cluster before it is saved, of the file, and of the cluster that
// is made of it.
#pragma once

#include "chaos/process/local_cluster.h"
#include "common/comma_list.h"
#include "tests/cli/programs.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace gcoord::cli {

// By name: what `lock acquire` said.
using Grants = std::map<std::string, nlohmann::json>;

inline std::uint64_t number(const nlohmann::json& json, const char* field) {
  return std::stoull(json.value(field, std::string{"0"}));
}

inline Ctl ctl_of(const chaos::LocalCluster& cluster) {
  return Ctl{comma_list(cluster.endpoints())};
}

// Locks by gcoordctl, each call with this --timeout.
struct LockCalls {
  std::string timeout;

  nlohmann::json acquire(const Ctl& ctl, const std::string& name) const {
    return ctl.json({"--timeout", timeout, "lock", "acquire", name, "--ttl", "1h", "--try"});
  }

  void release(const Ctl& ctl, const std::string& name, const nlohmann::json& grant) const {
    const Finished released = ctl({"--timeout",
                                   timeout,
                                   "lock",
                                   "release",
                                   name,
                                   "--session",
                                   grant.value("session", ""),
                                   "--token",
                                   grant.value("token", "")});
    EXPECT_EQ(released.code, 0) << released.err;
  }

  std::string verdict(const Ctl& ctl, const std::string& name, const std::string& token) const {
    const Finished checked =
        ctl({"-o", "json", "--timeout", timeout, "lock", "check", name, "--token", token});
    return checked.json().value("verdict", checked.out + checked.err);
  }

  // What the save had is there, under the same tokens, and higher ones are granted than `lost`, of
  // the lock held-0 after the save. What it grants of that lock then.
  nlohmann::json expect_restored(const Ctl& ctl,
                                 const Grants& held,
                                 const nlohmann::json& lost) const {
    for (const auto& [name, grant] : held) {
      EXPECT_EQ(verdict(ctl, name, grant.value("token", "")), "VALID") << name;
      const nlohmann::json row = ctl.json({"--timeout", timeout, "lock", "get", name});
      EXPECT_EQ(row.value("token", ""), grant.value("token", "-")) << row.dump();
      EXPECT_EQ(row.value("session", ""), grant.value("session", "-")) << row.dump();
    }
    EXPECT_EQ(verdict(ctl, "held-0", lost.value("token", "")), "STALE");
    release(ctl, "held-0", held.at("held-0"));
    const nlohmann::json next = acquire(ctl, "held-0");
    EXPECT_GT(number(next, "token"), number(lost, "token"));
    EXPECT_GT(number(next, "epoch"), number(lost, "epoch"));
    EXPECT_EQ(verdict(ctl, "held-0", held.at("held-0").value("token", "")), "STALE");
    return next;
  }
};

// That `snapshot inspect` says of the file what the save said, of so many locks or more.
inline void expect_whole(const std::string& file, const nlohmann::json& saved, std::size_t locks) {
  const Finished inspected = run("gcoordctl", {"-o", "json", "snapshot", "inspect", file});
  EXPECT_EQ(inspected.code, 0) << inspected.out << inspected.err;
  EXPECT_EQ(inspected.json().value("sha256", ""), saved.value("sha256", "-"));
  EXPECT_GE(number(inspected.json(), "locks"), locks);
  EXPECT_TRUE(inspected.json().value("ledger", false)) << "the frontiers of the trees";
}

// Makes the directories of a new cluster of three of the file, one by one, for the turn if one is
// named. The new cluster's id.
inline std::string restore_all(const std::string& file,
                               const chaos::LocalCluster& fresh,
                               const std::optional<std::string>& turn = std::nullopt) {
  std::string id;
  for (std::uint32_t node = 1; node <= 3; ++node) {
    std::vector<std::string> words = {"-o",
                                      "json",
                                      "snapshot",
                                      "restore",
                                      file,
                                      "--data-dir",
                                      fresh.data_directory(node).string(),
                                      "--node",
                                      std::to_string(node),
                                      "--nodes",
                                      "1,2,3"};
    if (turn) {
      words.insert(words.end(), {"--turn", *turn});
    }
    const Finished restored = run("gcoordctl", words);
    EXPECT_EQ(restored.code, 0) << restored.out << restored.err;
    if (turn) {
      EXPECT_EQ(restored.json().value("turn", ""), *turn);
    }
    const std::string told = restored.json().value("cluster_id", "");
    EXPECT_TRUE(id.empty() || told == id) << "nodes restored alike belong together";
    id = told;
  }
  return id;
}

}  // namespace gcoord::cli
