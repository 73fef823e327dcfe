// Users, roles, limits, keys of sessions and hidden holders by the libraries of C, C++ and Python,
// against three nodes with TLS where everybody proves who they are.
#include "client/net/failure.h"
#include "common/comma_list.h"
#include "gcoord/client.h"
#include "gcoord/gcoord_access.h"
#include "gcoord/gcoord_async.h"
#include "gcoord/gcoord_limits.h"
#include "gcoord/gcoord_sessions.h"
#include "gcoord/gcoord_watch.h"
#include "tests/cli/access/trust_cluster.h"
#include "tests/source_dir.h"

#include <array>
#include <chrono>
#include <future>
#include <string>
#include <utility>

namespace gcoord::client {
namespace {

using cli::kPatience;

class LibrariesTrustTest : public cli::TrustTest {
 protected:
  explicit LibrariesTrustTest(cli::Words flags = {}) : TrustTest(std::move(flags)) {}

  std::string endpoints() const {
    std::vector<std::string> all;
    for (int node = 0; node < 3; ++node) {
      all.push_back("127.0.0.1:" + std::to_string(port_ + node));
    }
    return comma_list(all);
  }

  // A Python program with the library of this build.
  ChildOptions python(const cli::Words& arguments) const {
    ChildOptions options;
    options.arguments = cli::joined({GCOORD_PYTHON}, arguments);
    options.environment = {
        {"PYTHONDONTWRITEBYTECODE", "1"},
        {"PYTHONPATH", in_sources("client/python")},
        {"GCOORD_CLIENT_LIBRARY", std::string{GCOORD_BUILD_DIR} + "/lib/libgcoord_client.so.0"},
        {"GCOORD_ENDPOINTS", endpoints()},
        {"GCOORD_CACERT", made_file("ca.crt")},
        {"GCOORD_CERT", made_file("admin.crt")},
        {"GCOORD_KEY", made_file("admin.key")}};
    options.error_file = folder_.path() / "python.err";
    return options;
  }

  void expect_success(gcoord::Result<ChildProcess> child) const {
    ASSERT_TRUE(child.ok()) << child.status().to_string();
    EXPECT_EQ(child.value().wait_for(kPatience).value_or(-1), 0)
        << cli::file_text(folder_.path() / "python.err");
  }

  // As the operator with the certificate, or as a user with a password.
  gcoord_client* connect(const char* user, const char* password) const {
    const std::string all = endpoints();
    const std::string cacert = made_file("ca.crt");
    const std::string cert = made_file("admin.crt");
    const std::string key = made_file("admin.key");
    gcoord_client_options options;
    gcoord_client_options_init(&options);
    options.endpoints = all.c_str();
    options.cacert = cacert.c_str();
    options.cert = user == nullptr ? cert.c_str() : nullptr;
    options.key = user == nullptr ? key.c_str() : nullptr;
    options.user = user;
    options.password = password;
    options.connect_timeout_ms = kPatience.count();
    options.request_timeout_ms = kPatience.count();
    gcoord_client* client = nullptr;
    gcoord_error error{};
    EXPECT_EQ(gcoord_client_connect(&options, &client, &error), GCOORD_OK) << error.message;
    return client;
  }

  // The number of the refusal; 0: it was done, and every node has applied it.
  static std::uint32_t changed(gcoord_client* client, const gcoord_access_change& change) {
    gcoord_error error{};
    gcoord_access_report* report = nullptr;
    if (gcoord_change_access(client, &change, &report, &error) != GCOORD_OK) {
      return error.number;
    }
    const std::uint64_t epoch = gcoord_access_report_facts(report).epoch;
    gcoord_access_report_free(report);
    for (std::uint32_t node = 1; node <= 3; ++node) {
      while (epoch_at(client, node) < epoch) {
      }
    }
    return 0;
  }

  static std::uint64_t epoch_at(gcoord_client* client, std::uint32_t node) {
    gcoord_access_query query;
    gcoord_access_query_init(&query);
    query.node_id = node;
    gcoord_access_report* report = nullptr;
    gcoord_error error{};
    if (gcoord_access(client, &query, &report, &error) != GCOORD_OK) {
      ADD_FAILURE() << error.message;
      return ~std::uint64_t{0};
    }
    const std::uint64_t epoch = gcoord_access_report_facts(report).epoch;
    gcoord_access_report_free(report);
    return epoch;
  }

  static gcoord_access_change change_of(int32_t action, const char* name) {
    gcoord_access_change change;
    gcoord_access_change_init(&change);
    change.action = action;
    change.name = name;
    return change;
  }

  static std::uint32_t give_roles(gcoord_client* client, const char* user, const char* password) {
    const char* const role = "jobs";
    gcoord_access_change change = change_of(GCOORD_ACCESS_USER_ADD, user);
    change.password = password;
    change.roles = &role;
    change.role_count = 1;
    return changed(client, change);
  }

  static void make_users(gcoord_client* admin);
  static void expect_listed(gcoord_client* admin);
  static void expect_bob(gcoord_client* bob);
  void release_by_key(gcoord_session* session, std::uint64_t fence) const;
  static void expect_origins(gcoord_client* admin, std::uint64_t id);
};

// Bob, who may read and write below jobs/ without its details.
void LibrariesTrustTest::make_users(gcoord_client* admin) {
  const char* root = "root";
  gcoord_access_change change = change_of(GCOORD_ACCESS_USER_ADD, "admin");
  change.roles = &root;
  change.role_count = 1;
  EXPECT_EQ(changed(admin, change), 0u);
  EXPECT_EQ(changed(admin, change), 6502u);
  EXPECT_EQ(changed(admin, change_of(GCOORD_ACCESS_ENABLE, nullptr)), 0u);

  const std::array<const char*, 2> rights{"read", "write"};
  const gcoord_access_grant grant{rights.data(), rights.size(), "jobs/", false};
  change = change_of(GCOORD_ACCESS_ROLE_ADD, "jobs");
  change.grants = &grant;
  change.grant_count = 1;
  EXPECT_EQ(changed(admin, change), 0u);
  EXPECT_EQ(give_roles(admin, "bob", "a password of bob's"), 0u);
  change.grants = nullptr;
  EXPECT_EQ(changed(admin, change), 1002u);
  EXPECT_EQ(changed(admin, change_of(14, "bob")), 1001u);
}

void LibrariesTrustTest::expect_listed(gcoord_client* admin) {
  gcoord_error error{};
  gcoord_access_query query;
  gcoord_access_query_init(&query);
  query.subject = GCOORD_ACCESS_USERS;
  query.name = "bob";
  gcoord_access_report* report = nullptr;
  ASSERT_EQ(gcoord_access(admin, &query, &report, &error), GCOORD_OK) << error.message;
  EXPECT_TRUE(gcoord_access_report_facts(report).enabled);
  ASSERT_EQ(gcoord_access_report_users(report), 1u);
  const gcoord_access_user user = gcoord_access_report_user(report, 0);
  EXPECT_STREQ(user.name, "bob");
  ASSERT_EQ(user.role_count, 1u);
  EXPECT_STREQ(user.roles[0], "jobs");
  EXPECT_EQ(gcoord_access_report_user(report, 1).name, nullptr);
  gcoord_access_report_free(report);

  query.subject = GCOORD_ACCESS_ROLES;
  query.name = "jobs";
  std::promise<gcoord_access_report*> coming;
  const gcoord_access_callback callback =
      [](void* to, gcoord_access_report* came, const gcoord_error*) {
        static_cast<std::promise<gcoord_access_report*>*>(to)->set_value(came);
      };
  ASSERT_EQ(gcoord_access_async(admin, &query, callback, &coming, &error), GCOORD_OK);
  report = coming.get_future().get();
  ASSERT_EQ(gcoord_access_report_roles(report), 1u);
  const gcoord_access_role role = gcoord_access_report_role(report, 0);
  ASSERT_EQ(role.grant_count, 2u);  // What is of the whole cluster first.
  EXPECT_STREQ(role.grants[0].prefix, "");
  EXPECT_STREQ(role.grants[1].prefix, "jobs/");
  EXPECT_GT(role.grants[1].right_count, 0u);
  gcoord_access_report_free(report);
}

void LibrariesTrustTest::expect_bob(gcoord_client* bob) {
  gcoord_error error{};
  gcoord_identity* identity = nullptr;
  ASSERT_EQ(gcoord_client_identity(bob, &identity, &error), GCOORD_OK);
  EXPECT_STREQ(gcoord_identity_kind(identity), "user");
  EXPECT_STREQ(gcoord_identity_name(identity), "bob");
  EXPECT_STRNE(gcoord_identity_token(identity), "");
  EXPECT_GT(gcoord_identity_token_left_ms(identity), 0);
  gcoord_identity_free(identity);
}

// Another client releases what is held under the token, with the key of its session.
void LibrariesTrustTest::release_by_key(gcoord_session* session, std::uint64_t fence) const {
  gcoord_error error{};
  std::array<char, GCOORD_SESSION_KEY_ROOM> key{};
  EXPECT_EQ(gcoord_session_key(session, key.data(), 5, &error), GCOORD_INVALID_ARGUMENT);
  ASSERT_EQ(gcoord_session_key(session, key.data(), key.size(), &error), GCOORD_OK);
  EXPECT_STRNE(key.data(), "");
  gcoord_client* const other = connect("bob", "a password of bob's");
  gcoord_session_options how;
  gcoord_session_options_init(&how);
  how.session_id = gcoord_session_id(session);
  gcoord_session* attached = nullptr;
  ASSERT_EQ(gcoord_session_attach(other, &how, false, 1, &attached, &error), GCOORD_OK);
  gcoord_lock* none = nullptr;
  EXPECT_NE(gcoord_lock_acquire(attached, "jobs/other", 0, &none, &error), GCOORD_OK);
  EXPECT_EQ(error.number, 6541u) << error.message;
  gcoord_session_detach(attached);  // Else its end would close the session.
  gcoord_session_free(attached);
  how.session_key = key.data();
  ASSERT_EQ(gcoord_session_attach(other, &how, false, 1, &attached, &error), GCOORD_OK);
  EXPECT_EQ(gcoord_session_release(attached, "jobs/c", fence, &error), GCOORD_OK) << error.message;
  gcoord_session_detach(attached);
  gcoord_session_free(attached);
  gcoord_client_free(other);
}

void LibrariesTrustTest::expect_origins(gcoord_client* admin, std::uint64_t id) {
  gcoord_error error{};
  gcoord_origins* origins = nullptr;
  // The note of a session follows its first entry.
  while (gcoord_session_origins(admin, &id, 1, &origins, &error) == GCOORD_OK &&
         gcoord_origins_size(origins) == 0) {
    gcoord_origins_free(origins);
  }
  ASSERT_EQ(gcoord_origins_size(origins), 1u) << error.message;
  EXPECT_STREQ(gcoord_origins_get(origins, 0).principal, "bob");
  gcoord_origins_free(origins);
  ASSERT_EQ(gcoord_holder_origins(admin, "jobs/d", &origins, &error), GCOORD_OK) << error.message;
  EXPECT_EQ(gcoord_origins_get(origins, 0).session_id, id);
  gcoord_origins_free(origins);
}

TEST_F(LibrariesTrustTest, CHasEveryVerbAndPassesOnTheKeyOfASession) {
  gcoord_client* const admin = connect(nullptr, nullptr);
  make_users(admin);
  expect_listed(admin);
  gcoord_client* const bob = connect("bob", "a password of bob's");
  expect_bob(bob);
  EXPECT_EQ(changed(bob, change_of(GCOORD_ACCESS_USER_DELETE, "admin")), 6560u);

  gcoord_error error{};
  gcoord_session* session = nullptr;
  gcoord_lock* lock = nullptr;
  ASSERT_EQ(gcoord_session_open(bob, 60'000, nullptr, nullptr, &session, &error), GCOORD_OK);
  ASSERT_EQ(gcoord_lock_acquire(session, "jobs/c", 0, &lock, &error), GCOORD_OK) << error.message;
  release_by_key(session, gcoord_lock_fence(lock));
  gcoord_lock_free(lock);
  // Without lock.read.details nobody is shown who holds a name, be it oneself.
  ASSERT_EQ(gcoord_lock_acquire(session, "jobs/d", 0, &lock, &error), GCOORD_OK) << error.message;
  gcoord_holder holder{};
  ASSERT_EQ(gcoord_get(bob, "jobs/d", &holder, &error), GCOORD_OK) << error.message;
  EXPECT_EQ(holder.session_id, GCOORD_HIDDEN_SESSION);
  EXPECT_EQ(holder.token, 0u);
  expect_origins(admin, gcoord_session_id(session));

  gcoord_lock_free(lock);
  gcoord_session_free(session);
  gcoord_client_free(bob);
  gcoord_client_free(admin);
}

TEST_F(LibrariesTrustTest, CSetsLimitsAndDenies) {
  enable();
  gcoord_client* const admin = connect(nullptr, nullptr);
  gcoord_error error{};
  gcoord_limits_change change;
  gcoord_limits_change_init(&change);
  change.limit.name = "bob";
  change.limit.rate = 100;
  change.limit.burst = 200;
  change.session_ttl_ms_max = 20'000;
  gcoord_limits_report* report = nullptr;
  ASSERT_EQ(gcoord_change_limits(admin, &change, &report, &error), GCOORD_OK) << error.message;
  EXPECT_EQ(gcoord_limits_report_facts(report).limit_count, 1u);
  gcoord_limits_report_free(report);
  gcoord_limits_change_init(&change);
  change.action = GCOORD_LIMITS_DENY;
  change.denial.scope = GCOORD_DENIAL_NETWORK;
  change.denial.name = "192.0.2.0/24";
  change.denial.reason = "runs wild";
  change.duration_ms = 600'000;
  ASSERT_EQ(gcoord_change_limits(admin, &change, nullptr, &error), GCOORD_OK) << error.message;
  gcoord_limits_query query;
  gcoord_limits_query_init(&query);
  ASSERT_EQ(gcoord_limits(admin, &query, &report, &error), GCOORD_OK) << error.message;
  ASSERT_EQ(gcoord_limits_report_limits(report), 1u);
  EXPECT_STREQ(gcoord_limits_report_limit(report, 0).name, "bob");
  EXPECT_EQ(gcoord_limits_report_limit(report, 0).rate, 100u);
  EXPECT_EQ(gcoord_limits_report_session_ttl_ms_max(report, 0), 20'000u);
  EXPECT_EQ(gcoord_limits_report_session_ttl_ms_max(report, 1), 0u);
  gcoord_limits_report_free(report);
  query.denials = true;
  ASSERT_EQ(gcoord_limits(admin, &query, &report, &error), GCOORD_OK) << error.message;
  ASSERT_EQ(gcoord_limits_report_denials(report), 1u);
  EXPECT_STREQ(gcoord_limits_report_denial(report, 0).reason, "runs wild");
  EXPECT_GT(gcoord_limits_report_denial(report, 0).until_ms, 0u);
  gcoord_limits_report_free(report);
  change.limit.scope = 256;
  EXPECT_EQ(gcoord_change_limits(admin, &change, nullptr, &error), GCOORD_INVALID_ARGUMENT);
  gcoord_client_free(admin);
}

TEST_F(LibrariesTrustTest, PythonKeepsItsPromises) {
  expect_success(ChildProcess::start(
      python({"-m", "unittest", "discover", "-v", "-s", in_sources("tests/client/python/trust")})));
}

// Nodes end a connection with the token that proved it.
class ShortTokensTest : public LibrariesTrustTest {
 protected:
  ShortTokensTest() : LibrariesTrustTest({"--token-life", "5s"}) {}

  static std::string token_of(gcoord_client* client) {
    gcoord_error error{};
    gcoord_identity* identity = nullptr;
    EXPECT_EQ(gcoord_client_identity(client, &identity, &error), GCOORD_OK) << error.message;
    std::string token = gcoord_identity_token(identity);
    gcoord_identity_free(identity);
    return token;
  }

  static gcoord_watch* watch_grants(gcoord_client* client, const char* name) {
    gcoord_error error{};
    gcoord_watch_options options;
    gcoord_watch_options_init(&options);
    options.name = name;
    options.kinds = 1u << GCOORD_EVENT_GRANTED;
    gcoord_watch* watch = nullptr;
    EXPECT_EQ(gcoord_watch_open(client, &options, &watch, &error), GCOORD_OK) << error.message;
    return watch;
  }

  // The next event is the grant of this token.
  static void expect_seen(gcoord_watch* watch, std::uint64_t token) {
    gcoord_error error{};
    gcoord_batch* batch = nullptr;
    ASSERT_EQ(gcoord_watch_next(watch, kPatience.count(), &batch, &error), GCOORD_OK)
        << error.message;
    EXPECT_EQ(gcoord_batch_size(batch), 1u);
    EXPECT_EQ(gcoord_batch_event(batch, 0).token, token);
    gcoord_batch_free(batch);
  }
};

// By requests without a pause, for half as long again as a token lasts, each of which a watch sees.
TEST_F(ShortTokensTest, ClientsInCAndPythonOutliveTheirTokensAndNoRequestFails) {
  enable();
  auto child = ChildProcess::start(python({"-c", R"(
import os, time, gcoord
patience = dict(connect_timeout=60, request_timeout=60)
with gcoord.Client(os.environ["GCOORD_ENDPOINTS"], cacert=os.environ["GCOORD_CACERT"], user="bob",
                   password="a password of bob's", **patience) as client:
    first, end = client.identity().token, time.monotonic() + 7.5
    with client.open_session(60) as session:
        while time.monotonic() < end:
            session.acquire("jobs/python").release()
    assert client.identity().token != first
)"}));
  gcoord_client* const bob = connect("bob", "a password of bob's");
  const std::string first = token_of(bob);
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds{7500};
  gcoord_error error{};
  gcoord_session* session = nullptr;
  ASSERT_EQ(gcoord_session_open(bob, 60'000, nullptr, nullptr, &session, &error), GCOORD_OK);
  gcoord_watch* const watch = watch_grants(bob, "jobs/c");
  while (std::chrono::steady_clock::now() < end && !HasFailure()) {
    gcoord_lock* lock = nullptr;
    ASSERT_EQ(gcoord_lock_acquire(session, "jobs/c", 0, &lock, &error), GCOORD_OK) << error.message;
    expect_seen(watch, gcoord_lock_fence(lock));
    EXPECT_EQ(gcoord_lock_release(lock, &error), GCOORD_OK) << error.message;
    gcoord_lock_free(lock);
  }
  EXPECT_NE(token_of(bob), first);
  gcoord_watch_free(watch);
  gcoord_session_free(session);
  gcoord_client_free(bob);
  expect_success(std::move(child));
}

}  // namespace
}  // namespace gcoord::client
