# CMake toolchain of the wheel's compiler and of the libraries of ci/wheel/dependencies.sh. Only
# programs are found on this machine.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR x86_64)
set(CMAKE_C_COMPILER $ENV{CC})
set(CMAKE_CXX_COMPILER $ENV{CXX})
set(CMAKE_AR $ENV{AR} CACHE FILEPATH "")
set(CMAKE_RANLIB $ENV{RANLIB} CACHE FILEPATH "")
# Read by __builtin_cpu_supports (cpu_model.c); missing while the dependencies are built.
if(EXISTS $ENV{PLUMBLINE_WHEEL_PREFIX}/lib/libcpu_model.a)
  set(CMAKE_C_STANDARD_LIBRARIES_INIT $ENV{PLUMBLINE_WHEEL_PREFIX}/lib/libcpu_model.a)
  set(CMAKE_CXX_STANDARD_LIBRARIES_INIT $ENV{PLUMBLINE_WHEEL_PREFIX}/lib/libcpu_model.a)
endif()
set(CMAKE_FIND_ROOT_PATH $ENV{PLUMBLINE_WHEEL_PREFIX})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_LIBDIR} $ENV{PLUMBLINE_WHEEL_PREFIX}/lib/pkgconfig)
