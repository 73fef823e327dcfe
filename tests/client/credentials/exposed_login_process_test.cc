// A password beyond loopback, by gcoordctl and by Python, against a real node that takes TLS and
// plain TCP.
#include "tests/cli/programs.h"
#include "tests/own_address.h"
#include "tests/source_dir.h"

#include <gmock/gmock.h>

#include <csignal>

namespace gcoord::cli {
namespace {

using testing::HasSubstr;
using Words = std::vector<std::string>;

Words joined(Words first, const Words& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

class ExposedLoginProcessTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto beyond = own_address_beyond_loopback();
    if (!beyond) {
      GTEST_SKIP() << "this machine has no address beyond loopback";
    }
    const std::string secret = folder_.path() / "secret";
    ASSERT_EQ(run("gcoordctl", {"cluster", "secret", "new", secret}).code, 0);
    ChildOptions options = program("gcoordd",
                                   {"dev",
                                    "--insecure",
                                    "--cluster-secret",
                                    secret,
                                    "--listen-client",
                                    *beyond + ":0",
                                    "--shards",
                                    "4",
                                    "--data-dir",
                                    (folder_.path() / "data").string()});
    options.error_file = (folder_.path() / "stderr").string();
    auto child = ChildProcess::start(options);
    ASSERT_TRUE(child.ok());
    node_.emplace(std::move(child).value());
    std::istringstream words(node_->read_line(kPatience).value_or(""));
    std::string skipped;
    words >> skipped >> skipped >> skipped >> endpoint_;
    ASSERT_THAT(endpoint_, HasSubstr(*beyond)) << file_text(folder_.path() / "stderr");
    password_ = folder_.path() / "bob.pw";
    std::ofstream(password_) << "a password of bob's\n";
    std::filesystem::permissions(
        password_, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  }

  void TearDown() override {
    if (node_) {
      node_->signal(SIGTERM);
      EXPECT_EQ(node_->wait_for(kPatience), 0);
    }
  }

  // With time that only bounds a failure.
  Finished ask(const Words& words, const Words& variables = {}) const {
    ChildOptions options = program(
        "gcoordctl", joined({"-o", "json", "--timeout", "1m", "--endpoints", endpoint_}, words));
    options.environment = {{"GCOORD_ENDPOINTS", ""},
                           {"GCOORD_CONTEXT", ""},
                           {"XDG_CONFIG_HOME", folder_.path().string()}};
    for (const std::string& name : variables) {
      options.environment.emplace_back(name, "true");
    }
    auto child = ChildProcess::start(options);
    EXPECT_TRUE(child.ok());
    Finished finished;
    finished.out = child.value().read_all(kPatience);
    finished.code = child.value().wait_for(kPatience).value_or(-1);
    return finished;
  }

  Words over_tls() const {
    return {"--cacert", (folder_.path() / "data" / "tls" / "ca.crt").string()};
  }

  Words bob() const { return {"--user", "bob", "--password-file", password_}; }

  // A node that has just begun does not know yet whether all know of users (GC6518).
  void add_bob(const Words& how) const {
    const Words words = joined(how, {"user", "add", "bob", "--password-file", password_});
    Finished done = ask(words);
    for (int tries = 0; tries < 100 && done.error_code() == "GC6518"; ++tries) {
      done = ask(words);
    }
    EXPECT_EQ(done.code, 0) << done.out;
  }

  int python(const std::string& script) const {
    ChildOptions options;
    options.arguments = {GCOORD_PYTHON, "-c", script, endpoint_};
    options.environment = {
        {"PYTHONDONTWRITEBYTECODE", "1"},
        {"PYTHONPATH", in_sources("client/python")},
        {"GCOORD_CLIENT_LIBRARY", std::string{GCOORD_BUILD_DIR} + "/lib/libgcoord_client.so.0"}};
    auto child = ChildProcess::start(options);
    EXPECT_TRUE(child.ok());
    return child.value().wait_for(kPatience).value_or(-1);
  }

  const ScratchFolder folder_;
  std::optional<ChildProcess> node_;
  std::string endpoint_;
  std::string password_;
};

TEST_F(ExposedLoginProcessTest, IsRefusedUnlessTheUserAllowsIt) {
  const Words add = {"user", "add", "bob", "--password-file", password_};
  const Finished set = ask(add);
  EXPECT_EQ(set.code, 2) << set.out;
  EXPECT_EQ(set.error_code(), "GC6685") << set.out;
  add_bob(over_tls());
  EXPECT_EQ(ask(joined(joined(over_tls(), bob()), {"whoami"})).json()["name"], "bob");

  const Words whoami = joined(bob(), {"whoami"});
  const Finished refused = ask(whoami);
  EXPECT_EQ(refused.code, 2) << refused.out;
  EXPECT_EQ(refused.error_code(), "GC6685") << refused.out;
  EXPECT_THAT(refused.out, HasSubstr("--insecure-credentials"));
  EXPECT_EQ(ask(joined({"--insecure-credentials"}, whoami)).json()["name"], "bob");
  EXPECT_EQ(ask(whoami, {"GCOORD_INSECURE_CREDENTIALS"}).json()["name"], "bob");
  EXPECT_EQ(ask({"lock", "ls"}).code, 0) << "nothing is shown";

  ASSERT_EQ(ask({"--insecure-credentials", "context", "set", "open"}).code, 0);
  EXPECT_EQ(ask(whoami).json()["name"], "bob") << "the context in use allows it";
  const auto shown = ask({"context", "show"}).json();
  EXPECT_EQ(shown["insecure-credentials"], "true");
  EXPECT_EQ(shown["insecure-credentials_from"], "context");
}

TEST_F(ExposedLoginProcessTest, PythonRefusesAndAllowsIt) {
  add_bob(over_tls());
  EXPECT_EQ(python(R"(
import asyncio, sys, gcoord, gcoord.aio
who = dict(user="bob", password="a password of bob's", connect_timeout=60, request_timeout=60)
for allowed in (False, True):
    try:
        with gcoord.Client(sys.argv[1], insecure_credentials=allowed, **who) as client:
            assert allowed and client.identity().name == "bob"
    except gcoord.GcoordError as refused:
        assert not allowed and refused.number == 6685, refused

async def main():
    async with gcoord.aio.Client(sys.argv[1], insecure_credentials=True, **who):
        pass

asyncio.run(main())
)"),
            0);
}

}  // namespace
}  // namespace gcoord::cli
