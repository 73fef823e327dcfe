// Both ends of a join socket refuse a process of another user.
#include "netcore/transport/fd_socket.h"

#include "tests/scratch_folder.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <functional>
#include <string>

namespace gcoord::netcore {
namespace {

constexpr int kPatienceMs = 60'000;
constexpr uid_t kOther = 61234;

// A process of another user; ends with 0 if `body` is true.
pid_t as_other(const std::function<bool()>& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::_exit(::setuid(kOther) == 0 && body() ? 0 : 1);
  }
  return child;
}

int code_of(pid_t child) {
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

class FdSocketTest : public testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) {
      GTEST_SKIP() << "needs root for a second user";
    }
    std::filesystem::permissions(folder_.path(), std::filesystem::perms{0777});
  }

  const ScratchFolder folder_;
  const std::string path_ = folder_.path("s");
};

TEST_F(FdSocketTest, ACallerOfAnotherUserIsRefused) {
  const auto listener = listen_at(path_);
  ASSERT_TRUE(listener.ok()) << listener.status().to_string();
  // Where the file's own rights do not keep it out already.
  ASSERT_EQ(::chmod(path_.c_str(), 0666), 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path_.c_str(), sizeof(address.sun_path) - 1);
  const pid_t caller = as_other([&] {
    const int fd = ::socket(AF_UNIX, SOCK_SEQPACKET, 0);
    char byte = 0;
    return ::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0 &&
           ::recv(fd, &byte, 1, 0) <= 0;  // It is hung up on.
  });
  EXPECT_EQ(accept_at(listener.value(), kPatienceMs).status().code(), StatusCode::PermissionDenied);
  EXPECT_EQ(code_of(caller), 0);
}

TEST_F(FdSocketTest, AListenerOfAnotherUserIsRefused) {
  int ready[2] = {};
  int done[2] = {};
  ASSERT_EQ(::pipe(ready), 0);
  ASSERT_EQ(::pipe(done), 0);
  const pid_t stranger = as_other([&] {
    ::close(done[1]);
    const auto listener = listen_at(path_);
    char byte = 0;
    return listener.ok() && ::write(ready[1], "r", 1) == 1 && ::read(done[0], &byte, 1) == 0;
  });
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  EXPECT_EQ(call_at(path_, kPatienceMs).status().code(), StatusCode::PermissionDenied);
  ::close(done[1]);
  EXPECT_EQ(code_of(stranger), 0);
  for (const int fd : {ready[0], ready[1], done[0]}) {
    ::close(fd);
  }
}

}  // namespace
}  // namespace gcoord::netcore
