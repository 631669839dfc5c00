# manyfold_add_model(TARGET MODEL.mo)
#
# Compiles a Modelica file to C++ whenever TARGET is built and the file has changed. The sources of TARGET include the
# model as <MODEL.hpp>, a struct Model_NAME.
function(manyfold_add_model target model)
  if(NOT TARGET ${target})
    message(FATAL_ERROR "manyfold_add_model: '${target}' is no target: needs add_executable or add_library before")
  endif()
  if(ARGN)
    message(FATAL_ERROR "manyfold_add_model: '${ARGN}' is more than the one file that it takes: call it once for each")
  endif()
  get_filename_component(file ${model} ABSOLUTE)
  if(NOT EXISTS ${file} OR NOT file MATCHES "\\.b?mo$")
    message(FATAL_ERROR "manyfold_add_model: '${model}' is no Modelica file: needs the path of a .mo or .bmo file")
  endif()
  get_filename_component(name ${file} NAME_WLE)
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/manyfold-models/${target})
  set(command $<TARGET_FILE:manyfold::manyfold_command>)
  add_custom_command(
    OUTPUT ${folder}/${name}.hpp
    COMMAND ${CMAKE_COMMAND} -E make_directory ${folder}
    COMMAND ${command} compile ${file} --emit ${folder}/${name}.hpp
    DEPENDS ${file} ${command}
    COMMENT "Compiling the model ${model}"
    VERBATIM)
  target_sources(${target} PRIVATE ${folder}/${name}.hpp)
  target_include_directories(${target} PRIVATE ${folder})
endfunction()
