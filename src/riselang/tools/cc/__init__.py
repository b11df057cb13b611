"""`rise cc`: a C compiler driver with gcc's command line.

`command_line` reads the command, `driver` runs the system's compiler and then lets a worker process
replace functions in its object files, and `worker` is that process. Only the worker imports the C
front end, so files without loops cost no more than starting Python.
"""
