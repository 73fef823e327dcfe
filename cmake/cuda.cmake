# CUDA: included only with -DGCOORD_CUDA=ON, so that a machine without the toolkit never looks for it.
#
# Architectures are explicit because CMake's own default (75) would build code that runs nowhere here. .cu files hold
# kernels of a few lines and their launches; whether the headers they include compile for a device is also tested
# without this option, by tests/tidy/nvcc_headers.sh, wherever nvcc is found.
if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES 90)  # H200; sm_90 is what the measured figures were taken on.
endif()
set(CMAKE_CUDA_COMPILER_LAUNCHER ${CMAKE_CXX_COMPILER_LAUNCHER})
enable_language(CUDA)
# CMake 3.25 stops at C++17 for nvcc, which has had C++20 since 12.0.
if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
  set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
endif()
set(CMAKE_CUDA_STANDARD 20)
set(CMAKE_CUDA_STANDARD_REQUIRED ON)
set(CMAKE_CUDA_EXTENSIONS OFF)
set(CMAKE_CUDA_SEPARABLE_COMPILATION OFF)

# Host code in .cu files meets the same warnings; nvcc's own (a host function called from a device) are errors too.
target_compile_options(gcoord_warnings INTERFACE
  $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra,-Wshadow,-Werror;-Werror=all-warnings>)
find_package(CUDAToolkit REQUIRED)
