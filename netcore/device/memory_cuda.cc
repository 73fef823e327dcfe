// Device memory behind the registry. Private and Shared are CUDA virtual memory: allocating and
// freeing it does not wait for kernels that run, as cudaMalloc and cudaFree may, and Shared can be
// exported as a POSIX file descriptor. Imported is a peer's Shared, mapped for this device.
//
// Copies travel through page-locked memory (common/device/staged_copy.h). After a copy that did not
// end in time the device may still write there, so nothing is copied or given back any more.
#include "common/device/staged_copy.h"
#include "netcore/device/cuda_check.h"
#include "netcore/device/cuda_driver.h"
#include "netcore/device/gpu_device.h"

#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

namespace gcoord::netcore {
namespace {

class CudaMemory final : public MemorySource {
 public:
  CudaMemory(std::uint32_t device, const CudaDriver& driver)
      : device_(static_cast<int>(device)), driver_(driver) {}

  // The driver would wait for a copy that does not end.
  ~CudaMemory() override {
    if (stream_ != nullptr && overrun_.ok()) {
      cudaStreamDestroy(stream_);
      cudaFreeHost(staging_);
    }
  }

  // Makes the context and a stream of its own, so that copies wait for no kernel of others.
  Status start() {
    GCOORD_CUDA_TRY(cudaSetDevice(device_));
    GCOORD_CUDA_TRY(cudaFree(nullptr));
    GCOORD_CUDA_TRY(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    void* staging = nullptr;
    GCOORD_CUDA_TRY(cudaHostAlloc(&staging, kCopyStagingBytes, cudaHostAllocPortable));
    staging_ = static_cast<std::byte*>(staging);
    const CUmemAllocationProp shared = property(MemoryKind::Shared);
    return driver_status(
        driver_,
        driver_.granularity(&granularity_, &shared, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED),
        "cuMemGetAllocationGranularity");
  }

  std::string name() const override { return "cuda:" + std::to_string(device_); }

  Result<MemoryRange> allocate(MemoryKind kind, std::size_t bytes) override {
    GCOORD_CUDA_TRY(cudaSetDevice(device_));
    return kind == MemoryKind::Pinned ? allocate_pinned(bytes) : allocate_device(kind, bytes);
  }

  Result<MemoryRange> import(int fd, std::size_t bytes) override {
    GCOORD_CUDA_TRY(cudaSetDevice(device_));
    MemoryRange range;
    range.kind = MemoryKind::Imported;
    range.bytes = whole(bytes);
    CUmemGenericAllocationHandle key = 0;
    const CUresult code = driver_.import_handle(&key,
                                                reinterpret_cast<void*>(static_cast<intptr_t>(fd)),
                                                CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
    GCOORD_TRY_STATUS(driver_status(driver_, code, "cuMemImportFromShareableHandle"));
    range.source_key = key;
    return map(range);
  }

  void release(const MemoryRange& range) override {
    if (!overrun_.ok()) {
      return;
    }
    cudaSetDevice(device_);
    if (range.kind == MemoryKind::Pinned) {
      cudaFreeHost(range.address);
      return;
    }
    const auto address = reinterpret_cast<CUdeviceptr>(range.address);
    driver_.unmap(address, range.bytes);
    driver_.address_free(address, range.bytes);
    driver_.release(range.source_key);
    if (range.fd >= 0) {
      ::close(range.fd);
    }
  }

  Status write(std::byte* to, std::span<const std::byte> from) override {
    GCOORD_TRY_STATUS(overrun_);
    return staged().write(
        to, from.data(), from.size(), [this](void* there, const void* piece, std::size_t bytes) {
          return copy(there, piece, bytes);
        });
  }

  Status store_word(std::uint64_t* to, std::uint64_t value) override {
    return write(reinterpret_cast<std::byte*>(to), std::as_bytes(std::span{&value, 1}));
  }

  Status read(std::span<std::byte> to, const std::byte* from) override {
    GCOORD_TRY_STATUS(overrun_);
    return staged().read(
        to.data(), from, to.size(), [this](void* there, const void* piece, std::size_t bytes) {
          return copy(there, piece, bytes);
        });
  }

  Status copy_within(std::byte* to, const std::byte* from, std::size_t bytes) override {
    GCOORD_TRY_STATUS(overrun_);
    return copy(to, from, bytes);
  }

 private:
  std::size_t whole(std::size_t bytes) const {
    return (bytes + granularity_ - 1) / granularity_ * granularity_;
  }

  CUmemAllocationProp property(MemoryKind kind) const {
    CUmemAllocationProp wanted{};
    wanted.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    wanted.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    wanted.location.id = device_;
    if (kind == MemoryKind::Shared) {
      wanted.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    }
    return wanted;
  }

  StagedCopy staged() const { return StagedCopy({staging_, kCopyStagingBytes}); }

  Status copy(void* to, const void* from, std::size_t bytes) {
    GCOORD_CUDA_TRY(cudaSetDevice(device_));
    GCOORD_CUDA_TRY(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream_));
    return wait("a copy to, from or within the device");
  }

  Status wait(const char* what) {
    const Status waited = wait_for_stream(stream_, kDeviceWaitMs, what);
    if (waited.code() == StatusCode::DeadlineExceeded) {
      overrun_ = waited;
    }
    return waited;
  }

  Result<MemoryRange> allocate_pinned(std::size_t bytes) {
    MemoryRange range;
    range.kind = MemoryKind::Pinned;
    range.bytes = bytes;
    void* address = nullptr;
    GCOORD_CUDA_TRY(cudaHostAlloc(&address, bytes, cudaHostAllocPortable | cudaHostAllocMapped));
    range.address = static_cast<std::byte*>(address);
    std::memset(address, 0, bytes);
    return range;
  }

  Result<MemoryRange> allocate_device(MemoryKind kind, std::size_t bytes) {
    MemoryRange range;
    range.kind = kind;
    range.bytes = whole(bytes);
    const CUmemAllocationProp wanted = property(kind);
    CUmemGenericAllocationHandle key = 0;
    GCOORD_TRY_STATUS(driver_status(
        driver_, driver_.create(&key, range.bytes, &wanted, 0), "cuMemCreate of a channel"));
    range.source_key = key;
    if (kind == MemoryKind::Shared) {
      const CUresult code =
          driver_.export_handle(&range.fd, key, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
      if (code != CUDA_SUCCESS) {
        driver_.release(key);
        return driver_status(driver_, code, "cuMemExportToShareableHandle");
      }
    }
    GCOORD_TRY(const MemoryRange mapped, map(range));
    const Status zeroed = zero(mapped);
    if (!zeroed.ok()) {
      release(mapped);
      return zeroed;
    }
    return mapped;
  }

  Status zero(const MemoryRange& range) {
    GCOORD_TRY_STATUS(overrun_);
    GCOORD_CUDA_TRY(cudaMemsetAsync(range.address, 0, range.bytes, stream_));
    return wait("zeroing memory of the device");
  }

  // Gives the allocation an address that this device may read and write. Mapping fails when the
  // allocation is shorter than `range.bytes`, whoever made it.
  Result<MemoryRange> map(MemoryRange range) {
    CUdeviceptr address = 0;
    CUresult code = driver_.address_reserve(&address, range.bytes, granularity_, 0, 0);
    const char* call = "cuMemAddressReserve";
    bool mapped = false;
    if (code == CUDA_SUCCESS) {
      call = "cuMemMap";
      code = driver_.map(address, range.bytes, 0, range.source_key, 0);
      mapped = code == CUDA_SUCCESS;
    }
    if (mapped) {
      call = "cuMemSetAccess";
      CUmemAccessDesc access{};
      access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
      access.location.id = device_;
      access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
      code = driver_.set_access(address, range.bytes, &access, 1);
    }
    if (code == CUDA_SUCCESS) {
      range.address = reinterpret_cast<std::byte*>(address);
      return range;
    }
    undo(range, address, mapped);
    return driver_status(driver_, code, call);
  }

  void undo(const MemoryRange& range, CUdeviceptr address, bool mapped) {
    if (mapped) {
      driver_.unmap(address, range.bytes);
    }
    if (address != 0) {
      driver_.address_free(address, range.bytes);
    }
    driver_.release(range.source_key);
    if (range.fd >= 0) {
      ::close(range.fd);
    }
  }

  int device_;
  const CudaDriver& driver_;
  cudaStream_t stream_ = nullptr;
  std::byte* staging_ = nullptr;  // Page-locked; of the copy under way.
  Status overrun_;                // The first wait that did not end.
  std::size_t granularity_ = 0;
};

}  // namespace

Result<std::unique_ptr<MemorySource>> make_gpu_memory(std::uint32_t index) {
  GCOORD_TRY(const GpuFacts facts, gpu_facts(index));
  GCOORD_TRY(const CudaDriver* driver, cuda_driver());
  auto memory = std::make_unique<CudaMemory>(facts.index, *driver);
  GCOORD_TRY_STATUS(memory->start());
  return std::unique_ptr<MemorySource>{std::move(memory)};
}

}  // namespace gcoord::netcore
