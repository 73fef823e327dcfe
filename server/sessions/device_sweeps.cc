#include "server/sessions/device_sweeps.h"

#include "common/device/device_errors.h"
#include "server/platform/device_choice.h"
#include "server/platform/device_metrics.h"
#include "server/platform/operator_log.h"

#include <algorithm>
#include <utility>

namespace gcoord::server {
namespace {

// Graphs that did not come to rest within the rounds that they are given say nothing.
bool same(const sessions::WaitFindings& one, const sessions::WaitFindings& other) {
  const auto equal = [](const sessions::WaitEdge& a, const sessions::WaitEdge& b) {
    return a.from == b.from && a.to == b.to;
  };
  return !one.cycles.settled || !other.cycles.settled ||
         (std::ranges::equal(one.cycles.on_cycle, other.cycles.on_cycle, equal) &&
          one.choices == other.choices);
}

}  // namespace

DeviceSweeps::DeviceSweeps(MetricsRegistry& metrics)
    : metrics_(metrics), host_(sessions::make_host_sweep_device()), host_search_(*host_) {}

Status DeviceSweeps::start(Result<std::unique_ptr<sessions::SweepDevice>> opened,
                           DeviceSweepsOptions options) {
  GCOORD_ASSERT(sessions_ == nullptr);
  const bool full = opened.status().code() == StatusCode::ResourceExhausted;
  if (!opened.ok() && !full) {
    return explain_device(opened.status());
  }
  if (opened.ok() && opened.value() == nullptr) {
    return {};
  }
  register_metrics();
  if (full) {
    go_alone(opened.status());
    return {};
  }
  options_ = std::move(options);
  device_ = std::move(opened).value();
  mirror_ = std::make_unique<sessions::DeadlineMirror>(*device_);
  device_search_ = std::make_unique<sessions::WaitGraphSearch>(*device_);
  return {};
}

void DeviceSweeps::register_metrics() {
  const auto counter = [this](const char* of) {
    return &metrics_.counter({"gcoord_server_device_sweeps_total",
                              "Scans of all sessions and searches of waits on the device",
                              "of",
                              of});
  };
  sessions_ = counter("sessions");
  waits_ = counter("waits");
  checked_ =
      &metrics_.counter({"gcoord_server_device_sweeps_checked_total",
                         "Scans and searches of the device that the host repeated for a check",
                         "",
                         ""});
  errors_ = &metrics_.counter(device_errors_name());
  alone_ = &metrics_.gauge(
      {"gcoord_server_device_sweeps_alone",
       "1: the device has no memory left for scans and searches, and the host does them",
       "",
       ""});
  us_ = &metrics_.histogram({"gcoord_server_device_sweep_seconds",
                             "Time of one scan or search, with its copies",
                             "",
                             ""});
}

std::uint64_t DeviceSweeps::now_us() const {
  return options_.clock_us ? options_.clock_us() : 0;
}

// The first one, and then one in so many.
bool DeviceSweeps::drawn(std::uint64_t& calls) {
  const bool is = options_.check_one_in != 0 && calls++ % options_.check_one_in == 0;
  checked_->add(is ? 1 : 0);
  return is;
}

void DeviceSweeps::observe(Counter& counter, std::uint64_t begin_us) {
  counter.add();
  us_->observe_us(now_us() - begin_us);
}

void DeviceSweeps::fail(const Status& status) {
  errors_->add();
  failure_ = explain_device(status);
}

// True: the host goes on without the device.
bool DeviceSweeps::gives_up(const Status& status) {
  if (status.code() != StatusCode::ResourceExhausted) {
    fail(status);
    return false;
  }
  go_alone(status);
  return true;
}

// Gives back what it has of the device, where the stepper may want it.
void DeviceSweeps::go_alone(const Status& why) {
  mirror_.reset();
  device_search_.reset();
  device_.reset();
  alone_->set(1);
  log_warning(LogComponent::Gpu,
              "from now on the host alone scans for expired sessions and deadlocks: {}",
              why.message());
}

bool DeviceSweeps::missed_by(const sessions::DueQuery& look,
                             const sessions::SessionClock& clock,
                             Tick now) {
  return drawn(looks_drawn_) ? clock.missed_by(look, now) : clock.missed_by(look, now, look.own);
}

std::size_t DeviceSweeps::collect_due(sessions::SessionClock& clock,
                                      Tick now,
                                      std::span<sessions::ExpiryProposal> out) {
  const bool small = device_ == nullptr || clock.row_end() < options_.rows_min;
  if (!failure_.ok()) {
    return 0;
  }
  if (small || now < clock.next_deadline()) {
    return clock.collect_due(now, out);
  }
  const std::uint64_t begin_us = now_us();
  const auto look = mirror_->look(clock, now);
  if (!look.ok()) {
    return gives_up(look.status()) ? clock.collect_due(now, out) : 0;
  }
  if (!look.value().has_value()) {
    return clock.collect_due(now, out);
  }
  observe(*sessions_, begin_us);
  if (missed_by(*look.value(), clock, now)) {
    fail({StatusCode::Internal,
          "the device missed an expired session: its copy of the deadlines is corrupt",
          kDeviceDiffers});
    return 0;
  }
  return clock.collect_among(*look.value(), now, out);
}

Result<sessions::WaitFindings> DeviceSweeps::search(std::span<const sessions::WaitEdge> edges,
                                                    std::span<const std::uint8_t> any) {
  GCOORD_TRY_STATUS(failure_);
  if (device_ == nullptr || edges.size() < options_.edges_min) {
    return host_search_.find_all(edges, any);
  }
  const std::uint64_t begin_us = now_us();
  auto found = device_search_->find_all(edges, any);
  if (!found.ok()) {
    return gives_up(found.status()) ? host_search_.find_all(edges, any)
                                    : Result<sessions::WaitFindings>{failure_};
  }
  observe(*waits_, begin_us);
  if (drawn(searches_drawn_)) {
    GCOORD_TRY(const sessions::WaitFindings again, host_search_.find_all(edges, any));
    if (!same(found.value(), again)) {
      fail({StatusCode::Internal,
            "the device found other deadlocks among " + std::to_string(edges.size()) +
                " waits than the host",
            kDeviceDiffers});
      return failure_;
    }
  }
  return found;
}

DeviceSweeps::Report DeviceSweeps::report() const {
  const bool started = sessions_ != nullptr;
  return {.on_device = device_ != nullptr,
          .sessions = started ? sessions_->value() : 0,
          .waits = started ? waits_->value() : 0,
          .checked = started ? checked_->value() : 0};
}

}  // namespace gcoord::server
