// The client library as others have it: installed, found, linked, and run against three nodes.
#include "chaos/process/local_cluster.h"
#include "chaos/process/own_path.h"
#include "common/comma_list.h"
#include "common/host/child_process.h"
#include "tests/scratch_folder.h"
#include "tests/source_dir.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>

namespace gcoord::client {
namespace {

// No test waits longer than this for anything; it only bounds a failure.
constexpr std::chrono::milliseconds kPatience{300'000};

const std::filesystem::path kSource = in_sources("");
const std::filesystem::path kBuild = GCOORD_BUILD_DIR;

struct Finished {
  int code = -1;
  std::string out;  // stdout and stderr.
};

Finished run(const std::string& command) {
  ChildOptions options;
  options.arguments = {"/bin/sh", "-c", "exec 2>&1; " + command};
  options.capture_output = true;
  auto child = ChildProcess::start(options);
  EXPECT_TRUE(child.ok()) << child.status().to_string();
  Finished finished;
  if (child.ok()) {
    finished.out = child.value().read_all(kPatience);
    finished.code = child.value().wait_for(kPatience).value_or(-1);
  }
  return finished;
}

std::string quoted(const std::filesystem::path& path) {
  return "'" + path.string() + "'";
}

// A folder of a fixed name, so that compiling the same again costs the cache little; made anew.
std::filesystem::path fresh_folder(const std::string& name) {
  const std::filesystem::path folder = kBuild / "package-test" / name;
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  return folder;
}

class InstalledPackage : public testing::Test {
 protected:
  void install(const std::string& name) {
    folder_ = fresh_folder(name);
    prefix_ = folder_ / "prefix";
    const Finished installed = run(std::string{GCOORD_CMAKE} + " --install " + quoted(kBuild) +
                                   " --component client --prefix " + quoted(prefix_));
    ASSERT_EQ(installed.code, 0) << installed.out;
  }

  void start_nodes() {
    chaos::LocalClusterOptions options;
    options.program = chaos::program_beside("gcoordd");
    options.directory = directory_.path();
    options.shards = 256;
    auto planned = chaos::LocalCluster::plan(options);
    ASSERT_TRUE(planned.ok()) << planned.status().to_string();
    cluster_.emplace(std::move(planned).value());
    const Status started = cluster_->start_all(kPatience);
    ASSERT_TRUE(started.ok()) << started.to_string();
    const std::string endpoints = comma_list(cluster_->endpoints());
    // Programs that are started below inherit it.
    setenv("GCOORD_ENDPOINTS", endpoints.c_str(), 1);
  }

  std::filesystem::path library() const { return prefix_ / GCOORD_LIBRARY_DIR; }

  std::filesystem::path folder_;
  std::filesystem::path prefix_;
  const ScratchFolder directory_;
  std::optional<chaos::LocalCluster> cluster_;
};

TEST_F(InstalledPackage, ItsExamplesAreBuiltWithCMakeAndRunAgainstThreeNodes) {
  install("cmake");
  // It may be moved: nothing in it knows where it was installed.
  const std::filesystem::path moved = folder_ / "moved";
  std::filesystem::rename(prefix_, moved);
  const std::filesystem::path build = folder_ / "examples";
  const Finished built = run(std::string{GCOORD_CMAKE} + " -G Ninja -S " +
                             quoted(kSource / "client/examples") + " -B " + quoted(build) +
                             " -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH=" + quoted(moved) +
                             " -DCMAKE_CXX_COMPILER=" + quoted(GCOORD_CXX_COMPILER) +
                             " -DCMAKE_CXX_COMPILER_LAUNCHER='" GCOORD_COMPILER_LAUNCHER "' && " +
                             GCOORD_CMAKE + " --build " + quoted(build));
  ASSERT_EQ(built.code, 0) << built.out;
  start_nodes();
  for (const char* name : {"check_token",
                           "check_token_static",
                           "coroutines",
                           "elected_leader",
                           "event_loop_from_c",
                           "lease_with_events",
                           "lock_from_c",
                           "lock_with_fence",
                           "pipelined_names",
                           "sessions_from_c"}) {
    const Finished finished = run(quoted(build / name));
    EXPECT_EQ(finished.code, 0) << name << ": " << finished.out;
    EXPECT_FALSE(finished.out.empty()) << name << " says what it has done";
  }
}

TEST_F(InstalledPackage, PkgConfigSaysHowToCompileAndLink) {
  install("pkg-config");
  start_nodes();
  const std::string pkg_config =
      "PKG_CONFIG_PATH=" + quoted(library() / "pkgconfig") + " pkg-config ";
  const auto compile = [&](const std::string& flags, const std::string& program) {
    return run(std::string{GCOORD_CXX_COMPILER} + " -std=c++20 " +
               quoted(kSource / "client/examples/check_token.cc") + " -o " +
               quoted(folder_ / program) + " $(" + pkg_config + flags + ")");
  };
  const Finished shared = compile("--cflags --libs gcoord", "shared");
  ASSERT_EQ(shared.code, 0) << shared.out;
  const Finished run_shared =
      run("LD_LIBRARY_PATH=" + quoted(library()) + " " + quoted(folder_ / "shared"));
  EXPECT_EQ(run_shared.code, 0) << run_shared.out;

  std::filesystem::remove(library() / "libgcoord_client.so");
  const Finished linked = compile("--cflags --libs --static gcoord", "static");
  ASSERT_EQ(linked.code, 0) << linked.out;
  const Finished run_static = run(quoted(folder_ / "static"));
  EXPECT_EQ(run_static.code, 0) << run_static.out;
}

// Every dynamic symbol that the library defines is of its interface.
TEST_F(InstalledPackage, TheSharedLibraryShowsItsInterfaceAndNothingElse) {
  install("symbols");
  const Finished named =
      run("nm -D --defined-only -C " + quoted(library() / "libgcoord_client.so"));
  ASSERT_EQ(named.code, 0) << named.out;
  std::istringstream lines(named.out);
  int symbol_count = 0;
  for (std::string line; std::getline(lines, line);) {
    const std::string symbol = line.substr(line.find(' ', line.find(' ') + 1) + 1);
    ++symbol_count;
    EXPECT_THAT(symbol,
                testing::MatchesRegex(
                    "(gcoord_[a-z_]+"
                    "|((vtable|typeinfo|typeinfo name) for )?gcoord::client::"
                    "(Client|Clock|Election|Group|GroupViews|LeaderStream|Lease|Lock|MultiLock|"
                    "Rendezvous|RendezvousStates|"
                    "Session|Status|"
                    "Watch)(::.*)?"
                    "|gcoord::client::(boot_clock|blocked_in_callback)\\(\\)"
                    "|gcoord::client::parse_health_check\\(.*\\)"
                    "|gcoord::client::(event|previous)_name\\(.*\\))(\\[abi:cxx11\\].*)?"));
    EXPECT_THAT(symbol, testing::Not(testing::HasSubstr("Impl::")));
  }
  EXPECT_GT(symbol_count, 80);
}

TEST_F(InstalledPackage, TheSharedLibraryNeedsTheRuntimeAndOpensslOnly) {
  install("needed");
  const Finished needed =
      run("readelf -d " + quoted(library() / "libgcoord_client.so") + " | grep NEEDED");
  ASSERT_EQ(needed.code, 0) << needed.out;
  std::istringstream lines(needed.out);
  for (std::string line; std::getline(lines, line);) {
    EXPECT_THAT(line,
                testing::ContainsRegex(
                    "(lib(c|m|resolv|gcc_s|stdc\\+\\+|crypto|ssl)|ld-linux[-a-z0-9_]*)\\.so"));
  }
}

std::string python() {
  return "PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=" + quoted(kSource / "client/python") + " " +
         GCOORD_PYTHON;
}

TEST_F(InstalledPackage, ThePythonPackageKeepsItsPromisesAgainstThreeNodes) {
  install("python");
  start_nodes();
  const Finished finished =
      run("TMPDIR=" + quoted(directory_.path()) +
          " GCOORD_CLIENT_LIBRARY=" + quoted(library() / "libgcoord_client.so.0") + " " + python() +
          " -m unittest discover -v -s " + quoted(kSource / "tests/client/python"));
  EXPECT_EQ(finished.code, 0) << finished.out;
  EXPECT_THAT(finished.out, testing::ContainsRegex("Ran [1-9][0-9]* tests")) << finished.out;
}

TEST_F(InstalledPackage, TheTypesOfThePythonPackageAreStrict) {
  if (run("command -v mypy").code != 0) {
    GTEST_SKIP() << "mypy is missing (Debian: mypy)";
  }
  const std::filesystem::path folder = fresh_folder("types");
  const std::string mypy =
      "cd " + quoted(kSource / "client/python") +
      " && mypy --strict --python-version 3.9 --cache-dir=" + quoted(folder / "cache") + " gcoord ";
  const Finished checked = run(mypy + quoted(kSource / "client/examples") + "/*.py");
  EXPECT_EQ(checked.code, 0) << checked.out;
  // A program that takes a coroutine for a lock is found.
  const std::filesystem::path wrong = folder / "wrong.py";
  std::ofstream{wrong} << "import gcoord.aio\n"
                          "async def fence_of(session: gcoord.aio.Session) -> int:\n"
                          "    return session.acquire('a').fence\n";
  const Finished found = run(mypy + quoted(wrong));
  EXPECT_EQ(found.code, 1) << found.out;
  EXPECT_THAT(found.out, testing::HasSubstr("has no attribute \"fence\"")) << found.out;
}

// The folder of flit_core, of this Python or of Debian's package flit; empty when there is none.
std::string flit_core() {
  for (const char* interpreter : {GCOORD_PYTHON, "/usr/bin/python3"}) {
    const Finished found = run(std::string{interpreter} +
                               " -c 'import flit_core; print(flit_core.__path__[0], end=\"\")'");
    if (found.code == 0) {
      return found.out;
    }
  }
  return "";
}

TEST_F(InstalledPackage, PipBuildsAWheelOfThePythonPackageAndInstallsItWithoutANetwork) {
  install("pip");
  const std::filesystem::path environment = folder_ / "venv";
  const Finished made = run(std::string{GCOORD_PYTHON} + " -m venv " + quoted(environment));
  if (made.code != 0) {
    GTEST_SKIP() << "python3 -m venv does not work here (Debian: python3-venv): " << made.out;
  }
  const std::string backend = flit_core();
  if (backend.empty()) {
    GTEST_SKIP() << "the build backend flit_core is missing (Debian: flit)";
  }
  start_nodes();
  // Copies, so that nothing is written into the source tree and nothing else of Debian's is seen.
  const std::filesystem::path copy = folder_ / "source";
  std::filesystem::copy(kSource / "client/python", copy, std::filesystem::copy_options::recursive);
  std::filesystem::create_directories(folder_ / "backend");
  std::filesystem::create_directory_symlink(backend, folder_ / "backend/flit_core");
  const std::string pip = quoted(environment / "bin/pip") + " --disable-pip-version-check ";
  const Finished built = run("PYTHONPATH=" + quoted(folder_ / "backend") + " " + pip +
                             "wheel --no-index --no-deps --no-build-isolation -w " +
                             quoted(folder_ / "wheels") + " " + quoted(copy));
  ASSERT_EQ(built.code, 0) << built.out;
  const Finished installed =
      run(pip + "install --no-index " + quoted(folder_ / "wheels") + "/gcoord-*-py3-none-any.whl");
  ASSERT_EQ(installed.code, 0) << installed.out;
  const Finished shown = run(pip + "show --verbose gcoord");
  EXPECT_THAT(shown.out, testing::HasSubstr("Typing :: Typed"));
  for (const char* example : {"lock_with_fence.py", "several_locks.py", "locks_with_asyncio.py"}) {
    const Finished finished = run("cd / && LD_LIBRARY_PATH=" + quoted(library()) + " " +
                                  quoted(environment / "bin/python") + " " +
                                  quoted(kSource / "client/examples" / example));
    EXPECT_EQ(finished.code, 0) << example << ": " << finished.out;
  }
}

}  // namespace
}  // namespace gcoord::client
