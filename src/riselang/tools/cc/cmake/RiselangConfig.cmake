# find_package(Riselang PATHS ...) with the folder that `rise cc -frise-cmake-dir` prints.
#
# rise_target_loops(TARGET [FLAG...])
#
# Compiles the loops of the C files of a target with riselang, as `rise cc` does, with flags such as
# -frise-report=FILE. RISE_CC is the command; the compiler is that of the project.

if(NOT RISE_CC)
  find_program(RISE_CC NAMES rise-cc REQUIRED)
endif()
set(Riselang_FOUND TRUE)

function(rise_target_loops target)
  set_target_properties(
    ${target} PROPERTIES C_COMPILER_LAUNCHER "${RISE_CC};${ARGN};-frise-launcher")
  find_package(Threads REQUIRED)
  target_link_libraries(${target} PRIVATE m Threads::Threads)
endfunction()
