# LAPACKE over OpenBLAS: target Lapacke::Lapacke with lapacke.h and cblas.h.
find_path(Lapacke_INCLUDE_DIR lapacke.h)
find_path(Lapacke_CBLAS_INCLUDE_DIR cblas.h
  PATH_SUFFIXES openblas-pthread x86_64-linux-gnu/openblas-pthread
                aarch64-linux-gnu/openblas-pthread openblas)
find_library(Lapacke_LIBRARY lapacke)
find_library(Lapacke_OPENBLAS_LIBRARY openblas PATH_SUFFIXES openblas-pthread)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Lapacke REQUIRED_VARS Lapacke_LIBRARY Lapacke_OPENBLAS_LIBRARY
  Lapacke_INCLUDE_DIR Lapacke_CBLAS_INCLUDE_DIR)
if(Lapacke_FOUND AND NOT TARGET Lapacke::Lapacke)
  add_library(Lapacke::Lapacke INTERFACE IMPORTED)
  target_include_directories(Lapacke::Lapacke SYSTEM INTERFACE
    "${Lapacke_INCLUDE_DIR}" "${Lapacke_CBLAS_INCLUDE_DIR}")
  target_link_libraries(Lapacke::Lapacke INTERFACE "${Lapacke_LIBRARY}"
    "${Lapacke_OPENBLAS_LIBRARY}")
endif()
mark_as_advanced(Lapacke_INCLUDE_DIR Lapacke_CBLAS_INCLUDE_DIR Lapacke_LIBRARY
  Lapacke_OPENBLAS_LIBRARY)
