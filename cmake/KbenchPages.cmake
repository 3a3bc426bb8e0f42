# Writes the manual page and the completion scripts with the program that was just built.
#   cmake -DPROGRAM=kbench -DFOLDER=dir -P KbenchPages.cmake
function(kbench_page file)
  execute_process(COMMAND "${PROGRAM}" ${ARGN} OUTPUT_FILE "${FOLDER}/${file}"
    COMMAND_ERROR_IS_FATAL ANY)
endfunction()
file(MAKE_DIRECTORY "${FOLDER}")
kbench_page(kbench.1 man)
kbench_page(kbench completion bash)
kbench_page(_kbench completion zsh)
