#include "server/client_io/counters.h"

#include <string>
#include <string_view>

namespace gcoord::server {

namespace {

Counter& wakes_of(MetricsRegistry& metrics, const char* thread) {
  return metrics.counter({"gcoord_server_io_wakes_total",
                          "Threads that slept and were woken for client sockets: I/O threads by "
                          "the loop (io), the loop by one of them (loop).",
                          "thread",
                          thread});
}

constexpr IoTally::Counts<IoCall> kNoCalls{};
constexpr std::array<std::string_view, kNoCalls.size()> kCallNames = {
    "wait", "loop", "receive", "send", "wake"};

constexpr IoTally::Counts<IoCopy> kNoCopies{};
constexpr std::array<std::string_view, kNoCopies.size()> kCopyNames = {
    "receive", "decrypt", "frame", "slot", "reply", "assemble", "join", "encrypt", "send"};

constexpr IoTally::Counts<IoEvent> kNoEvents{};
constexpr std::array<std::string_view, kNoEvents.size()> kEventNames = {
    "requests", "replies", "frames_in", "frames_out"};

MetricName event_metric(IoEvent event) {
  switch (event) {
    case IoEvent::Request:
      return {"gcoord_server_client_requests_total",
              "Requests that were taken from the frames of clients.",
              "",
              ""};
    case IoEvent::Reply:
      return {"gcoord_server_client_replies_total",
              "Replies that were put into frames for clients, notices included.",
              "",
              ""};
    case IoEvent::FrameIn:
    case IoEvent::FrameOut:
    case IoEvent::Count:
      break;
  }
  return {"gcoord_server_client_frames_total",
          "Frames of clients that were taken (in), and for them that were finished (out).",
          "direction",
          event == IoEvent::FrameIn ? "in" : "out"};
}

// Threads meet here once per pass, mostly with nothing new in a row.
template <typename Counts, typename Counters>
void add_all(const Counts& counts, const Counters& counters) {
  for (std::size_t k = 0; k < counts.size(); ++k) {
    if (counts[k] != 0) {
      counters[k]->add(counts[k]);
    }
  }
}

}  // namespace

std::string_view io_call_name(IoCall call) {
  return kCallNames[static_cast<std::size_t>(call)];
}

std::string_view io_copy_name(IoCopy stage) {
  return kCopyNames[static_cast<std::size_t>(stage)];
}

std::string_view io_event_name(IoEvent event) {
  return kEventNames[static_cast<std::size_t>(event)];
}

void IoCounters::take(IoTally& tally) {
  add_all(tally.calls(), calls);
  add_all(tally.copied(), copied);
  add_all(tally.events(), events);
  tally.clear();
}

IoCounters::IoCounters(MetricsRegistry& metrics)
    : reads(metrics.counter({"gcoord_server_io_reads_total",
                             "Reads of client sockets by I/O threads that brought something.",
                             "",
                             ""})),
      sends(metrics.counter({"gcoord_server_io_sends_total",
                             "Writes to client sockets by I/O threads that took something.",
                             "",
                             ""})),
      wakes(wakes_of(metrics, "io")),
      loop_wakes(wakes_of(metrics, "loop")),
      stalled(metrics.gauge({"gcoord_server_io_threads_stalled",
                             "I/O threads that take nothing from the loop, as of the last second.",
                             "",
                             ""})) {
  for (std::size_t call = 0; call < calls.size(); ++call) {
    calls[call] = &metrics.counter({"gcoord_server_client_calls_total",
                                    "System calls for client sockets, by kind; those of the loop "
                                    "are for peers and timers as well.",
                                    "call",
                                    std::string(kCallNames[call])});
  }
  for (std::size_t stage = 0; stage < copied.size(); ++stage) {
    copied[stage] = &metrics.counter({"gcoord_server_client_copied_bytes_total",
                                      "Bytes of clients' requests and replies that were copied, "
                                      "by the stage that copies.",
                                      "stage",
                                      std::string(kCopyNames[stage])});
  }
  for (std::size_t event = 0; event < events.size(); ++event) {
    events[event] = &metrics.counter(event_metric(static_cast<IoEvent>(event)));
  }
}

void tell_io_threads(MetricsRegistry& metrics,
                     std::string_view backend,
                     std::uint32_t thread_count) {
  metrics
      .gauge({"gcoord_server_io_threads",
              "I/O threads that serve client sockets, by their way to the kernel.",
              "backend",
              std::string(backend)})
      .set(thread_count);
}

}  // namespace gcoord::server
