#include "netcore/device/cuda_driver.h"

#include "netcore/device/cuda_check.h"

#include <string>

namespace gcoord::netcore {
namespace {

constexpr unsigned kDriverVersion = 12'000;  // All of these calls exist since 11.2.

template <typename Function>
Status find(const char* name, Function& function) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult answer{};
  GCOORD_CUDA_TRY(
      cudaGetDriverEntryPointByVersion(name, &found, kDriverVersion, cudaEnableDefault, &answer));
  if (answer != cudaDriverEntryPointSuccess || found == nullptr) {
    return {StatusCode::Unavailable, std::string{"the CUDA driver has no "} + name};
  }
  function = reinterpret_cast<Function>(found);
  return {};
}

Result<CudaDriver> load() {
  CudaDriver driver;
  GCOORD_TRY_STATUS(find("cuDeviceGetAttribute", driver.device_get_attribute));
  GCOORD_TRY_STATUS(find("cuMemGetAllocationGranularity", driver.granularity));
  GCOORD_TRY_STATUS(find("cuMemCreate", driver.create));
  GCOORD_TRY_STATUS(find("cuMemRelease", driver.release));
  GCOORD_TRY_STATUS(find("cuMemAddressReserve", driver.address_reserve));
  GCOORD_TRY_STATUS(find("cuMemAddressFree", driver.address_free));
  GCOORD_TRY_STATUS(find("cuMemMap", driver.map));
  GCOORD_TRY_STATUS(find("cuMemUnmap", driver.unmap));
  GCOORD_TRY_STATUS(find("cuMemSetAccess", driver.set_access));
  GCOORD_TRY_STATUS(find("cuMemExportToShareableHandle", driver.export_handle));
  GCOORD_TRY_STATUS(find("cuMemImportFromShareableHandle", driver.import_handle));
  GCOORD_TRY_STATUS(find("cuGetErrorString", driver.error_string));
  return driver;
}

}  // namespace

Result<const CudaDriver*> cuda_driver() {
  static const Result<CudaDriver> driver = load();
  if (!driver.ok()) {
    return driver.status();
  }
  return &driver.value();
}

Status driver_status(const CudaDriver& driver, CUresult code, const char* call) {
  if (code == CUDA_SUCCESS) {
    return {};
  }
  const char* text = nullptr;
  driver.error_string(code, &text);
  return {code == CUDA_ERROR_OUT_OF_MEMORY ? StatusCode::ResourceExhausted : StatusCode::Internal,
          std::string{call} + ": " + (text != nullptr ? text : "unknown driver error")};
}

}  // namespace gcoord::netcore
