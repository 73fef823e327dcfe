#include "cli/bench/flags.h"

#include "cli/bench/report/verdict.h"
#include "protocol/error_codes.h"

#include <algorithm>
#include <initializer_list>

namespace gcoord::cli {

namespace {

// One of these options was given although the loop of the run does not know it.
struct Misplaced {
  const char* option;
  bool given;
};

bool refuse_misplaced(Context& context,
                      std::initializer_list<Misplaced> options,
                      const std::string& why) {
  for (const Misplaced& each : options) {
    if (each.given) {
      context.refuse(protocol::make_error(protocol::ErrorCode::OptionInvalid,
                                          std::string{each.option} + " " + why));
      return true;
    }
  }
  return false;
}

// --duration, or --seconds, whose number is seconds as the option's name says.
bool read_length(Context& context, const BenchFlags& flags, std::chrono::milliseconds& length) {
  const bool number = flags.seconds.find_first_not_of("0123456789.") == std::string::npos;
  const std::string seconds = flags.seconds + (number && !flags.seconds.empty() ? "s" : "");
  const bool read = context.read_duration("--seconds", seconds, length) &&
                    context.read_duration("--duration", flags.duration, length);
  if (read && length.count() <= 0) {
    context.refuse(
        protocol::make_error(protocol::ErrorCode::OptionInvalid, "--duration must be above 0"));
  }
  return read && length.count() > 0;
}

void add_outputs(Command& verb, BenchFlags& flags) {
  verb.add_option("--csv", flags.csv, "write a line for each second to this file")
      ->type_name("FILE");
  verb.add_option("--report", flags.report, "write an HTML page with plots to this file")
      ->type_name("FILE");
  verb.add_option("--histogram",
                  flags.histogram,
                  "write all latencies to this file, in HdrHistogram's text format")
      ->type_name("FILE");
}

}  // namespace

void add_open_flags(Command& verb, BenchFlags& flags) {
  const bool lock = flags.operation == "lock";
  verb.add_option("--rate",
                  flags.rate,
                  lock ? "operations due per second; without it and --load a closed "
                         "loop, as fast as the cluster answers"
                       : "operations due per second (default 1000)")
      ->in_range(1, 1'000'000)
      ->type_name("R");
  verb.add_option(
          "--clients",
          flags.clients,
          lock
              ? "number of sessions, each with one operation at a time (default 16; with --rate 50)"
              : "number of clients, each with one operation at a time (default 50)")
      ->in_range(1, 100'000)
      ->type_name("N");
  verb.add_option("--load",
                  flags.load,
                  "rate and clients of etcd's self-test for a minute, and its verdict: s 150/s, m "
                  "1000/s, l 8000/s, xl 15000/s; exit 1 unless it passes")
      ->one_of({"s", "m", "l", "xl"});
  verb.add_option(
          "--duration",
          flags.duration,
          lock ? "duration of the measurement (default 10s; of the closed loop 5s, of --load 1m)"
               : "duration of the measurement (default 10s; with --load 1m)")
      ->type_name("TIME");
  verb.add_option("--connections",
                  flags.connections,
                  "connections to each node, which the clients share (default 4)")
      ->in_range(1, 1'000)
      ->type_name("C");
  verb.add_option("--threads", flags.threads, "threads that begin operations (default 1)")
      ->in_range(1, 256)
      ->type_name("T");
  verb.add_option("--keys", flags.keys, "number of names (default 1000)")
      ->in_range(1, 1'000'000)
      ->type_name("K");
  verb.add_option("--distribution",
                  flags.distribution,
                  "how often each name is chosen: uniform or zipf (default uniform)")
      ->one_of({"uniform", "zipf"});
  verb.add_option("--compare",
                  flags.compare,
                  "put the same load on this etcd afterwards, over its gRPC interface")
      ->type_name("etcd://HOST:PORT,...");
  verb.add_option("--ttl", flags.ttl, "TTL of the sessions (default 10s)")->type_name("TIME");
  add_outputs(verb, flags);
}

void add_closed_flags(Command& verb, BenchFlags& flags) {
  verb.add_option("--seconds", flags.seconds, "as --duration, in seconds")->type_name("S");
  verb.add_option("--pipeline",
                  flags.pipeline,
                  "closed loop: lock requests in flight per session (default 1)")
      ->in_range(1, 1'000)
      ->type_name("P");
  verb.add_option("--batch",
                  flags.batch,
                  "closed loop: names that a session acquires in one call and releases in another")
      ->in_range(1, 4096)
      ->type_name("N");
  verb.add_option("--names",
                  flags.names,
                  "closed loop: lock names of the sessions, distinct or shared (default distinct)")
      ->one_of({"distinct", "shared"});
  verb.add_option("--history",
                  flags.history,
                  "closed loop: write every operation to this file as a line of JSON")
      ->type_name("FILE");
}

std::optional<BenchPlan> plan_of(Context& context, const BenchFlags& flags) {
  if (refuse_misplaced(context,
                       {{"--pipeline", flags.pipeline.has_value()},
                        {"--batch", flags.batch.has_value()},
                        {"--names", !flags.names.empty()},
                        {"--history", !flags.history.empty()}},
                       "belongs to the closed loop: leave out --rate and --load")) {
    return std::nullopt;
  }
  const bool both = !flags.load.empty();
  if (refuse_misplaced(context,
                       {{"--rate", both && flags.rate.has_value()},
                        {"--clients", both && flags.clients.has_value()}},
                       "is part of --load: give one of them")) {
    return std::nullopt;
  }
  BenchPlan plan;
  plan.operation = flags.operation;
  plan.load = flags.load;
  plan.rate = flags.rate.value_or(plan.rate);
  plan.clients = flags.clients.value_or(plan.clients);
  if (const auto load = standard_load(flags.load)) {
    plan.rate = load->rate;
    plan.clients = load->clients;
    plan.length = kStandardLength;
  }
  plan.connections = std::min(flags.connections.value_or(plan.connections), plan.clients);
  plan.threads = std::min(flags.threads.value_or(plan.threads), plan.clients);
  plan.keys = flags.keys.value_or(plan.keys);
  plan.distribution = flags.distribution == "zipf" ? Distribution::Zipf : Distribution::Uniform;
  plan.timeout = context.timeout();
  const bool read = context.read_duration("--ttl", flags.ttl, plan.ttl) &&
                    read_length(context, flags, plan.length);
  return read ? std::optional{plan} : std::nullopt;
}

std::optional<ClosedLockFlags> closed_plan_of(Context& context, const BenchFlags& flags) {
  if (refuse_misplaced(context,
                       {{"--connections", flags.connections.has_value()},
                        {"--threads", flags.threads.has_value()},
                        {"--keys", flags.keys.has_value()},
                        {"--distribution", !flags.distribution.empty()},
                        {"--csv", !flags.csv.empty()},
                        {"--report", !flags.report.empty()},
                        {"--histogram", !flags.histogram.empty()},
                        {"--compare", !flags.compare.empty()}},
                       "needs --rate or --load")) {
    return std::nullopt;
  }
  const bool batch = flags.batch.has_value();
  if (refuse_misplaced(context,
                       {{"--pipeline", batch && flags.pipeline.has_value()},
                        {"--names", batch && !flags.names.empty()},
                        {"--history", batch && !flags.history.empty()}},
                       "does not go with --batch: leave one of them out")) {
    return std::nullopt;
  }
  ClosedLockFlags closed;
  closed.clients = flags.clients.value_or(closed.clients);
  closed.pipeline = flags.pipeline.value_or(closed.pipeline);
  closed.batch = flags.batch.value_or(closed.batch);
  closed.shared_name = flags.names == "shared";
  closed.history = flags.history;
  const bool read = read_length(context, flags, closed.length) &&
                    context.read_duration("--ttl", flags.ttl, closed.ttl);
  return read ? std::optional{closed} : std::nullopt;
}

}  // namespace gcoord::cli
