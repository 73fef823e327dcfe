// Which backend a node takes, where the kernel forbids io_uring as many containers do.
#include "server/client_io/open_backend.h"

#include "server/client_io/client_sockets.h"

#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdlib>

namespace gcoord::server {
namespace {

// Where a filter finds the number of the system call (seccomp(2)).
constexpr std::uint32_t kCallNumber = 0;

// From now on this process gets EPERM for it, as in a container.
bool forbid_io_uring() {
  std::array<sock_filter, 4> filter = {{
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, kCallNumber),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_io_uring_setup, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  }};
  const sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

constexpr int kNoFilters = 77;

[[noreturn]] void end(bool right) {
  std::_Exit(right ? 0 : 1);
}

// How a child has ended that has right, or none where the system lets it set no filter.
auto right_or(bool& skipped) {
  return [&skipped](int status) {
    skipped = WIFEXITED(status) && WEXITSTATUS(status) == kNoFilters;
    return skipped || (WIFEXITED(status) && WEXITSTATUS(status) == 0);
  };
}

TEST(OpenBackend, EpollIsThereAndIsNoFallbackWhereItIsWished) {
  const auto opened = open_backend(IoBackendWish::Epoll);
  ASSERT_TRUE(opened.ok()) << opened.status().to_string();
  EXPECT_EQ(opened.value().backend->name(), "epoll");
  EXPECT_EQ(opened.value().fallback_reason, "");
}

TEST(OpenBackend, WhereIoUringIsForbiddenAutoIsEpollAndSaysWhy) {
  const auto check = [] {
    if (!forbid_io_uring()) {
      std::_Exit(kNoFilters);
    }
    const auto opened = open_backend(IoBackendWish::Auto);
    end(opened.ok() && opened.value().backend->name() == "epoll" &&
        opened.value().fallback_reason.find("not permitted") != std::string::npos);
  };
  bool skipped = false;
  EXPECT_EXIT(check(), right_or(skipped), "");
  if (skipped) {
    GTEST_SKIP() << "no filters of system calls here";
  }
}

TEST(OpenBackend, WhereIoUringIsForbiddenWhoWishesItIsRefused) {
  const auto check = [] {
    if (!forbid_io_uring()) {
      std::_Exit(kNoFilters);
    }
    const auto opened = open_backend(IoBackendWish::IoUring);
    end(opened.status().code() == StatusCode::FailedPrecondition);
  };
  bool skipped = false;
  EXPECT_EXIT(check(), right_or(skipped), "");
  if (skipped) {
    GTEST_SKIP() << "no filters of system calls here";
  }
}

TEST(UsualIoThreads, SmallHostsHaveNoneAndLargeOnesAFew) {
  EXPECT_EQ(usual_io_threads(1), 0u);
  EXPECT_EQ(usual_io_threads(7), 0u);
  EXPECT_EQ(usual_io_threads(8), 1u);
  EXPECT_EQ(usual_io_threads(16), 2u);
  EXPECT_EQ(usual_io_threads(32), 4u);
  EXPECT_EQ(usual_io_threads(256), 4u);
}

}  // namespace
}  // namespace gcoord::server
