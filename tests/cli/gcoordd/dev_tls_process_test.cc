// `gcoordd dev` speaks TLS by itself, and plain text besides.
#include "tests/cli/programs.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <csignal>

namespace gcoord::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

class DevTls : public testing::Test {
 protected:
  // It serves; what it says to people is in said().
  ChildProcess start(const std::vector<std::string>& more = {}) {
    ChildOptions options = program("gcoordd",
                                   {"dev",
                                    "--listen-client",
                                    "127.0.0.1:0",
                                    "--shards",
                                    "4",
                                    "--data-dir",
                                    (folder_.path() / "data").string()});
    options.arguments.insert(options.arguments.end(), more.begin(), more.end());
    options.error_file = (folder_.path() / "stderr").string();
    auto child = ChildProcess::start(options);
    EXPECT_TRUE(child.ok());
    std::istringstream words(child.value().read_line(kPatience).value_or(""));
    std::string skipped;
    words >> skipped >> skipped >> skipped >> endpoint_;
    return std::move(child).value();
  }

  static void stop(ChildProcess node) {
    node.signal(SIGTERM);
    EXPECT_EQ(node.wait_for(kPatience), 0);
  }

  std::string said() const { return file_text(folder_.path() / "stderr"); }

  std::string file(const std::string& name) const {
    return (folder_.path() / "data" / "tls" / name).string();
  }

  Finished as_admin(std::vector<std::string> words) const {
    words.insert(words.begin(),
                 {"-o",
                  "json",
                  "--cacert",
                  file("ca.crt"),
                  "--cert",
                  file("admin.crt"),
                  "--key",
                  file("admin.key")});
    return Ctl{endpoint_}(words);
  }

  const ScratchFolder folder_;
  std::string endpoint_;
};

TEST_F(DevTls, ServesBothAndSaysHow) {
  ChildProcess node = start();
  EXPECT_EQ(Ctl{endpoint_}({"lock", "ls"}).code, 0);
  EXPECT_EQ(Ctl{endpoint_}({"-o", "json", "--tls", "lock", "ls"}).error_code(), "GC3103");
  // The line comes after the one that says that the node is ready.
  for (int tries = 0; tries < 1000 && said().find("GCOORD_KEY") == std::string::npos; ++tries) {
    EXPECT_EQ(Ctl{endpoint_}({"lock", "ls"}).code, 0);
  }
  EXPECT_THAT(said(), HasSubstr("export GCOORD_CACERT=" + file("ca.crt")));
  EXPECT_THAT(said(), HasSubstr("export GCOORD_CERT=" + file("admin.crt")));
  const std::string authority = file_text(file("ca.crt"));
  node.signal(SIGHUP);
  EXPECT_EQ(as_admin({"lock", "ls"}).code, 0);
  stop(std::move(node));

  // The certificate is of the user that may switch rights on.
  node = start();
  EXPECT_EQ(as_admin({"user", "add", "admin", "--role", "root", "--no-password"}).code, 0);
  EXPECT_EQ(as_admin({"auth", "enable"}).code, 0);
  EXPECT_EQ(as_admin({"lock", "ls"}).code, 0);
  EXPECT_EQ(Ctl{endpoint_}({"-o", "json", "lock", "ls"}).error_code(), "GC6560");
  stop(std::move(node));

  node = start({"--client-tls", "required"});
  EXPECT_EQ(file_text(file("ca.crt")), authority);
  EXPECT_EQ(Ctl{endpoint_}({"-o", "json", "lock", "ls"}).error_code(), "GC3113");
  EXPECT_EQ(as_admin({"lock", "ls"}).code, 0);
  node.signal(SIGHUP);
  EXPECT_EQ(as_admin({"lock", "ls"}).code, 0);
  stop(std::move(node));
}

TEST_F(DevTls, IsOffOnRequest) {
  ChildProcess node = start({"--client-tls", "off"});
  EXPECT_EQ(Ctl{endpoint_}({"lock", "ls"}).code, 0);
  EXPECT_FALSE(std::filesystem::exists(file("")));
  EXPECT_THAT(said(), Not(HasSubstr("GCOORD_CACERT")));
  stop(std::move(node));
}

}  // namespace
}  // namespace gcoord::cli
