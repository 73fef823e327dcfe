// Runs gcoordd and gcoordctl as processes, the way operators do.
#pragma once

#include "chaos/process/own_path.h"
#include "common/host/child_process.h"
#include "tests/scratch_folder.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

namespace gcoord::cli {

// No test waits longer than this for anything; it only bounds a failure.
inline constexpr std::chrono::milliseconds kPatience{60'000};

struct Finished {
  int code = -1;
  std::string out;
  std::string err;

  // stdout as JSON; a discarded value when it is none.
  nlohmann::json json() const { return nlohmann::json::parse(out, nullptr, false); }

  // The GC number of a JSON error.
  std::string error_code() const {
    const nlohmann::json value = json();
    return value.contains("error") ? value["error"].value("code", "") : "";
  }
};

inline std::string file_text(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

inline ChildOptions program(const std::string& name, std::vector<std::string> arguments) {
  ChildOptions options;
  options.arguments = {chaos::program_beside(name).string()};
  options.arguments.insert(options.arguments.end(), arguments.begin(), arguments.end());
  options.capture_output = true;
  // Whoever runs the tests has contexts, and may have chosen one.
  options.environment = {
      {"GCOORD_ENDPOINTS", ""}, {"GCOORD_CONTEXT", ""}, {"XDG_CONFIG_HOME", "/nonexistent"}};
  return options;
}

// Runs a program to its end.
inline Finished run(const std::string& name, const std::vector<std::string>& arguments) {
  const ScratchFolder directory;
  ChildOptions options = program(name, arguments);
  options.error_file = (directory.path() / "stderr").string();
  auto child = ChildProcess::start(options);
  EXPECT_TRUE(child.ok()) << child.status().to_string();
  Finished finished;
  if (child.ok()) {
    finished.out = child.value().read_all(kPatience);
    finished.code = child.value().wait_for(kPatience).value_or(-1);
  }
  finished.err = file_text(directory.path() / "stderr");
  return finished;
}

// gcoordctl with the endpoints of a cluster.
class Ctl {
 public:
  explicit Ctl(std::string endpoints) : endpoints_(std::move(endpoints)) {}

  std::vector<std::string> with_endpoints(const std::vector<std::string>& arguments) const {
    std::vector<std::string> all = {"--endpoints", endpoints_};
    all.insert(all.end(), arguments.begin(), arguments.end());
    return all;
  }

  Finished operator()(const std::vector<std::string>& arguments) const {
    return run("gcoordctl", with_endpoints(arguments));
  }

  // With -o json; the answer must be one object.
  nlohmann::json json(std::vector<std::string> arguments, int code = 0) const {
    arguments.insert(arguments.begin(), {"-o", "json"});
    const Finished finished = (*this)(arguments);
    EXPECT_EQ(finished.code, code) << finished.out << finished.err;
    const nlohmann::json value = finished.json();
    EXPECT_TRUE(value.is_object()) << finished.out;
    return value;
  }

  // Started and left running, its output captured.
  ChildProcess start(const std::vector<std::string>& arguments) const {
    auto child = ChildProcess::start(program("gcoordctl", with_endpoints(arguments)));
    EXPECT_TRUE(child.ok());
    return std::move(child).value();
  }

 private:
  std::string endpoints_;
};

// `gcoordd dev` on a port of its own.
class DevNode {
 public:
  explicit DevNode(const std::vector<std::string>& more = {},
                   const std::string& election_ms = "100") {
    std::vector<std::string> arguments = {"dev",
                                          "--listen-client",
                                          "127.0.0.1:0",
                                          "--shards",
                                          "16",
                                          "--election-ms",
                                          election_ms,
                                          "--heartbeat-ms",
                                          "20",
                                          "--tick-ms",
                                          "5"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    ChildOptions options = program("gcoordd", arguments);
    options.environment.emplace_back("TMPDIR", folder_.path().string());
    auto child = ChildProcess::start(options);
    EXPECT_TRUE(child.ok());
    child_.emplace(std::move(child).value());
    const auto line = child_->read_line(kPatience);
    EXPECT_TRUE(line.has_value());
    // "gcoordd ready: client HOST:PORT peer HOST:PORT metrics HOST:PORT [ledger HOST:PORT]"
    std::istringstream words(line.value_or(""));
    std::string skipped;
    words >> skipped >> skipped >> skipped >> endpoint_ >> skipped >> skipped >> skipped >>
        metrics_ >> skipped >> ledger_;
  }

  const std::string& endpoint() const { return endpoint_; }

  const std::string& metrics() const { return metrics_; }

  // Empty without --listen-ledger.
  const std::string& ledger() const { return ledger_; }

  Ctl ctl() const { return Ctl(endpoint_); }

  ChildProcess& child() { return *child_; }

 private:
  const ScratchFolder folder_;  // Where it puts its data.
  std::optional<ChildProcess> child_;
  std::string endpoint_;
  std::string metrics_;
  std::string ledger_;
};

}  // namespace gcoord::cli
