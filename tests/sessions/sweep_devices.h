// The devices that tests of sweeps run on: the host everywhere, a GPU where there is one.
#pragma once

#include "sessions/sweep_device.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <string_view>
#include <utility>

namespace gcoord::sessions {

// "host", or "cuda" for the first GPU; a failure says why there is none.
inline Result<std::unique_ptr<SweepDevice>> sweep_device_of(std::string_view kind) {
  return kind == "host" ? make_host_sweep_device() : make_cuda_sweep_device(0);
}

// The host's loops, for a stand-in that does something else at some calls.
class SweepDeviceOverHost : public SweepDevice {
 public:
  Result<SweepMemory> reserve(std::size_t bytes) override { return host_->reserve(bytes); }

  Result<SweepMemory> reserve_shared(std::size_t bytes) override {
    return host_->reserve_shared(bytes);
  }

  Status copy_in(void* to, const void* from, std::size_t bytes) override {
    return host_->copy_in(to, from, bytes);
  }

  Status copy_out(void* to, const void* from, std::size_t bytes) override {
    return host_->copy_out(to, from, bytes);
  }

  Status renew(const RenewBatch& batch) override { return host_->renew(batch); }

  Status scan_due(const DueScan& scan) override { return host_->scan_due(scan); }

  Status take_due(const DueTake& take) override { return host_->take_due(take); }

  Status begin_graph(const WaitGraph& graph) override { return host_->begin_graph(graph); }

  Status prune_graph(const WaitGraph& graph) override { return host_->prune_graph(graph); }

  Status find_cycles(const WaitGraph& graph) override { return host_->find_cycles(graph); }

 private:
  std::unique_ptr<SweepDevice> host_ = make_host_sweep_device();
};

// One bit of all that it gives back is wrong: the `number`th since it was made, from 0.
class FlippingSweepDevice final : public SweepDeviceOverHost {
 public:
  explicit FlippingSweepDevice(std::size_t number) : number_(number) {}

  Status copy_out(void* to, const void* from, std::size_t bytes) override {
    const Status copied = SweepDeviceOverHost::copy_out(to, from, bytes);
    if (number_ >= given_ && number_ - given_ < bytes * 8) {
      const std::size_t bit = number_ - given_;
      static_cast<std::byte*>(to)[bit / 8] ^= std::byte{1} << bit % 8;
    }
    given_ += bytes * 8;
    return copied;
  }

  bool flipped() const { return number_ < given_; }

 private:
  std::size_t number_;
  std::size_t given_ = 0;
};

// A test that its parameter gives a device; skipped where there is none.
class SweepDeviceTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    auto made = sweep_device_of(GetParam());
    if (!made.ok()) {
      GTEST_SKIP() << "skipped: " << made.status().message();
    }
    device_ = std::move(made).value();
  }

  std::unique_ptr<SweepDevice> device_;
};

}  // namespace gcoord::sessions
