# Warnings, sanitizers and the shapes of our targets.

add_library(kbench_options INTERFACE)
target_compile_options(kbench_options INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wconversion -Wshadow>
  $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra,-Wshadow>
  $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<BOOL:${KBENCH_WERROR}>>:-Werror>
  $<$<AND:$<COMPILE_LANGUAGE:CUDA>,$<BOOL:${KBENCH_WERROR}>>:-Werror=all-warnings>)
if(KBENCH_ASAN)
  target_compile_options(kbench_options INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=address,undefined -fno-omit-frame-pointer>)
  target_link_options(kbench_options INTERFACE -fsanitize=address,undefined)
endif()

# kbench_room(<name> SOURCES ... USES ...): one room of src/ as a static library kbench_<name>.
function(kbench_room name)
  cmake_parse_arguments(ROOM "" "" "SOURCES;USES;PRIVATE" ${ARGN})
  add_library(kbench_${name} STATIC ${ROOM_SOURCES})
  target_include_directories(kbench_${name} PUBLIC "${PROJECT_SOURCE_DIR}/src")
  target_link_libraries(kbench_${name} PUBLIC ${ROOM_USES} PRIVATE kbench_options ${ROOM_PRIVATE})
endfunction()

# Third-party targets whose names differ between distributions.
function(kbench_yaml_cpp_target out)
  if(TARGET yaml-cpp::yaml-cpp)
    set(${out} yaml-cpp::yaml-cpp PARENT_SCOPE)
  else()
    set(${out} yaml-cpp PARENT_SCOPE)
  endif()
endfunction()
