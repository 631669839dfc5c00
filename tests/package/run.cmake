# Installs to a fresh prefix, then configures, builds and runs the examples against it.
set(work ${BUILD}/package-test)
file(REMOVE_RECURSE ${work})
function(run)
  execute_process(COMMAND ${ARGV} COMMAND_ECHO STDOUT RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "failed with ${status}: ${ARGV}")
  endif()
endfunction()
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${work}/prefix)
foreach(example cpp/batches cpp_modelica/charger)
  get_filename_component(folder ${example} DIRECTORY)
  # What they do in a moment need not be optimised.
  run(${CMAKE_COMMAND} -S ${EXAMPLES}/${folder} -B ${work}/${folder} -G Ninja -DCMAKE_BUILD_TYPE=Release
    "-DCMAKE_CXX_FLAGS_RELEASE=-Og -DMANYFOLD_COMPILE_BRIEFLY" -DCMAKE_PREFIX_PATH=${work}/prefix)
  run(${CMAKE_COMMAND} --build ${work}/${folder})
  run(${work}/${example})
endforeach()
# The installed command finds its headers and compiles a model that was not built ahead.
run(${CMAKE_COMMAND} -E env MANYFOLD_CACHE=${work}/cache ${work}/prefix/bin/manyfold solve van_der_pol --t-end 1)
