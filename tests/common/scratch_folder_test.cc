#include "tests/scratch_folder.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

namespace gcoord {
namespace {

// A process that holds a folder until it is killed.
class Holder {
 public:
  explicit Holder(const std::filesystem::path& parent) {
    std::array<int, 2> pipe{};
    EXPECT_EQ(::pipe(pipe.data()), 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      hold(parent, pipe[1]);
    }
    ::close(pipe[1]);
    std::array<char, 4096> told{};
    const ssize_t count = ::read(pipe[0], told.data(), told.size());
    ::close(pipe[0]);
    folder_ = std::string(told.data(), count > 0 ? static_cast<std::size_t>(count) : 0);
  }

  ~Holder() { kill(); }

  Holder(const Holder&) = delete;
  Holder& operator=(const Holder&) = delete;

  const std::filesystem::path& folder() const { return folder_; }

  void kill() {
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
      pid_ = 0;
    }
  }

 private:
  [[noreturn]] static void hold(const std::filesystem::path& parent, int tell) {
    const ScratchFolder folder{parent};
    std::ofstream{folder.path("file")} << "text";
    const std::string path = folder.path().string();
    if (::write(tell, path.data(), path.size()) < 0) {
      ::_exit(1);
    }
    while (true) {
      ::pause();
    }
  }

  pid_t pid_ = 0;
  std::filesystem::path folder_;
};

TEST(ScratchFolder, GoesAwayWithItsObject) {
  const ScratchFolder parent;
  std::filesystem::path gone;
  {
    const ScratchFolder folder{parent.path() / "made" / "too"};
    const ScratchFolder other{parent.path() / "made" / "too"};
    EXPECT_NE(folder.path(), other.path());
    gone = folder.path();
    std::ofstream{folder.path("file")} << "text";
    EXPECT_TRUE(std::filesystem::exists(gone / "file"));
    EXPECT_TRUE(std::filesystem::exists(other.path()));
  }
  EXPECT_FALSE(std::filesystem::exists(gone));
}

TEST(ScratchFolder, WhatAKilledProcessLeftIsWipedByTheNextAndWhatOthersHoldStays) {
  const ScratchFolder parent;
  const std::filesystem::path of_somebody = parent.path() / "of-somebody";
  std::filesystem::create_directory(of_somebody);
  Holder killed{parent.path()};
  Holder lives{parent.path()};
  const ScratchFolder mine{parent.path()};
  EXPECT_TRUE(std::filesystem::exists(killed.folder() / "file"));
  killed.kill();
  EXPECT_TRUE(std::filesystem::exists(killed.folder() / "file")) << "nobody came yet";
  const ScratchFolder next{parent.path()};
  EXPECT_FALSE(std::filesystem::exists(killed.folder()));
  EXPECT_TRUE(std::filesystem::exists(lives.folder() / "file"));
  EXPECT_TRUE(std::filesystem::exists(mine.path()));
  EXPECT_TRUE(std::filesystem::exists(of_somebody));
}

// A socket's path has 107 bytes.
TEST(ScratchFolder, ItsNameIsShort) {
  const ScratchFolder folder;
  EXPECT_EQ(folder.path().filename().string().size(), 8u);
  EXPECT_EQ(folder.path().parent_path(), ScratchFolder::scratch_parent());
}

}  // namespace
}  // namespace gcoord
