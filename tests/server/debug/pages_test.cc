// Pages for supporters: what they show, who may have a profile, and that those which take their
// time hold nobody up.
#include "server/debug/pages.h"

#include "common/json/text.h"

#include <dlfcn.h>
#include <gmock/gmock.h>

#include <cstring>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

namespace gcoord::server {
namespace {

using testing::HasSubstr;

HttpRequest page(const std::string& path, const std::string& seconds = "") {
  HttpRequest request{.path = path, .arguments = {}};
  if (!seconds.empty()) {
    request.arguments.push_back({"seconds", seconds});
  }
  return request;
}

DebugPagesOptions options() {
  return {.node = NodeId{3},
          .cluster = ClusterId{77},
          .cluster_name = "prod",
          .incarnation = Incarnation{9},
          .texts = {.configuration = [] { return "shards = 16\n"; },
                    .recent_log = [] { return "a line\n"; }}};
}

DebugPagesOptions with_profiler(const std::string& file) {
  DebugPagesOptions with = options();
  with.cpu_profiles = true;
  with.profiler_file = file;
  return with;
}

// Returns when the fake profiler runs.
void wait_for_profiler() {
  void* library = ::dlopen(GCOORD_FAKE_PROFILER, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << ::dlerror();
  const auto runs = reinterpret_cast<bool (*)()>(::dlsym(library, "fake_profiler_runs"));
  ASSERT_NE(runs, nullptr);
  while (!runs()) {
    std::this_thread::yield();
  }
}

TEST(DebugPagesTest, ConfigurationAndLogAreThoseOfTheProcess) {
  DebugPages pages(options());
  EXPECT_EQ(pages.answer(page("/debug/config")).body, "shards = 16\n");
  EXPECT_EQ(pages.answer(page("/debug/log")).body, "a line\n");
  EXPECT_EQ(pages.answer(page("/debug/logs")).status, 404);
  EXPECT_EQ(pages.answer(page("/debug/")).status, 404);
}

TEST(DebugPagesTest, WhatAProcessDoesNotTellIsNoPage) {
  DebugPages pages({});
  EXPECT_EQ(pages.answer(page("/debug/config")).status, 404);
  EXPECT_EQ(pages.answer(page("/debug/log")).status, 404);
}

TEST(DebugPagesTest, TheBuildNamesTheNodeItsClusterAndItsMachine) {
  DebugPages pages(options());
  const Json build = parse_json(pages.answer(page("/debug/build")).body);
  EXPECT_EQ(build["node"].dump(), "3");
  EXPECT_EQ(build.value("cluster_id", std::string{}), "77");
  EXPECT_EQ(build.value("cluster_name", std::string{}), "prod");
  EXPECT_EQ(build["incarnation"].dump(), "9");
  for (const char* name : {"version", "compiler", "c_library", "kernel", "machine", "wall_ms"}) {
    EXPECT_NE(build.value(name, std::string{}), "") << name;
  }
}

TEST(DebugPagesTest, ThreadsAreSampledForAsLongAsIsSaid) {
  DebugPages pages(options());
  const HttpAnswer answer = pages.answer(page("/debug/threads", "1"));
  ASSERT_EQ(answer.status, 200);
  const Json told = parse_json(answer.body);
  EXPECT_EQ(told["seconds"].dump(), "1");
  EXPECT_EQ(told["looks"].dump(), "11");
  EXPECT_GE(told["threads"].size(), 1u);
}

TEST(DebugPagesTest, SecondsAreANumberOfOneToThirty) {
  DebugPages pages(with_profiler(GCOORD_FAKE_PROFILER));
  for (const char* seconds : {"0", "31", "-1", "1.5", "5s", "99999999999999999999", " 1"}) {
    EXPECT_EQ(pages.answer(page("/debug/threads", seconds)).status, 400) << seconds;
    EXPECT_EQ(pages.answer(page("/debug/profile", seconds)).status, 400) << seconds;
  }
}

TEST(DebugPagesTest, AProfileIsMadeOnlyWhereItIsAllowed) {
  DebugPages pages(options());
  const HttpAnswer answer = pages.answer(page("/debug/profile", "1"));
  EXPECT_EQ(answer.status, 403);
  EXPECT_THAT(answer.body, HasSubstr("--cpu-profiles"));
}

TEST(DebugPagesTest, AProfileIsWhatTheLibraryWrites) {
  DebugPages pages(with_profiler(GCOORD_FAKE_PROFILER));
  for (int time = 0; time < 2; ++time) {
    const HttpAnswer answer = pages.answer(page("/debug/profile", "1"));
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.body, "begun ended");
  }
}

TEST(DebugPagesTest, ALibraryThatIsMissingOrAnotherIsNamed) {
  DebugPages absent(with_profiler("libno_such_profiler.so.0"));
  const HttpAnswer answer = absent.answer(page("/debug/profile", "1"));
  EXPECT_EQ(answer.status, 501);
  EXPECT_THAT(answer.body, HasSubstr("install libgoogle-perftools4"));
  DebugPages another(with_profiler("libm.so.6"));
  EXPECT_THAT(another.answer(page("/debug/profile", "1")).body, HasSubstr("no ProfilerStart"));
}

TEST(DebugPagesTest, OneTakesItsTimeAndTheOthersAreRefusedAtOnceAndAStopEndsIt) {
  DebugPages pages(with_profiler(GCOORD_FAKE_PROFILER));
  HttpAnswer first;
  std::thread thread([&] { first = pages.answer(page("/debug/profile", "30")); });
  wait_for_profiler();
  for (const char* path : {"/debug/profile", "/debug/threads"}) {
    const HttpAnswer second = pages.answer(page(path, "30"));
    EXPECT_EQ(second.status, 503) << path;
    EXPECT_THAT(second.body, HasSubstr("one at a time"));
  }
  EXPECT_EQ(pages.answer(page("/debug/log")).status, 200);
  pages.stop();
  thread.join();
  EXPECT_EQ(first.status, 503);
  EXPECT_EQ(first.body, "the node stops\n");
  EXPECT_EQ(pages.answer(page("/debug/threads", "30")).body, "the node stops\n");
}

TEST(DebugPagesTest, ASampleEndsWhenItsClientGoes) {
  DebugPages pages(with_profiler(GCOORD_FAKE_PROFILER));
  std::stop_source client;
  HttpRequest request = page("/debug/profile", "30");
  request.gone = client.get_token();
  std::thread thread([&] { pages.answer(request); });
  wait_for_profiler();
  client.request_stop();
  thread.join();
  for (const char* path : {"/debug/profile", "/debug/threads"}) {
    request.path = path;  // Gone before its turn came.
    EXPECT_EQ(pages.answer(request).status, 503) << path;
  }
  EXPECT_EQ(pages.answer(page("/debug/threads", "1")).status, 200);
}

TEST(DebugPagesTest, AHeadSamplesNothing) {
  DebugPages pages(with_profiler(GCOORD_FAKE_PROFILER));
  for (const char* path : {"/debug/profile", "/debug/threads"}) {
    HttpRequest request = page(path, "30");
    request.head = true;
    EXPECT_EQ(pages.answer(request).status, 405) << path;
  }
}

TEST(DebugPagesTest, GperftoolsMakesAProfileThatPprofReads) {
  if (const auto library = open_profiler_library(); !library.ok()) {
    GTEST_SKIP() << library.status().message();
  }
  DebugPages pages(with_profiler(kProfilerFile));
  std::jthread busy([](const std::stop_token& stop) {
    volatile std::uint64_t sum = 0;
    while (!stop.stop_requested()) {
      sum = sum + 1;
    }
  });
  const HttpAnswer answer = pages.answer(page("/debug/profile", "1"));
  ASSERT_EQ(answer.status, 200) << answer.body;
  // Words of 64 bits: no count, three words of header behind these two, version 0, the period in
  // microseconds, a filler; and at the end what was mapped where.
  ASSERT_GE(answer.body.size(), 5 * sizeof(std::uint64_t));
  std::uint64_t header[5];
  std::memcpy(header, answer.body.data(), sizeof(header));
  EXPECT_EQ(header[0], 0u);
  EXPECT_EQ(header[1], 3u);
  EXPECT_EQ(header[2], 0u);
  EXPECT_GT(header[3], 0u);
  EXPECT_THAT(answer.body, HasSubstr("libc.so.6"));
}

}  // namespace
}  // namespace gcoord::server
