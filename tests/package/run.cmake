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
# One model at a time: a second file would be passed over.
file(WRITE ${work}/two/CMakeLists.txt "cmake_minimum_required(VERSION 3.25)\nproject(two CXX)\n\
find_package(manyfold REQUIRED)\nadd_executable(two two.cpp)\nmanyfold_add_model(two a.mo b.mo)\n")
file(WRITE ${work}/two/two.cpp "")
execute_process(COMMAND ${CMAKE_COMMAND} -S ${work}/two -B ${work}/two/build -G Ninja
  -DCMAKE_PREFIX_PATH=${work}/prefix RESULT_VARIABLE status OUTPUT_QUIET ERROR_VARIABLE said)
if(status EQUAL 0 OR NOT said MATCHES "'b.mo' is more than the one file that it takes")
  message(FATAL_ERROR "a second model was not refused: ${said}")
endif()
# The installed command finds its headers and compiles a model that was not built ahead.
run(${CMAKE_COMMAND} -E env MANYFOLD_CACHE=${work}/cache ${work}/prefix/bin/manyfold solve van_der_pol --t-end 1)
