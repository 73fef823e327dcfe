#include "server/debug/thread_samples.h"

#include "tests/scratch_folder.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <fstream>
#include <latch>
#include <string>
#include <thread>

namespace gcoord::server {
namespace {

using testing::SizeIs;

constexpr const char* kStat =
    "73 (a) b (c) S 1 73 73 0 -1 4194560 100 0 0 0 250 50 0 0 20 0 9 0 7 8192 3 "
    "18446744073709551615";

TEST(TaskStatTest, ANameMayHaveBlanksAndBrackets) {
  const auto facts = parse_task_stat(kStat);
  ASSERT_TRUE(facts.has_value());
  EXPECT_EQ(facts->id, 73u);
  EXPECT_EQ(facts->name, "a) b (c");
  EXPECT_EQ(facts->state, 'S');
  EXPECT_EQ(facts->user_ticks, 250u);
  EXPECT_EQ(facts->system_ticks, 50u);
}

TEST(TaskStatTest, WhatIsNoneIsRefused) {
  const std::string whole = kStat;
  for (const std::string& text : {std::string{},
                                  std::string{"73"},
                                  std::string{"(a) S 1"},
                                  std::string{") a ( S"},
                                  std::string{"x (a) S 1 2 3 4 5 6 7 8 9 10 11 12 13"},
                                  whole.substr(0, whole.find(" 50 ")),
                                  std::string{"1 (a) S 1 2 3 4 5 6 7 8 9 10 -1 12 13"}}) {
    EXPECT_FALSE(parse_task_stat(text).has_value()) << text;
  }
}

TEST(ThreadSamplesTest, FilesThatAKernelDoesNotHaveAreAbsent) {
  const ScratchFolder proc;
  std::filesystem::create_directories(proc.path() / "task" / "73");
  std::filesystem::create_directories(proc.path() / "task" / "74");  // It ended meanwhile.
  std::ofstream(proc.path() / "task" / "73" / "stat") << kStat;
  auto tasks = read_tasks(proc.path());
  ASSERT_THAT(tasks, SizeIs(1));
  EXPECT_FALSE(tasks[0].queued_ns.has_value());
  EXPECT_EQ(tasks[0].wait, "");
  std::ofstream(proc.path() / "task" / "73" / "schedstat") << "1000 2000000000 3\n";
  std::ofstream(proc.path() / "task" / "73" / "wchan") << "ep_poll";
  tasks = read_tasks(proc.path());
  EXPECT_EQ(tasks[0].queued_ns, 2'000'000'000u);
  EXPECT_EQ(tasks[0].wait, "ep_poll");
  std::ofstream(proc.path() / "task" / "73" / "wchan") << "0";
  EXPECT_EQ(read_tasks(proc.path())[0].wait, "");
  EXPECT_THAT(read_tasks(proc.path() / "nothing"), SizeIs(0));
}

TEST(ThreadSamplesTest, TheBusiestComesFirstAndLooksAreCounted) {
  ThreadSamples samples(100);
  TaskFacts waits{.id = 1, .name = "waits", .state = 'S', .user_ticks = 500, .wait = "ep_poll"};
  TaskFacts works{.id = 2, .name = "works", .state = 'R', .user_ticks = 10, .queued_ns = 0};
  samples.add({waits, works});
  works.user_ticks = 60;
  works.system_ticks = 25;
  works.queued_ns = 1'500'000'000;
  samples.add({waits, works});
  waits.state = 'D';
  waits.wait = "";
  samples.add({waits});  // The other one has ended.
  EXPECT_EQ(samples.json().dump(),
            R"({"looks":3,"threads":[)"
            R"({"id":2,"name":"works","user_seconds":0.5,"system_seconds":0.25,)"
            R"("queued_seconds":1.5,"states":{"R":2},"waits":{}},)"
            R"({"id":1,"name":"waits","user_seconds":0.0,"system_seconds":0.0,)"
            R"("queued_seconds":null,"states":{"D":1,"S":2},"waits":{"ep_poll":2}}]})");
}

TEST(ThreadSamplesTest, ThreadsOfThisProcessAreFound) {
  std::latch begun(1);
  std::latch end(1);
  std::uint64_t id = 0;
  std::thread other([&] {
    id = static_cast<std::uint64_t>(::gettid());
    begun.count_down();
    end.wait();
  });
  begun.wait();
  bool found = false;
  for (const TaskFacts& task : read_tasks()) {
    found = found || task.id == id;
  }
  EXPECT_TRUE(found);
  end.count_down();
  other.join();
}

}  // namespace
}  // namespace gcoord::server
