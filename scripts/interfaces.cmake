# What to change of the libraries that rosidl_generate_interfaces makes: to be included after it.

# The generated Python library would export the include folders of this machine's Python and numpy. Nobody needs them
# from us, and CMake refuses them where they lie in the source folder, as numpy does in a virtual environment there.
set(python_library ${PROJECT_NAME}__rosidl_generator_py)
if(TARGET ${python_library})
  get_target_property(include_dirs ${python_library} INTERFACE_INCLUDE_DIRECTORIES)
  string(REPLACE ";" "$<SEMICOLON>" include_dirs "${include_dirs}")
  set_target_properties(${python_library} PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES "$<BUILD_INTERFACE:${include_dirs}>")
endif()

# Compile all files of a library as one: most of the time of each goes into the headers that all of them include.
# The files of rosidl_generator_c repeat names.
foreach(library generator_py typesupport_c typesupport_fastrtps_c typesupport_introspection_c)
  if(TARGET ${PROJECT_NAME}__rosidl_${library})
    set_target_properties(${PROJECT_NAME}__rosidl_${library} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 0)
  endif()
endforeach()
